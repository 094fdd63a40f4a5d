//! View changes among three replicas.

use std::time::Duration;

use iolite_values::{Level, Operation, Timestamp, Value};

use super::bench::{add, at, blind, put, read, reading, write};
use super::group::{Trio, id_of, prepare};
use crate::node::{Answer, Ask, Ballot, Detail, Epoch, Outcome, Peer, View, Vote};
use crate::replica::view_change::{
    PART_BYTES_MAX, VIEW_CHANGE_LASTS_MAX, VIEW_CHANGE_PATIENCE, VIEW_CHANGE_PATIENCE_MAX,
};
use crate::replica::{Replica, ReplicaOutput};
use iolite_machine::Machine;

fn view(number: u32) -> View {
    View { epoch: Epoch(0), number }
}

fn begin(trio: &mut Trio, replica: usize) {
    let now = trio.now;
    trio.replicas[replica].begin_view_change(now);
}

/// Where the replicas that are in `view` stand with a proposal.
fn votes(trio: &mut Trio, replicas: &[usize], transaction: &iolite_values::Transaction, at: Timestamp) -> Vec<Vote> {
    let votes = replicas.iter().map(|replica| match trio.ask(*replica, prepare(transaction, at)) {
        Some(Answer::Voted(voted)) => {
            assert_eq!(voted.finalised, Some(Ballot::FIRST), "the master record settled it");
            voted.vote
        }
        other => panic!("{other:?}"),
    });
    votes.collect()
}

#[test]
fn what_a_fast_quorum_may_have_accepted_stays_accepted() {
    let mut trio = Trio::new();
    let transaction = put(1, 1);
    trio.prepare(&[0, 1, 2], &transaction, at(5));
    begin(&mut trio, 0);
    trio.settle_without(Some(2));
    assert_eq!(votes(&mut trio, &[0, 1], &transaction, at(5)), [Vote::Ok, Vote::Ok]);
    assert_eq!(trio.replicas[0].standing.view(), view(1));
}

/// Below the barrier too: its client may have been told that it committed. (close-check's x1)
#[test]
fn it_stays_accepted_although_the_barrier_has_passed_it() {
    let mut trio = Trio::new();
    let transaction = put(1, 1);
    trio.prepare(&[0, 1, 2], &transaction, at(5));
    for replica in [0, 1] {
        trio.ask(replica, super::bench::close(at(9), Timestamp::ZERO));
    }
    begin(&mut trio, 0);
    trio.settle_without(Some(2));
    assert_eq!(votes(&mut trio, &[0, 1], &transaction, at(5)), [Vote::Ok, Vote::Ok]);
}

/// However little history is kept: what it read may have been read before what is settled.
#[test]
fn it_stays_accepted_although_more_is_settled_than_when_it_read() {
    let mut trio = Trio::new();
    trio.replicas.iter_mut().for_each(|replica| replica.settings.retention.operations_max = 0);
    let (before, transaction) = (put(1, 1), reading(2, at(4), vec![read(9)], vec![write(9, Operation::Add(1))]));
    trio.commit(&[0, 1, 2], &before, at(5));
    assert_eq!(trio.prepare(&[0, 1, 2], &transaction, at(6)), [Vote::Ok; 3]);
    trio.resolve(&[0, 1, 2], Timestamp::ZERO, at(5), &[id_of(&before, at(5))]);
    for replica in 0..3 {
        trio.ask(replica, Ask::Close { through: at(5), cursor: at(5), settled: at(5), detail: Detail::Whole });
    }
    begin(&mut trio, 0);
    trio.settle_without(Some(2));
    assert_eq!(votes(&mut trio, &[0, 1], &transaction, at(6)), [Vote::Ok, Vote::Ok]);
}

/// Two read committed puts may both be accepted. That the later one committed does not mean that the earlier one cannot have.
#[test]
fn a_read_committed_put_stays_accepted_although_a_later_one_committed() {
    let mut trio = Trio::new();
    let one = |counter| iolite_values::Transaction { level: Level::ReadCommitted, ..put(counter, 1) };
    assert_eq!(trio.prepare(&[0, 1, 2], &one(1), at(5)), [Vote::Ok; 3]);
    trio.commit(&[0, 1, 2], &one(2), at(10));
    begin(&mut trio, 0);
    trio.settle_without(Some(2));
    assert_eq!(votes(&mut trio, &[0, 1], &one(1), at(5)), [Vote::Ok, Vote::Ok]);
}

