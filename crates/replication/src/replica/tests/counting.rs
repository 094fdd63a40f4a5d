//! What a replica counts of what it does.

use iolite_values::Timestamp;

use super::bench::{add, at, put, read, reading};
use super::group::{Trio, prepare};
use crate::replica::Votes;

#[test]
fn a_proposal_is_counted_once_by_the_vote_on_it() {
    let mut trio = Trio::new();
    trio.commit(&[0, 1, 2], &put(1, 1), at(5));
    trio.prepare(&[0, 0, 0], &put(2, 2), at(9));
    assert!(trio.objection(0, &put(3, 3), at(9)).is_some(), "2 is in the way");
    let stale = reading(4, Timestamp::ZERO, vec![read(1)], Vec::new());
    assert!(trio.objection(0, &stale, at(12)).is_some());
    assert!(trio.objection(0, &put(1, 1), at(13)).is_some(), "it has its outcome");
    let votes = Votes { ok: 2, busy: 1, conflict: 1, completed: 1, ..Votes::default() };
    assert_eq!(trio.replicas[0].figures().votes, votes);
    assert_eq!(trio.replicas[1].figures().votes, Votes { ok: 1, ..Votes::default() });
}

#[test]
fn clients_outcomes_and_bytes_of_records_are_counted() {
    let mut trio = Trio::new();
    trio.commit(&[0, 1, 2], &add(1, 1), at(5));
    trio.ask(0, prepare(&add(2, 1), at(6)));
    let figures = trio.replicas[0].figures();
    assert_eq!((figures.clients, figures.completions), (1, 1));
    let bytes: usize = trio.records[0].iter().map(Vec::len).sum();
    assert_eq!(figures.journaled, bytes as u64);
}
