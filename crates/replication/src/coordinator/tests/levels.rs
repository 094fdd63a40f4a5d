//! Where a transaction is proposed that may read a past.

use iolite_store::{CommitReply, Event, Reply, Request, RequestId};
use iolite_values::{Level, Timestamp, Transaction};

use super::bench::{Bench, Prepared, Said, at, completion, objected, own_id, prepared, transaction};
use crate::node::{Answer, Ask, Objection, ProposalId};

fn request(level: Level) -> Request {
    let transaction = Transaction { level, ..transaction(1) };
    Request::Commit { transaction, floor: Timestamp::ZERO, within: None }
}

/// Where it was proposed next, and the number of the question.
fn proposed(bench: &Bench, said: &[Said]) -> (u64, Timestamp) {
    let Some(Said::Asks(_, Ask::Prepare { proposal, .. })) = said.first() else { panic!("{said:?}") };
    (bench.asked(), proposal.id.at)
}

fn replied(reply: CommitReply) -> Said {
    Said::Event(Event::Reply(RequestId(7), Reply::Commit(reply)))
}

fn changed() -> Answer {
    prepared(Prepared::Conflict { at_least: at(0) })
}

fn lowest() -> Timestamp {
    Timestamp::ZERO.next_for(own_id())
}

#[test]
fn a_serializable_transaction_whose_reads_changed_is_proposed_in_the_past() {
    let mut bench = Bench::open();
    let said = bench.request(7, request(Level::Serializable));
    assert_eq!(proposed(&bench, &said), (2, at(0)), "at first like any other");
    let said = bench.answer(2, changed());
    assert_eq!(proposed(&bench, &said), (3, lowest()));
    let said = bench.answer(3, prepared(Prepared::Accepted));
    assert_eq!(said[0], replied(CommitReply::Completed(completion(lowest()))));
}

#[test]
fn so_is_one_with_something_undecided_in_its_way() {
    let mut bench = Bench::open();
    bench.request(7, request(Level::Serializable));
    let with = ProposalId { at: at(0), transaction: transaction(2).id, attempt: transaction(2).attempt };
    let said = bench.answer(2, objected(Objection::Busy { with }));
    assert_eq!(proposed(&bench, &said), (3, lowest()));
}

#[test]
fn it_is_a_conflict_when_the_past_is_closed() {
    let mut bench = Bench::open();
    bench.request(7, request(Level::Serializable));
    bench.answer(2, changed());
    let said = bench.answer(3, prepared(Prepared::Retry { above: at(0) }));
    assert!(proposed(&bench, &said).1 > at(0), "with the others");
    let said = bench.answer(4, changed());
    assert_eq!(said[0], replied(CommitReply::Conflict { at_least: at(0) }));
}

#[test]
fn a_strict_transaction_whose_reads_changed_is_a_conflict_at_once() {
    let mut bench = Bench::open();
    bench.request(7, request(Level::Strict));
    let said = bench.answer(2, changed());
    assert_eq!(said[0], replied(CommitReply::Conflict { at_least: at(0) }));
}

#[test]
fn two_in_the_past_stand_at_different_times() {
    let mut bench = Bench::open();
    bench.request(7, request(Level::Serializable));
    let other = Transaction { level: Level::Serializable, ..transaction(2) };
    bench.request(8, Request::Commit { transaction: other, floor: Timestamp::ZERO, within: None });
    let first = bench.answer(2, changed());
    assert_eq!(proposed(&bench, &first).1, lowest());
    let second = bench.answer(3, changed());
    assert_eq!(proposed(&bench, &second).1, lowest().next_for(own_id()));
}