#[test]
fn what_a_minority_accepted_is_refused() {
    let mut trio = Trio::new();
    let transaction = put(1, 1);
    trio.prepare(&[0], &transaction, at(5));
    begin(&mut trio, 0);
    trio.settle_without(Some(2));
    assert_eq!(votes(&mut trio, &[0, 1], &transaction, at(5)), [Vote::No, Vote::No]);
}

/// Flaw 3: T1 reads x and is accepted by all at 7; T2 writes x at 10 and is refused by all, so it cannot have committed anywhere.
#[test]
fn of_two_that_conflict_only_the_accepted_one_stays() {
    let mut trio = Trio::new();
    let (first, second) = (put(1, 1), put(2, 1));
    assert_eq!(trio.prepare(&[0, 1, 2], &first, at(7)), [Vote::Ok; 3]);
    assert_eq!(trio.prepare(&[0, 1, 2], &second, at(10)), [Vote::No; 3]);
    begin(&mut trio, 1);
    trio.settle_without(Some(2));
    assert_eq!(votes(&mut trio, &[0, 1], &first, at(7)), [Vote::Ok, Vote::Ok]);
    assert_eq!(votes(&mut trio, &[0, 1], &second, at(10)), [Vote::No, Vote::No]);
}

#[test]
fn an_outcome_that_one_knows_is_known_to_all() {
    let mut trio = Trio::new();
    let transaction = add(1, 1);
    trio.commit(&[0], &transaction, at(5));
    begin(&mut trio, 0);
    trio.settle_without(Some(2));
    for replica in [0, 1] {
        let Some(Answer::Voted(voted)) = trio.ask(replica, prepare(&transaction, at(5))) else { panic!("it answers") };
        assert_eq!(voted.outcome, Some(Outcome::Committed));
        assert!(trio.replicas[replica].versions().has_commit_at(at(5)));
    }
}

#[test]
fn who_has_left_its_view_answers_nothing() {
    let mut trio = Trio::new();
    begin(&mut trio, 0);
    assert_eq!(trio.ask(0, prepare(&put(1, 1), at(5))), None);
    trio.settle();
    assert!(trio.ask(0, prepare(&put(1, 1), at(5))).is_some());
}

#[test]
fn a_view_whose_leader_is_down_is_given_up_for_the_next() {
    let mut trio = Trio::new();
    // Replica 1 leads the first view to come.
    begin(&mut trio, 0);
    trio.settle_without(Some(1));
    assert!(!trio.replicas[0].standing.is_normal());
    trio.pass(VIEW_CHANGE_PATIENCE + Duration::from_millis(1));
    trio.settle_without(Some(1));
    let standing = [0, 2]
        .map(|replica: usize| (trio.replicas[replica].standing.view(), trio.replicas[replica].standing.is_normal()));
    assert_eq!(standing, [(view(2), true); 2]);
}

/// Or a record that takes longer to its leader than one view is given would never be merged.
#[test]
fn each_view_that_does_not_begin_is_given_twice_as_long_as_the_one_before() {
    let mut trio = Trio::new();
    begin(&mut trio, 0);
    let mut given = Vec::new();
    for number in 1..=6 {
        let before = trio.now.instant;
        while trio.replicas[0].standing.view() == view(number) {
            trio.pass(Duration::from_millis(100));
        }
        given.push(trio.now.instant.since(before).as_secs());
    }
    assert_eq!(given, [1, 2, 4, 8, 8, 8]);
    assert_eq!(VIEW_CHANGE_PATIENCE_MAX, Duration::from_secs(8));
}

/// Two replicas with a record of so many parts, and the third one down.
fn with_long_records(parts: u64) -> Trio {
    let mut trio = Trio::new();
    let large = Value::bytes(vec![0; PART_BYTES_MAX / 2]);
    for counter in 1..=parts {
        let transaction = blind(counter, vec![write(counter as i64, Operation::Put(large.clone()))]);
        trio.prepare(&[0, 1], &transaction, at(counter));
    }
    trio
}

/// The record takes longer than a view is given of which nothing is heard.
#[test]
fn a_view_whose_records_still_arrive_is_not_given_up() {
    let mut trio = with_long_records(20);
    begin(&mut trio, 0);
    let (for_a_part, within) = (Duration::from_millis(500), Duration::from_secs(300));
    assert!(trio.take_part_slowly([0, 1], for_a_part, within), "no view began");
    assert_eq!([0, 1].map(|replica: usize| trio.replicas[replica].view()), [view(1); 2]);
}

