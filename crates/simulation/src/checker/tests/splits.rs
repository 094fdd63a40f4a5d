//! Journals of a shard that ended, and of its parts.

use std::sync::Arc;

use iolite_values::{RowKey, TableId};
use iolite_wire::node::{Ballot, Effect, Epoch, Group, Outcome, Proposal, ProposalId, RecordedEntry, Split, Vote};

use super::*;

const ENDED: ShardId = ShardId(0);
const PARTS: [ShardId; 2] = [ShardId(1), ShardId(2)];

fn id() -> ProposalId {
    ProposalId { at: at(10), transaction: issued(1), attempt: Attempt(1) }
}

fn note(history: &mut History, shard: ShardId, record: JournalRecord) {
    let own = history.stores.entry(store(1)).or_default().replicas.entry(ReplicaId(u64::from(shard.0))).or_default();
    own.shard = shard;
    own.journal.insert(Position(own.journal.len() as u64), record);
}

fn entry(proposal: Option<Proposal>, vote: Vote, outcome: Outcome) -> JournalRecord {
    let (proposal, promised) = (proposal.map(Arc::new), Ballot::FIRST);
    JournalRecord::Entry(RecordedEntry { id: id(), proposal, vote, finalised: None, promised, outcome: Some(outcome) })
}

fn split() -> JournalRecord {
    let group = |shard: ShardId| Group::new(shard, Epoch(0), &[ReplicaId(u64::from(shard.0))]).expect("one replica");
    let place = (TableId::of("hits"), RowKey::new(&[Value::Int(1)]).expect("short"));
    let split = Split::new(group(ENDED), place, group(PARTS[0]), group(PARTS[1]));
    JournalRecord::Split(split.expect("three shards"))
}

/// A part commits, for these, what the shard that was split aborted.
fn of_one_name(participants: &[ShardId]) -> History {
    let mut history = history(&[(1, CalledAs::Named)]);
    note(&mut history, ENDED, entry(None, Vote::No, Outcome::Aborted));
    let proposal = Proposal {
        id: id(),
        participants: participants.into(),
        snapshot: Timestamp::ZERO,
        reads: Vec::new(),
        level: Level::Strict,
        effect: Effect::Commit([hit(1)].into()),
        is_home: true,
    };
    note(&mut history, PARTS[0], entry(Some(proposal), Vote::Ok, Outcome::Committed));
    history
}

#[test]
fn what_a_shard_aborted_as_it_ended_its_parts_may_commit() {
    let mut history = of_one_name(&PARTS);
    note(&mut history, ENDED, split());
    assert_eq!(violated(&history), None);
}

#[test]
fn what_one_shard_aborts_and_another_commits_is_found() {
    assert_eq!(violated(&of_one_name(&PARTS)), Some(Invariant::ExactlyOnce), "the first one goes on");
    let mut history = of_one_name(&[ENDED, PARTS[0]]);
    note(&mut history, ENDED, split());
    assert_eq!(violated(&history), Some(Invariant::ExactlyOnce), "it has a say");
}
