//! The merge of a majority's records into the master record of a new view.
//!
//! Invariants: an outcome that is in any record, a vote that was finalised by a majority, and a vote that a fast quorum gave are in the master
//! record; no two proposals of it that may commit conflict, unless one of them has its outcome.
//! Source: TAPIR (TOCS 2018) 3.2.2 and Figure 11, with these corrections: exactly f + 1 records; an OK that all of them have stays, whatever the barrier is and
//! without being validated again; any other OK becomes a No.

use std::collections::BTreeMap;

use crate::node::{Ballot, Outcome, ProposalId, RecordedEntry, View, Vote};

use super::Quorums;

/// One replica's record, above what is settled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// The last view in which the replica took part.
    pub last_normal: View,
    pub entries: Vec<RecordedEntry>,
}

/// `records` are those of exactly f + 1 replicas. Says what becomes of each proposal in the new view.
///
/// What all of them have accepted conflicts with nothing that committed: of that, one of them has voted OK too, whichever came first, and knew how the first had
/// ended when it voted for the second (docs/decisions/0022).
pub(crate) fn merge(quorums: Quorums, records: &[Record]) -> BTreeMap<ProposalId, RecordedEntry> {
    assert_eq!(records.len(), quorums.majority(), "a merge is of a majority's records");
    let latest = records.iter().map(|record| record.last_normal).max().expect("a majority is not empty");
    let mut said = BTreeMap::<ProposalId, Vec<Said>>::new();
    for Record { last_normal, entries } in records {
        for entry in entries {
            said.entry(entry.id).or_default().push(Said { entry, is_current: *last_normal == latest });
        }
    }
    said.into_iter().map(|(id, said)| (id, merge_one(id, quorums.kept(), &said))).collect()
}

/// What one record says of a proposal.
struct Said<'a> {
    entry: &'a RecordedEntry,
    /// Votes count in the latest view only: what was decided before is in the master record that it began with.
    is_current: bool,
}

/// What the records say of one proposal.
fn merge_one(id: ProposalId, kept: usize, said: &[Said]) -> RecordedEntry {
    let all = || said.iter().map(|said| said.entry);
    let current = || said.iter().filter(|said| said.is_current).map(|said| said.entry);
    let proposal = all().find_map(|entry| entry.proposal.clone());
    let promised = all().map(|entry| entry.promised).max().unwrap_or(Ballot::FIRST);
    let outcome = all().filter_map(|entry| entry.outcome).max();
    let finalised = current().filter(|entry| entry.finalised.is_some()).max_by_key(|entry| entry.finalised);
    let accepted = current().filter(|entry| entry.vote == Vote::Ok).count();
    let vote = match (outcome, finalised) {
        (Some(Outcome::Committed), _) => Vote::Ok,
        (Some(Outcome::Aborted), _) => Vote::No,
        (None, Some(entry)) => entry.vote,
        (None, None) if accepted >= kept => Vote::Ok,
        (None, None) => Vote::No,
    };
    RecordedEntry { id, proposal, vote, finalised: Some(promised), promised, outcome }
}