/// Where a part takes as long as the first view is given.
#[test]
fn a_later_view_is_given_what_slower_links_need() {
    let mut trio = with_long_records(12);
    begin(&mut trio, 0);
    let (for_a_part, within) = (Duration::from_secs(1), Duration::from_secs(300));
    assert!(trio.take_part_slowly([0, 1], for_a_part, within), "no view began");
}

/// It may restart again and again, and say each time that it is on the way.
#[test]
fn a_view_whose_leader_says_only_that_it_is_there_is_given_up() {
    let mut trio = Trio::new();
    begin(&mut trio, 0);
    let begun = trio.now.instant;
    while trio.replicas[0].view() == view(1) {
        let leader = trio.replicas[1].id();
        trio.replicas[0].on_start_view_change(trio.now, leader, view(1));
        trio.pass(Duration::from_millis(100));
    }
    assert_eq!(trio.now.instant.since(begun), VIEW_CHANGE_LASTS_MAX);
}

#[test]
fn who_comes_later_gets_the_record_that_the_view_began_with() {
    let mut trio = Trio::new();
    let transaction = put(1, 1);
    trio.prepare(&[0, 1, 2], &transaction, at(5));
    begin(&mut trio, 0);
    trio.settle_without(Some(2));
    let now = trio.now;
    trio.replicas[2].join(now, view(1));
    trio.settle();
    assert_eq!(votes(&mut trio, &[2], &transaction, at(5)), [Vote::Ok]);
}

#[test]
fn a_restart_on_the_way_to_a_view_goes_on_the_way() {
    let mut trio = Trio::new();
    trio.prepare(&[0, 1, 2], &put(1, 1), at(5));
    begin(&mut trio, 0);
    trio.settle_without(Some(1));
    let settings = trio.replicas[0].settings.clone();
    let mut recovered = Replica::recover(settings, [[0u8; 0]; 0], &trio.records[0]).unwrap();
    assert_eq!((recovered.standing.view(), recovered.standing.is_normal()), (view(1), false));
    recovered.on_deadline(trio.now);
    let sends = std::iter::from_fn(|| recovered.poll()).any(|output| {
        matches!(output, ReplicaOutput::ToPeer { message, .. } if matches!(message.peer, Peer::DoViewChange { .. }))
    });
    assert!(sends, "its record, to the leader");
}

#[test]
fn a_restart_in_a_view_is_in_that_view_with_its_record() {
    let mut trio = Trio::new();
    let transaction = put(1, 1);
    trio.prepare(&[0, 1, 2], &transaction, at(5));
    begin(&mut trio, 0);
    trio.settle();
    let settings = trio.replicas[1].settings.clone();
    let recovered = Replica::recover(settings, [[0u8; 0]; 0], &trio.records[1]).unwrap();
    assert_eq!((recovered.standing.view(), recovered.standing.is_normal()), (view(1), true));
    assert_eq!(recovered.record, trio.replicas[1].record);
    assert_eq!(recovered.record.get(id_of(&transaction, at(5))).unwrap().vote, Vote::Ok);
}

#[test]
fn a_long_record_goes_in_parts() {
    let mut trio = Trio::new();
    let large = Value::bytes(vec![0; PART_BYTES_MAX / 2]);
    for counter in 1..=5 {
        let transaction = blind(counter, vec![write(counter as i64, Operation::Put(large.clone()))]);
        trio.prepare(&[0, 1, 2], &transaction, at(counter));
    }
    begin(&mut trio, 0);
    trio.settle_without(Some(2));
    let parts = |own: fn(&Peer) -> Option<u32>| trio.said.iter().filter_map(own).max();
    let sent = parts(|peer| match peer {
        Peer::DoViewChange { part, .. } => Some(part.parts),
        _ => None,
    });
    let begun = parts(|peer| match peer {
        Peer::StartView { part } => Some(part.parts),
        _ => None,
    });
    assert_eq!((sent, begun), (Some(5), Some(5)));
    let last = blind(5, vec![write(5, Operation::Put(large))]);
    assert_eq!(votes(&mut trio, &[0, 1], &last, at(5)), [Vote::Ok, Vote::Ok]);
}
