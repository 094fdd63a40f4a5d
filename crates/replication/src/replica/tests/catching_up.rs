//! Replicas that missed something, and get it from others.

use std::ops::Range;
use std::time::Duration;

use iolite_machine::Machine;
use iolite_values::{CellState, Operation, Timestamp, Transaction, Value};

use super::bench::{add, at, blind, cell, write};
use super::group::{Trio, id_of};
use crate::journal::JournalRecord;
use crate::node::{Ask, Boot, Detail, Outcome, Peer, ProposalId, ReplicaId, StateChunk, Vote};
use crate::replica::catch_up::{STATE_PAUSE_MAX, STATE_TRIES_MAX};
use crate::replica::close::{ANSWER_BYTES_MAX, CLOSED_WRITES_MAX};
use crate::replica::state_transfer::STATE_CHUNK_BYTES_MAX;
use crate::replica::{FETCH_AGAIN_AFTER, Replica, ReplicaInput, ReplicaOutput, STATE_HELD_FOR};

fn value(replica: &Replica, row: i64) -> Option<CellState> {
    replica.versions().row(cell(row).table, &cell(row).row)?.latest().cell(cell(row).column).cloned()
}

/// Counters 1 to `count` add to row 1, at two replicas only.
fn commit_without_the_third(trio: &mut Trio, count: u64) -> Vec<ProposalId> {
    (1..=count).map(|counter| commit_one_without_the_third(trio, counter, &add(counter, 1))).collect()
}

/// Each in a row of its own.
fn commit_large_without_the_third(trio: &mut Trio, counters: Range<u64>, bytes: usize) -> Vec<ProposalId> {
    let large = Value::bytes(vec![7; bytes]);
    let put = |counter| blind(counter, vec![write(counter as i64, Operation::Put(large.clone()))]);
    counters.map(|counter| commit_one_without_the_third(trio, counter, &put(counter))).collect()
}

fn commit_one_without_the_third(trio: &mut Trio, counter: u64, transaction: &Transaction) -> ProposalId {
    trio.commit(&[0, 1], transaction, at(counter));
    id_of(transaction, at(counter))
}

#[test]
fn who_has_all_that_committed_is_complete_and_drops_its_record() {
    let mut trio = Trio::new();
    let ids = commit_without_the_third(&mut trio, 3);
    assert_eq!(trio.replicas[0].record_len(), 3);
    trio.resolve(&[0, 1], Timestamp::ZERO, at(3), &ids);
    assert_eq!(trio.complete(), [at(3), at(3), Timestamp::ZERO]);
    assert_eq!(trio.replicas[0].record_len(), 0);
}

#[test]
fn what_is_voted_ok_here_commits_when_it_is_said_to_have_committed() {
    let mut trio = Trio::new();
    let transaction = add(1, 1);
    trio.prepare(&[0], &transaction, at(1));
    trio.resolve(&[0], Timestamp::ZERO, at(1), &[id_of(&transaction, at(1))]);
    assert_eq!((trio.complete()[0], value(&trio.replicas[0], 1)), (at(1), Some(CellState::Counter(1))));
    assert_eq!(trio.said, [], "nothing had to be fetched");
}

#[test]
fn who_misses_a_commit_fetches_it_from_one_that_has_it() {
    let mut trio = Trio::new();
    let ids = commit_without_the_third(&mut trio, 3);
    trio.resolve(&[0, 1, 2], Timestamp::ZERO, at(3), &ids);
    trio.settle();
    assert_eq!(trio.complete(), [at(3); 3]);
    assert_eq!(value(&trio.replicas[2], 1), Some(CellState::Counter(3)));
}

#[test]
fn who_misses_much_fetches_it_in_parts() {
    let mut trio = Trio::new();
    let much = vec![write(1, Operation::Add(1)); CLOSED_WRITES_MAX];
    let mut ids = Vec::new();
    for counter in 1..=3 {
        let transaction = blind(counter, much.clone());
        trio.commit(&[0, 1], &transaction, at(counter));
        ids.push(id_of(&transaction, at(counter)));
    }
    trio.resolve(&[0, 1, 2], Timestamp::ZERO, at(3), &ids);
    trio.settle();
    assert_eq!(trio.complete(), [at(3); 3]);
    let segments = trio.said.iter().filter(|peer| matches!(peer, Peer::Segment { .. }));
    assert_eq!(segments.count(), 3);
}

