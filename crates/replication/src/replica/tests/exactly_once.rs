//! Two proposals of one transaction, when the group merges its records: at most one of them commits.
//!
//! Five replicas, of which two may have accepted a second proposal: as published, two records of three are as many as a fast quorum shows.

use iolite_values::{Counter, Timestamp};

use super::bench::{Bench, at, close, id, put, settings};
use super::group::{Trio, id_of};
use crate::node::{Answer, Ask, Vote};
use crate::replica::Replica;

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

/// Its client was told before any replica was, and has acknowledged it.
#[test]
fn the_only_proposal_of_what_was_acknowledged_stands_although_nobody_has_applied_it() {
    let mut five = Trio::of(5);
    assert_eq!(five.prepare(&[0, 1, 2, 3, 4], &put(1, 1), at(6_000)), [Vote::Ok; 5]);
    acknowledge(&mut five, &[0, 1, 2, 3, 4]);
    five.merge();
    assert_eq!(five.vote(&put(1, 1), at(6_000)), Vote::Ok, "a fast quorum decided it");
}

#[test]
fn whether_an_outcome_was_here_is_known_after_it_is_forgotten_and_after_a_restart() {
    let mut bench = Bench::new();
    for counter in [1, 3, 6] {
        bench.commit(&put(counter, 1), at(counter));
    }
    let known = |replica: &Replica| [1, 2, 3, 4, 5, 6, 7].map(|counter| replica.clients.has_completed(id(counter)));
    for through in [2, 5] {
        bench.ask(Ask::Acknowledge { client: id(1).client, through: Counter(through) });
        assert_eq!(known(&bench.replica), [true, false, true, false, false, true, false]);
        let mut recovered = Replica::recover(settings(2), [[0u8; 0]; 0], &bench.records).unwrap();
        assert_eq!(known(&recovered), known(&bench.replica));
        recovered.begin_checkpoint();
        let chunks: Vec<_> = std::iter::from_fn(|| recovered.next_chunk(1)).collect();
        let recovered = Replica::recover(settings(3), &chunks, [[0u8; 0]; 0]).unwrap();
        assert_eq!(known(&recovered), known(&bench.replica));
        assert_eq!(recovered.clients, bench.replica.clients);
    }
    // What one of two has seen was seen, whoever has acknowledged more.
    let mut other = Bench::new();
    for counter in [2, 3, 4] {
        other.commit(&put(counter, 1), at(counter));
    }
    other.ask(Ask::Acknowledge { client: id(1).client, through: Counter(3) });
    for (mut to, from) in [(&bench, &other), (&other, &bench)].map(|(to, from)| (to.replica.clone(), &from.replica)) {
        to.clients.absorb(from.clients.clone());
        assert_eq!(known(&to), [true, true, true, true, false, true, false]);
        to.clients.validate();
    }
}

/// It may come from peers: then it is known here too that the transaction took effect.
#[test]
fn an_outcome_that_comes_after_it_was_acknowledged_was_here() {
    let mut trio = Trio::new();
    trio.commit(&[0, 1], &put(1, 1), at(5));
    acknowledge(&mut trio, &[0, 1, 2]);
    assert!(!trio.replicas[2].clients.has_completed(id(1)));
    trio.resolve(&[0, 1, 2], Timestamp::ZERO, at(9), &[id_of(&put(1, 1), at(5))]);
    trio.settle();
    assert!(trio.replicas[2].clients.has_completed(id(1)));
}
