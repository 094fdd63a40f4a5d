//! Two proposals of one transaction, when the group merges its records: at most one of them commits.
//!
//! Five replicas, of which two may have accepted a second proposal: as published, two records of three are as many as a fast quorum shows.

use iolite_values::{Counter, Timestamp};

use super::bench::{at, close, id, put};
use super::group::{Trio, id_of};
use crate::node::{Answer, Ask, Vote};

fn acknowledge(five: &mut Trio, replicas: &[usize]) {
    for replica in replicas {
        let ask = Ask::Acknowledge { client: id(1).client, through: Counter(1) };
        assert_eq!(five.ask(*replica, ask), Some(Answer::Acknowledged));
    }
}

/// Forgets history that is older than a second, at those that are complete.
fn collect(five: &mut Trio, replicas: &[usize], millis: u64) {
    five.resolve(replicas, Timestamp::ZERO, at(millis), &[id_of(&put(1, 1), at(5))]);
    for replica in replicas {
        for _ in 0..4 {
            five.ask(*replica, close(at(millis), at(millis)));
        }
    }
}

#[test]
fn a_second_proposal_of_what_was_acknowledged_and_forgotten_does_not_stand() {
    let mut five = Trio::of(5);
    five.commit(&[0, 1, 2], &put(1, 1), at(5));
    // Two that are cut off know nothing of it, and meet a late copy through another gateway.
    assert_eq!(five.prepare(&[3, 4], &put(1, 1), at(6_000)), [Vote::Ok; 2]);
    collect(&mut five, &[0, 1, 2], 5_000);
    acknowledge(&mut five, &[0, 1, 2]);
    assert!(five.replicas[1].low_watermark() >= at(5), "the commit is not in the log any more");
    five.merge();
    assert_eq!(five.vote(&put(1, 1), at(6_000)), Vote::No, "it would take effect twice");
}

/// Simulated seed 57 of one shard of five: a merge let the first proposal stand, and the transaction took effect twice.
#[test]
fn an_earlier_proposal_of_what_committed_does_not_stand() {
    let mut five = Trio::of(5);
    assert_eq!(five.prepare(&[1, 3], &put(1, 1), at(5)), [Vote::Ok; 2]);
    five.commit(&[0, 2, 4], &put(1, 1), at(9));
    five.merge();
    assert_eq!(five.vote(&put(1, 1), at(5)), Vote::No);
}

/// Its client was told before any replica was, and has acknowledged it.
#[test]
fn the_only_proposal_of_what_was_acknowledged_stands_although_nobody_has_applied_it() {
    let mut five = Trio::of(5);
    assert_eq!(five.prepare(&[0, 1, 2, 3, 4], &put(1, 1), at(6_000)), [Vote::Ok; 5]);
    acknowledge(&mut five, &[0, 1, 2, 3, 4]);
    five.merge();
    assert_eq!(five.vote(&put(1, 1), at(6_000)), Vote::Ok, "a fast quorum decided it");
}