#[test]
fn large_commits_come_in_parts_too() {
    let mut trio = Trio::new();
    let ids = commit_large_without_the_third(&mut trio, 1..16, ANSWER_BYTES_MAX / 10);
    trio.resolve(&[0, 1, 2], Timestamp::ZERO, at(20), &ids);
    trio.settle();
    assert_eq!(trio.complete(), [at(20); 3]);
    let segments = trio.said.iter().filter_map(|peer| match peer {
        Peer::Segment { commits, .. } => Some(commits.len()),
        _ => None,
    });
    assert_eq!(segments.collect::<Vec<_>>(), [10, 5]);
}

/// Forgets history at these replicas: what is older than a second.
fn collect(trio: &mut Trio, replicas: [usize; 2]) {
    let through = at(5_000);
    for replica in replicas {
        trio.resolve(&[replica], trio.complete()[replica], through, &[]);
        for _ in 0..4 {
            let (cursor, settled, detail) = (through, through, Detail::Names);
            trio.ask(replica, Ask::Close { through, cursor, settled, detail });
        }
    }
}

#[test]
fn who_was_away_for_longer_than_history_is_kept_takes_the_whole_state() {
    let mut trio = Trio::new();
    let mut ids = commit_without_the_third(&mut trio, 2);
    // More than a chunk of rows.
    ids.extend(commit_large_without_the_third(&mut trio, 10..18, STATE_CHUNK_BYTES_MAX / 3));
    trio.resolve(&[0, 1], Timestamp::ZERO, at(20), &ids);
    collect(&mut trio, [0, 1]);
    assert!(trio.replicas[0].low_watermark() > Timestamp::ZERO, "some of it is forgotten");
    trio.resolve(&[2], at(20), at(5_000), &[]);
    trio.settle();
    assert_eq!(trio.complete(), [at(5_000); 3]);
    assert_eq!(value(&trio.replicas[2], 1), Some(CellState::Counter(2)));
    assert_eq!(value(&trio.replicas[2], 17), value(&trio.replicas[0], 17));
    assert!(trio.said.iter().filter(|peer| matches!(peer, Peer::StateChunk(_))).count() > 3, "in chunks");
    let recovered = Replica::recover(trio.replicas[2].settings.clone(), [[0u8; 0]; 0], &trio.records[2]).unwrap();
    assert_eq!(recovered.complete(), at(5_000));
    assert_eq!(value(&recovered, 17), value(&trio.replicas[0], 17), "it is in the journal");
    let are_chunks = |record: &Vec<u8>| matches!(JournalRecord::decode(record), Ok(JournalRecord::Snapshot(_)));
    let last_chunk = trio.records[2].iter().rposition(are_chunks).unwrap();
    for kept in 0..trio.records[2].len() {
        let settings = trio.replicas[2].settings.clone();
        let recovered = Replica::recover(settings, [[0u8; 0]; 0], &trio.records[2][..kept]).unwrap();
        recovered.validate();
        assert_eq!(recovered.complete() == at(5_000), kept > last_chunk, "the crash came after {kept} records");
    }
}

#[test]
fn who_gives_its_state_keeps_its_history_meanwhile() {
    let mut trio = Trio::new();
    let ids = commit_without_the_third(&mut trio, 2);
    trio.resolve(&[0, 1], Timestamp::ZERO, at(2), &ids);
    let now = trio.now;
    trio.replicas[0].on_fetch_state(now, crate::node::ReplicaId(2), Vec::new());
    collect(&mut trio, [0, 1]);
    assert_eq!(trio.replicas[0].low_watermark(), Timestamp::ZERO);
    assert!(trio.replicas[1].low_watermark() > Timestamp::ZERO);
}

