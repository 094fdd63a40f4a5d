//! Commits whose callers wait for a time only.

use std::time::Duration;

use iolite_store::{CommitReply, Event, Reply, Request, RequestId};
use iolite_values::Timestamp;

use super::bench::{Bench, Prepared, Said, at, commit, completion, opened, prepare, prepared, transaction};
use crate::node::Ask;

fn commit_within(millis: u64) -> Request {
    let within = Some(Duration::from_millis(millis));
    Request::Commit { transaction: transaction(1), floor: Timestamp::ZERO, within }
}

fn replied(id: u64, reply: CommitReply) -> Said {
    Said::Event(Event::Reply(RequestId(id), Reply::Commit(reply)))
}

fn in_doubt(id: u64) -> Said {
    let transaction = transaction(1);
    replied(id, CommitReply::InDoubt { transaction: transaction.id, attempt: transaction.attempt })
}

fn is_prepare(said: &Said) -> bool {
    matches!(said, Said::Asks(_, Ask::Prepare { .. }))
}

#[test]
fn an_outcome_that_is_not_known_in_time_is_in_doubt_and_asked_again_it_is_known() {
    let mut bench = Bench::open();
    bench.request(7, commit_within(30));
    assert_eq!(bench.wait(), (30, vec![in_doubt(7)]));
    assert_eq!(bench.request(8, commit(1)), [], "it is under way still");
    let said = bench.answer(2, prepared(Prepared::Accepted));
    assert_eq!(said[0], replied(8, CommitReply::Completed(completion(at(0)))));
    assert!(!said.contains(&in_doubt(7)), "the first is answered already");
}

#[test]
fn an_outcome_that_is_known_in_time_is_never_in_doubt() {
    let mut bench = Bench::open();
    bench.request(7, commit_within(30));
    let said = bench.answer(2, prepared(Prepared::Accepted));
    assert_eq!(said[0], replied(7, CommitReply::Completed(completion(at(0)))));
    for _ in 0..5 {
        assert!(!bench.wait().1.contains(&in_doubt(7)));
    }
}

#[test]
fn who_waits_on_is_answered_beside_who_did_not() {
    let mut bench = Bench::open();
    bench.request(7, commit(1));
    bench.request(8, commit_within(30));
    assert_eq!(bench.wait(), (30, vec![in_doubt(8)]));
    let said = bench.answer(2, prepared(Prepared::Accepted));
    assert_eq!(said[0], replied(7, CommitReply::Completed(completion(at(0)))));
}

#[test]
fn what_nobody_waits_for_is_seen_through_and_not_proposed_again() {
    let mut bench = Bench::open();
    bench.request(7, commit_within(30));
    bench.wait();
    assert_eq!(bench.coordinator.open_requests(), 1, "its proposal may yet commit");
    let said = bench.answer(2, prepared(Prepared::Retry { above: at(90) }));
    assert!(!said.iter().any(is_prepare), "{said:?}");
    assert_eq!(bench.coordinator.open_requests(), 0);
    let said = bench.request(8, commit(1));
    assert!(said.iter().any(is_prepare), "whoever asks makes it be proposed: {said:?}");
}

#[test]
fn while_no_store_is_there_time_passes_too() {
    let mut bench = Bench::new();
    bench.said();
    bench.request(7, commit_within(30));
    assert_eq!(bench.wait(), (30, vec![in_doubt(7)]));
    let said = bench.answer(1, opened(Timestamp::ZERO));
    assert!(!said.iter().any(is_prepare), "{said:?}");
    assert_eq!(bench.request(8, commit(1)), [Said::Asks(2, prepare(1, at(30)))]);
}
