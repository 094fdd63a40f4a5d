//! Everything that replicas write down of what they say to each other.

use std::sync::Arc;

use iolite_values::{Attempt, CoordinatorId, Element, Level, Read, Timestamp};
use iolite_wire::journal::{CheckpointChunk, CheckpointMeta, JournalRecord, SnapshotPart};
use iolite_wire::node::{
    Ballot, Configuration, Drained, Effect, Epoch, Group, Life, Outcome, Proposal, ProposalId, RecordPart,
    RecordedEntry, Registered, ReplicaId, ShardId, Split, Term, View, Vote,
};

use super::records::transaction;
use super::values::{cell, every_operation, ranges, table, time, write};
use crate::decoders::Content;

pub fn id(micros: u64) -> ProposalId {
    ProposalId { at: time(micros), transaction: transaction(), attempt: Attempt(2) }
}

pub fn proposal(effect: Effect) -> Arc<Proposal> {
    let whole = Read::Cell { cell: cell("chair"), element: Element::Whole };
    let ranges = ranges().into_iter().map(|range| Read::Range { table: table(), range });
    Arc::new(Proposal {
        id: id(5),
        participants: [ShardId(1), ShardId(300)].into(),
        snapshot: time(3),
        reads: [whole].into_iter().chain(ranges).collect(),
        level: Level::Serializable,
        effect,
        is_home: true,
    })
}

pub fn ballot() -> Ballot {
    Ballot { number: 2, by: CoordinatorId::new(CoordinatorId::MAX).expect("the last one"), term: Term(7) }
}

pub fn entry(vote: Vote, proposal: Option<Arc<Proposal>>) -> RecordedEntry {
    RecordedEntry { id: id(5), proposal, vote, finalised: None, promised: Ballot::FIRST, outcome: None }
}

pub fn view() -> View {
    View { epoch: Epoch(3), number: 4 }
}

fn term() -> Registered {
    Registered { coordinator: CoordinatorId::new(9).expect("small"), term: Term(2), life: Life(u64::MAX) }
}

pub fn group() -> Group {
    Group::new(ShardId(1), Epoch(3), &[2, 3, 300].map(ReplicaId)).expect("three")
}

pub fn configuration() -> Configuration {
    Configuration::after(&group(), &[2, 3, 301].map(ReplicaId)).expect("three")
}

pub fn split() -> Split {
    let part = |shard, member| Group::new(ShardId(shard), Epoch(0), &[ReplicaId(member)]).expect("one");
    Split::new(group(), (table(), cell("chair").row), part(301, 7), part(302, 8)).expect("three shards")
}

pub fn drained() -> Drained {
    Drained { view: view(), complete: time(5), barrier: time(6), terms: vec![term()] }
}

pub fn part(entries: Vec<RecordedEntry>) -> RecordPart {
    let (view, complete, barrier) = (view(), time(1), time(2));
    RecordPart { view, complete, barrier, number: 1, parts: 3, entries, terms: vec![term()], split: Some(split()) }
}

pub fn all() -> Vec<(&'static str, &'static str, Content)> {
    let records = |records: Vec<JournalRecord>| Content::Journal(records);
    let writes: Vec<_> = every_operation().into_iter().map(write).collect();
    let commit = proposal(Effect::Commit(writes.into()));
    let voted = entry(Vote::Ok, Some(commit.clone()));
    let settled = RecordedEntry { finalised: Some(ballot()), promised: ballot(), ..entry(Vote::No, None) };
    let outcome = |outcome| RecordedEntry { outcome: Some(outcome), ..entry(Vote::Ok, None) };
    let part = part(vec![voted.clone(), settled.clone()]);
    let meta = CheckpointMeta { low_watermark: time(1), ceiling: time(2), reads_through: time(3) };
    let chunk = CheckpointChunk::Meta(meta).encode().expect("small");
    let snapshot = SnapshotPart { complete: time(4), number: 2, is_last: true, chunk };
    let term = JournalRecord::Term(term());
    vec![
        ("proposal", "a commit of every operation, an abort, and what is read committed", {
            let abort = proposal(Effect::Abort);
            let weaker = Arc::new(Proposal { level: Level::ReadCommitted, ..(*abort).clone() });
            let entries = [abort, weaker].map(|proposal| JournalRecord::Entry(entry(Vote::Ok, Some(proposal))));
            records([JournalRecord::Entry(voted.clone())].into_iter().chain(entries).collect())
        }),
        ("proposal_name", "a vote No", records(vec![JournalRecord::Entry(entry(Vote::No, None))])),
        ("ballot", "finalised at a ballot", records(vec![JournalRecord::Entry(settled)])),
        ("recorded_entry", "one that committed, and one that was aborted", {
            records([Outcome::Committed, Outcome::Aborted].map(|own| JournalRecord::Entry(outcome(own))).into())
        }),
        ("view", "a view was joined", records(vec![JournalRecord::Joined(view())])),
        ("record_part", "a part of a master record", records(vec![JournalRecord::Master(part)])),
        ("coordinator_term", "a life of a coordinator", records(vec![term.clone()])),
        ("snapshot_part", "the last part of a state", records(vec![JournalRecord::Snapshot(snapshot)])),
        ("shard_configuration", "of the first epoch, and of a later one", {
            records([Configuration::first(group()), configuration()].map(JournalRecord::Configured).into())
        }),
        ("shard_split", "a shard is to end", records(vec![JournalRecord::Split(split())])),
        ("checkpoint_records", "a term and a complete point", {
            let complete = JournalRecord::Complete(Timestamp::MAX);
            Content::Checkpoint(vec![CheckpointChunk::Records(vec![term, complete])])
        }),
    ]
}