/// As by a replica whose process stood still between two chunks.
#[test]
fn a_state_that_came_so_slowly_that_history_was_forgotten_meanwhile_is_asked_for_again() {
    let mut trio = Trio::new();
    let mut ids = commit_without_the_third(&mut trio, 2);
    ids.extend(commit_large_without_the_third(&mut trio, 10..13, STATE_CHUNK_BYTES_MAX));
    trio.resolve(&[0, 1], Timestamp::ZERO, at(20), &ids);
    let (giver, now) = (ReplicaId(0), trio.now);
    trio.replicas[2].begin_taking(now, giver);
    let first = trio.take_said();
    assert!(first.iter().any(|message| matches!(message.peer, Peer::FetchState { .. })));
    for message in first {
        trio.replicas[message.to.0 as usize].handle(now, ReplicaInput::FromPeer(message));
    }
    let chunk = trio.take_said();
    trio.now.instant = trio.now.instant + STATE_HELD_FOR + Duration::from_millis(1);
    let later = commit_one_without_the_third(&mut trio, 3_000, &add(3, 1));
    trio.resolve(&[0, 1], at(20), at(4_500), &[later]);
    collect(&mut trio, [0, 1]);
    assert!(trio.replicas[0].low_watermark() > at(20), "it is forgotten");
    for message in chunk {
        trio.replicas[message.to.0 as usize].handle(trio.now, ReplicaInput::FromPeer(message));
    }
    trio.settle();
    assert_eq!(
        trio.complete()[2],
        Timestamp::ZERO,
        "what it was given begins too late for what it is complete through"
    );
    trio.resolve(&[2], at(4_500), at(5_000), &[]);
    trio.settle();
    assert_eq!(trio.complete(), [at(5_000); 3]);
    assert_eq!(value(&trio.replicas[2], 12), value(&trio.replicas[0], 12));
}

/// Others may have forgotten meanwhile what comes after the state.
#[test]
fn who_has_taken_a_state_asks_its_giver_for_the_rest() {
    for giver in [0, 1] {
        let mut trio = Trio::new();
        let ids = commit_without_the_third(&mut trio, 2);
        trio.resolve(&[0, 1], Timestamp::ZERO, at(2), &ids);
        let later = commit_one_without_the_third(&mut trio, 9, &add(9, 1));
        // It is asked first, and has forgotten.
        let others = [ReplicaId(0), ReplicaId(1)];
        let now = trio.now;
        trio.replicas[2].fall_behind(now, at(9));
        while trio.replicas[2].catch_up.expected_from != Some(others[giver]) {
            trio.pass(FETCH_AGAIN_AFTER);
            trio.take_said();
        }
        let now = trio.now;
        trio.replicas[2].on_fetched_too_old(now, others[giver]);
        trio.settle();
        assert_eq!(trio.complete()[2], at(2));
        assert_eq!(trio.replicas[2].catch_up.expected_from, Some(others[giver]));
        trio.resolve(&[0, 1], at(2), at(9), &[later]);
        trio.pass(FETCH_AGAIN_AFTER * 3);
        trio.settle();
        assert_eq!(trio.complete(), [at(9); 3]);
    }
}

#[test]
fn a_giver_that_falls_silent_is_given_up_for_another() {
    let mut trio = Trio::new();
    let ids = commit_without_the_third(&mut trio, 2);
    trio.resolve(&[0, 1], Timestamp::ZERO, at(2), &ids);
    collect(&mut trio, [0, 1]);
    trio.resolve(&[2], at(2), at(5_000), &[]);
    // The first one asked answers that its history is gone, and then nothing any more.
    let first = match trio.replicas[2].catch_up.expected_from {
        Some(replica) => replica.0 as usize,
        None => panic!("it asks someone"),
    };
    let now = trio.now;
    trio.replicas[2].on_fetched_too_old(now, crate::node::ReplicaId(first as u64));
    for tries in 0..=STATE_TRIES_MAX + 1 {
        assert_eq!(trio.complete()[2], Timestamp::ZERO);
        trio.settle_without(Some(first));
        trio.pass((1 << tries) * FETCH_AGAIN_AFTER + Duration::from_millis(1));
    }
    trio.settle_without(Some(first));
    assert_eq!(trio.complete()[2], at(5_000));
}

