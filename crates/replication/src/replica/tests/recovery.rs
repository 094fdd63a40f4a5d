//! Restarts.

use iolite_store::ReadLimit;
use iolite_values::{Attempt, Counter, Level, Timestamp};

use super::bench::{Bench, Prepared, add, at, committed, id, put, read, reading, settings};
use crate::ShardMap;
use crate::ir::Entry;
use crate::journal::{CheckpointChunk, JournalRecord};
use crate::node::{Answer, Ask, Vote};
use crate::replica::{RecoverError, Replica};
use crate::tapir::split;
use crate::versions::Logged;

#[test]
fn the_barrier_is_the_ceiling_after_a_restart() {
    let mut bench = Bench::new();
    bench.close(at(5));
    let records = bench.records.clone();
    bench.restart(&[], &records);
    let ceiling = Timestamp::end_of(at(1_005).micros());
    assert_eq!(bench.replica.complete(), ceiling);
    assert_eq!(bench.prepare(&add(1, 1), at(1_000)), Prepared::Retry { above: ceiling });
}

#[test]
fn an_outcome_survives_a_restart_until_it_is_acknowledged() {
    let mut bench = Bench::new();
    bench.commit(&add(1, 1), at(1));
    bench.commit(&add(2, 1), at(2));
    bench.ask(Ask::Acknowledge { client: id(1).client, through: Counter(1) });
    let records = bench.records.clone();
    bench.restart(&[], &records);
    assert_eq!(bench.prepare(&add(1, 1), at(9)), Prepared::Forgotten);
    assert_eq!(bench.prepare(&add(2, 1), at(9)), committed(1, at(2)));
}

#[test]
fn nothing_commits_below_a_read_after_a_restart_either() {
    let mut bench = Bench::new();
    bench.commit(&reading(1, Timestamp::ZERO, vec![read(1)], Vec::new()), at(5));
    let records = bench.records.clone();
    bench.restart(&[], &records);
    assert_eq!(bench.prepare(&put(2, 1), at(4)), Prepared::Retry { above: at(5) });
}

#[test]
fn nor_after_one_that_begins_with_a_checkpoint() {
    let mut bench = Bench::new();
    bench.commit(&reading(1, Timestamp::ZERO, vec![read(1)], Vec::new()), at(5));
    bench.replica.begin_checkpoint();
    let chunks: Vec<Vec<u8>> = std::iter::from_fn(|| bench.replica.next_chunk(1)).collect();
    bench.restart(&chunks, &[]);
    assert_eq!(bench.prepare(&put(2, 1), at(4)), Prepared::Retry { above: at(5) });
}

#[test]
fn an_earlier_attempt_that_commits_after_a_restart_is_the_outcome_of_all() {
    let mut bench = Bench::new();
    bench.close(at(1));
    bench.commit(&put(1, 1), at(5));
    let mut later = reading(2, at(1), vec![read(1)], Vec::new());
    later.attempt = Attempt(2);
    assert_eq!(bench.prepare(&later, at(6)), Prepared::Conflict { at_least: at(5) });
    let records = bench.records.clone();
    bench.restart(&[], &records);
    bench.commit(&add(2, 3), at(2_000));
    later.attempt = Attempt(3);
    assert_eq!(bench.prepare(&later, at(2_001)), committed(1, at(2_000)));
}

/// A crash may come between the commits that a peer told and the record of how far they reach. The group's record may say of one of them that it is open.
#[test]
fn a_commit_that_was_applied_is_not_open_whatever_the_record_said_of_it() {
    let transaction = put(1, 1);
    let (_, proposal) = split(&ShardMap::alone(), &transaction, at(5)).pop_first().expect("of the one shard");
    let entry = Entry::voted(Some(proposal.clone()), Vote::Ok, None).recorded(proposal.id);
    let open = JournalRecord::Entry(entry).encode().expect("small");
    let applied = JournalRecord::Completed(Logged::of(&proposal).to_record()).encode().expect("small");
    for records in [[open.clone(), applied.clone()], [applied, open]] {
        let mut bench = Bench::new();
        bench.restart(&[], &records);
        bench.close(at(2_000));
        assert!(bench.replica.complete() > at(5), "nobody else could say what became of it");
    }
}

#[test]
fn what_is_no_journal_is_an_error() {
    let decode = Replica::recover(settings(1), [[1, 2, 3]; 0], [[0xff, 0xff]]);
    assert!(matches!(decode, Err(RecoverError::Decode(_))));
    let half = CheckpointChunk::Rows(Vec::new()).encode().unwrap();
    let incomplete = Replica::recover(settings(1), [half], [[0; 0]; 0]);
    assert_eq!(incomplete.map(|_| ()), Err(RecoverError::IncompleteCheckpoint));
    let mut bench = Bench::new();
    bench.commit(&add(1, 1), at(1));
    let mut records = bench.records.clone();
    let other = iolite_values::Write { cell: super::bench::cell(1), operation: iolite_values::Operation::Create };
    let completed = crate::journal::Completed {
        transaction: id(2),
        attempt: Attempt(1),
        at: at(2),
        level: Level::Strict,
        decision: crate::journal::CompletedDecision::Committed(vec![other]),
        is_home: true,
    };
    records.push(JournalRecord::Completed(completed).encode().unwrap());
    let inconsistent = Replica::recover(settings(1), [[0; 0]; 0], records);
    assert!(matches!(inconsistent, Err(RecoverError::Inconsistent { .. })));
}

#[test]
fn a_closed_timestamp_stays_readable_after_a_restart() {
    let mut bench = Bench::new();
    bench.commit(&add(1, 1), at(5));
    bench.close(at(5));
    let interest = iolite_values::Interest::Cell(super::bench::cell(1));
    let before =
        bench.answer(Ask::ReadAt { interest: interest.clone(), at: at(5), limit: ReadLimit::NONE, looks: usize::MAX });
    assert!(matches!(&before, Answer::Read(Ok(piece)) if piece.reply.rows.len() == 1));
    let records = bench.records.clone();
    bench.restart(&[], &records);
    assert_eq!(bench.answer(Ask::ReadAt { interest, at: at(5), limit: ReadLimit::NONE, looks: usize::MAX }), before);
}
