//! The merge of a majority's records into the master record of a new view.
//!
//! Invariants: an outcome that is in any record, a vote that was finalised by a majority, and a vote that a fast quorum gave are in the master
//! record; no two proposals of it that may commit conflict, unless one of them has its outcome.
//! Source: TAPIR (TOCS 2018) 3.2.2 and Figure 11, with these corrections: exactly f + 1 records; a majority OK is checked against other
//! proposals only, never against the barrier; a minority OK becomes a No.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::node::{Ballot, Outcome, Proposal, ProposalId, RecordedEntry, View, Vote};

use super::Quorums;

/// One replica's record, above what is settled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// The last view in which the replica took part.
    pub last_normal: View,
    pub entries: Vec<RecordedEntry>,
}

/// `records` are those of exactly f + 1 replicas; what fewer than `kept` of them accepted, no fast quorum did. `may_stand` says whether a proposal
/// that a fast quorum may have accepted can be kept: whether it conflicts neither with what committed nor with those of the second
/// argument, which are kept already. Says what becomes of each proposal in the new view.
pub fn merge(
    quorums: Quorums,
    kept: usize,
    records: &[Record],
    mut may_stand: impl FnMut(&Arc<Proposal>, &[Arc<Proposal>]) -> bool,
) -> BTreeMap<ProposalId, RecordedEntry> {
    assert_eq!(records.len(), quorums.majority(), "a merge is of a majority's records");
    let latest = records.iter().map(|record| record.last_normal).max().expect("a majority is not empty");
    let ids: BTreeSet<ProposalId> = records.iter().flat_map(|record| &record.entries).map(|entry| entry.id).collect();
    let mut merged = BTreeMap::new();
    let mut open = Vec::new();
    for id in ids {
        let (entry, fate) = merge_one(id, kept, latest, records);
        merged.insert(id, entry);
        match fate {
            Fate::Known => {}
            Fate::Open => open.push(id),
        }
    }
    let mut kept: Vec<Arc<Proposal>> = Vec::new();
    let stands = |entry: &&RecordedEntry| entry.vote == Vote::Ok && entry.outcome.is_none();
    kept.extend(merged.values().filter(stands).filter_map(|entry| entry.proposal.clone()));
    for id in open {
        let entry = merged.get_mut(&id).expect("it was put there");
        if let Some(proposal) = &entry.proposal
            && may_stand(proposal, &kept)
        {
            kept.push(proposal.clone());
            entry.vote = Vote::Ok;
        }
    }
    merged
}

/// Whether the records tell what becomes of a proposal.
enum Fate {
    Known,
    /// A fast quorum may have accepted it. It is a No until it is found that it can stand.
    Open,
}

/// What the records say of one proposal.
fn merge_one(id: ProposalId, kept: usize, latest: View, records: &[Record]) -> (RecordedEntry, Fate) {
    let all = || records.iter().flat_map(|record| &record.entries).filter(|entry| entry.id == id);
    // Votes count in the latest view only: what was decided before is in the master record that it began with.
    let current = || {
        let latest = records.iter().filter(|record| record.last_normal == latest);
        latest.flat_map(|record| &record.entries).filter(|entry| entry.id == id)
    };
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
