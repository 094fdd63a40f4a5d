//! What a replica's journal says was decided, for checkers.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::journal::JournalRecord;
use crate::node::{Outcome, Proposal, ProposalId, RecordedEntry};
use crate::versions::Logged;

/// The outcomes of a journal, in its order: what committed (or the app gave up for good), and, without anything, what was aborted.
///
/// # Panics
/// When the journal has a Commit of a proposal that it does not have.
pub fn decisions<'a>(records: impl IntoIterator<Item = &'a JournalRecord>) -> Vec<(ProposalId, Option<Logged>)> {
    let mut known: BTreeMap<ProposalId, Arc<Proposal>> = BTreeMap::new();
    let mut decisions = Vec::new();
    let mut note = |entry: &RecordedEntry, decisions: &mut Vec<_>| {
        if let Some(proposal) = &entry.proposal {
            known.insert(entry.id, proposal.clone());
        }
        match entry.outcome {
            Some(Outcome::Committed) => {
                let proposal = known.get(&entry.id).expect("a Commit without its proposal");
                decisions.push((entry.id, Some(Logged::of(proposal))));
            }
            Some(Outcome::Aborted) => decisions.push((entry.id, None)),
            None => {}
        }
    };
    for record in records {
        match record {
            JournalRecord::Completed(completed) => {
                let logged = Logged::from_record(completed.clone());
                let (at, transaction) = (logged.commit.at, logged.commit.transaction);
                decisions.push((ProposalId { at, transaction, attempt: logged.attempt }, Some(logged)));
            }
            JournalRecord::Entry(entry) => note(entry, &mut decisions),
            JournalRecord::Master(part) => part.entries.iter().for_each(|entry| note(entry, &mut decisions)),
            JournalRecord::Acknowledged { .. }
            | JournalRecord::Ceiling(_)
            | JournalRecord::Term(_)
            | JournalRecord::Configured(_)
            | JournalRecord::Split(_)
            | JournalRecord::Joined(_)
            | JournalRecord::Superseded
            | JournalRecord::Complete(_)
            | JournalRecord::Snapshot(_) => {}
        }
    }
    decisions
}