#[test]
fn a_giver_that_was_slow_is_not_waited_for_much_longer() {
    let mut trio = Trio::new();
    let (giver, now) = (ReplicaId(0), trio.now);
    trio.replicas[2].begin_taking(now, giver);
    for number in 0..3 {
        trio.pass(STATE_PAUSE_MAX);
        let place = trio.replicas[2].catch_up.taking.as_ref().expect("it goes on").place.clone();
        let (boot, complete, next) = (Boot(1), at(9), Some(vec![number]));
        let now = trio.now;
        trio.replicas[2].on_state_chunk(now, giver, StateChunk { boot, place, next, complete, chunk: Vec::new() });
    }
    let now = trio.now;
    trio.replicas[2].fall_behind(now, at(9));
    for _ in 0..=STATE_TRIES_MAX {
        assert!(trio.replicas[2].catch_up.taking.is_some());
        trio.pass(STATE_PAUSE_MAX);
    }
    assert!(trio.replicas[2].catch_up.taking.is_none(), "another one is asked");
}

/// The more often it is asked, the more it has to do.
#[test]
fn a_giver_that_takes_its_time_is_not_asked_for_each_chunk_again_and_again() {
    let mut trio = Trio::new();
    let (giver, latency, chunks) = (ReplicaId(0), 5 * FETCH_AGAIN_AFTER, 40);
    let now = trio.now;
    trio.replicas[2].begin_taking(now, giver);
    let mut asked = 0;
    for number in 0..chunks {
        for _ in 0..latency.as_millis() / 20 {
            trio.pass(Duration::from_millis(20));
            let said = std::iter::from_fn(|| trio.replicas[2].poll());
            let is_question = |output: &ReplicaOutput| matches!(output, ReplicaOutput::ToPeer { message, .. } if matches!(message.peer, Peer::FetchState { .. }));
            asked += said.filter(is_question).count();
        }
        let place = trio.replicas[2].catch_up.taking.as_ref().expect("it goes on").place.clone();
        let (boot, complete, next) = (Boot(1), at(9), Some(vec![number]));
        let now = trio.now;
        trio.replicas[2].on_state_chunk(now, giver, StateChunk { boot, place, next, complete, chunk: Vec::new() });
    }
    assert!(asked < 2 * usize::from(chunks), "{asked} questions for {chunks} chunks");
}

/// Others forget what so many say to have.
#[test]
fn who_says_that_it_is_complete_is_so_after_a_crash() {
    let mut trio = Trio::new();
    trio.commit(&[0, 1, 2], &add(1, 1), at(1));
    let id = id_of(&add(1, 1), at(1));
    trio.ask(0, Ask::Resolved { from: Timestamp::ZERO, through: at(5), commits: [id].into() });
    assert_eq!(trio.complete()[0], at(5));
    for ask in [Ask::Open, Ask::Close { through: at(5), cursor: at(5), settled: at(5), detail: Detail::Whole }] {
        trio.ask(0, ask);
        assert_eq!(trio.answer_after.0, trio.records[0].len() as u64);
    }
}

/// A state has what committed above the giver's complete point, too. Its outcome had reached the giver alone.
#[test]
fn what_a_transferred_state_says_to_have_committed_does_not_conflict_with_itself_in_a_merge() {
    let mut trio = Trio::new();
    let before = add(1, 1);
    trio.commit(&[0, 2], &before, at(1));
    trio.resolve(&[0, 2], Timestamp::ZERO, at(1), &[id_of(&before, at(1))]);
    collect(&mut trio, [0, 2]);
    let last = add(2, 2);
    assert_eq!(trio.prepare(&[0, 1, 2], &last, at(6_000)), [Vote::Ok; 3]);
    trio.ask(0, Ask::Outcome { id: id_of(&last, at(6_000)), outcome: Outcome::Committed, proposal: None });
    trio.resolve(&[1], at(1), at(5_000), &[]);
    for _ in 0..4 {
        trio.settle_without(Some(2));
        trio.pass(FETCH_AGAIN_AFTER);
    }
    trio.settle_without(Some(2));
    assert_eq!((trio.complete()[1], value(&trio.replicas[1], 2)), (at(5_000), Some(CellState::Counter(1))));
    let now = trio.now;
    trio.replicas[1].begin_view_change(now);
    trio.settle_without(Some(0));
    assert_eq!(trio.prepare(&[1, 2], &last, at(6_000)), [Vote::Ok; 2]);
}
