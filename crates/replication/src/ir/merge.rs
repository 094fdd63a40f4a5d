//! The merge of a majority's records into the master record of a new view.
//!
//! Invariants: an outcome that is in any record, a vote that was finalised by a majority, and a vote that a fast quorum gave are in the master
//! record; no two proposals of it that may commit conflict, unless one of them has its outcome.
//! Source: TAPIR (TOCS 2018) 3.2.2 and Figure 11, with these corrections: exactly f + 1 records; an OK that all of them have is checked against other
//! proposals only, never against the barrier; any other OK becomes a No.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::node::{Ballot, Outcome, Proposal, ProposalId, RecordedEntry, View, Vote};
use crate::tapir::ProposalIndex;

use super::Quorums;

/// One replica's record, above what is settled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// The last view in which the replica took part.
    pub last_normal: View,
    pub entries: Vec<RecordedEntry>,
}

/// `records` are those of exactly f + 1 replicas; what not all of them accepted was not decided at once. `may_stand` says whether a proposal
/// that a fast quorum may have accepted can be kept: whether it conflicts neither with what committed nor with those of the second
/// argument, which are kept already. Says what becomes of each proposal in the new view.
pub(crate) fn merge(
    quorums: Quorums,
    records: &[Record],
    may_stand: impl Fn(&Arc<Proposal>, &ProposalIndex) -> bool,
) -> BTreeMap<ProposalId, RecordedEntry> {
    assert_eq!(records.len(), quorums.majority(), "a merge is of a majority's records");
    let latest = records.iter().map(|record| record.last_normal).max().expect("a majority is not empty");
    let mut said = BTreeMap::<ProposalId, Vec<Said>>::new();
    for Record { last_normal, entries } in records {
        for entry in entries {
            said.entry(entry.id).or_default().push(Said { entry, is_current: *last_normal == latest });
        }
    }
    let mut merged = BTreeMap::new();
    let mut open = Vec::new();
    for (id, said) in said {
        let (entry, fate) = merge_one(id, quorums.kept(), &said);
        merged.insert(id, entry);
        match fate {
            Fate::Known => {}
            Fate::Open => open.push(id),
        }
    }
    let mut kept = ProposalIndex::default();
    let stands = |entry: &&RecordedEntry| entry.vote == Vote::Ok && entry.outcome.is_none();
    for proposal in merged.values().filter(stands).filter_map(|entry| entry.proposal.as_ref()) {
        kept.insert(proposal.clone());
    }
    for id in open {
        let entry = merged.get_mut(&id).expect("it was put there");
        if let Some(proposal) = &entry.proposal
            && may_stand(proposal, &kept)
        {
            kept.insert(proposal.clone());
            entry.vote = Vote::Ok;
        }
    }
    merged
}

/// What one record says of a proposal.
struct Said<'a> {
    entry: &'a RecordedEntry,
    /// Votes count in the latest view only: what was decided before is in the master record that it began with.
    is_current: bool,
}

/// Whether the records tell what becomes of a proposal.
enum Fate {
    Known,
    /// A fast quorum may have accepted it. It is a No until it is found that it can stand.
    Open,
}

/// What the records say of one proposal.
fn merge_one(id: ProposalId, kept: usize, said: &[Said]) -> (RecordedEntry, Fate) {
    let all = || said.iter().map(|said| said.entry);
    let current = || said.iter().filter(|said| said.is_current).map(|said| said.entry);
    let proposal = all().find_map(|entry| entry.proposal.clone());
    let promised = all().map(|entry| entry.promised).max().unwrap_or(Ballot::FIRST);
    let outcome = all().filter_map(|entry| entry.outcome).max();
    let finalised = current().filter(|entry| entry.finalised.is_some()).max_by_key(|entry| entry.finalised);
    let accepted = current().filter(|entry| entry.vote == Vote::Ok).count();
    let (vote, fate) = match (outcome, finalised) {
        (Some(Outcome::Committed), _) => (Vote::Ok, Fate::Known),
        (Some(Outcome::Aborted), _) => (Vote::No, Fate::Known),
        (None, Some(entry)) => (entry.vote, Fate::Known),
        (None, None) if accepted < kept => (Vote::No, Fate::Known),
        (None, None) => (Vote::No, Fate::Open),
    };
    (RecordedEntry { id, proposal, vote, finalised: Some(promised), promised, outcome }, fate)
}
