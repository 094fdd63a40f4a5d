//! Transactions that only read.

use std::sync::Arc;

use iolite_store::{CommitReply, Event, Refusal, Reply, Request, RequestId, Validity};
use iolite_values::{KeyRange, Read, TableId, Timestamp};

use super::bench::{Bench, Prepared, Said, at, close, completion, prepared, transaction};
use crate::node::{Answer, Ask, Invalid};

fn reads() -> Arc<[Read]> {
    [Read::Range { table: TableId(1), range: KeyRange::all() }].into()
}

fn validate(snapshot: Timestamp) -> Request {
    let own = transaction(1);
    let (transaction, attempt) = (own.id, own.attempt);
    Request::Validate { transaction, attempt, snapshot, reads: reads(), floor: Timestamp::ZERO }
}

fn ask() -> Ask {
    Ask::Validate { snapshot: Timestamp::ZERO, reads: reads() }
}

fn replied(reply: Reply) -> Said {
    Said::Event(Event::Reply(RequestId(7), reply))
}

#[test]
fn reads_are_valid_when_the_replica_says_so() {
    let mut bench = Bench::open();
    assert_eq!(bench.request(7, validate(Timestamp::ZERO)), [Said::Asks(2, ask())]);
    assert_eq!(bench.coordinator.open_requests(), 1);
    assert_eq!(bench.answer(2, Answer::Valid(Ok(()))), [replied(Reply::Validated(Validity::Valid))]);
    assert_eq!(bench.coordinator.open_requests(), 0);
}

#[test]
fn reads_that_changed_make_the_feed_go_where_the_client_needs_it() {
    let mut bench = Bench::open();
    bench.request(7, validate(Timestamp::ZERO));
    let changed = replied(Reply::Validated(Validity::Changed { at_least: at(4) }));
    let close = Said::Asks(3, close(at(4), Timestamp::ZERO));
    assert_eq!(bench.answer(2, Answer::Valid(Err(Invalid::Changed(at(4))))), [changed, close]);
}

#[test]
fn above_the_feed_nothing_is_validated() {
    let mut bench = Bench::open();
    let refusal = Refusal::NotResolved { asked: at(1), resolved: Timestamp::ZERO };
    assert_eq!(bench.request(7, validate(at(1))), [replied(Reply::Refused(refusal))]);
}

#[test]
fn reads_that_a_replica_refuses_are_refused() {
    let mut bench = Bench::open();
    bench.request(7, validate(Timestamp::ZERO));
    let refusal = Refusal::OtherShard { table: TableId(1) };
    assert_eq!(bench.answer(2, Answer::Refused(refusal.clone())), [replied(Reply::Refused(refusal))]);
    assert_eq!(bench.coordinator.open_requests(), 0);
}

#[test]
fn reads_beside_what_stays_undecided_are_committed() {
    let mut bench = Bench::open();
    bench.request(7, validate(Timestamp::ZERO));
    let mut question = 2;
    let proposal = loop {
        bench.answer(question, Answer::Valid(Err(Invalid::UnderWay(at(9)))));
        let said = std::iter::repeat_with(|| bench.wait().1).flatten();
        let mut asks = said.filter_map(|said| match said {
            Said::Asks(number, ask) => Some((number, ask)),
            Said::Event(_) => None,
        });
        let next = asks.find(|(_, ask)| matches!(ask, Ask::Validate { .. } | Ask::Prepare { .. }));
        match next {
            Some((_, Ask::Prepare { proposal, .. })) => break proposal,
            Some((number, _)) => question = number,
            None => panic!("it says nothing more"),
        }
    };
    assert_eq!(proposal.reads[..], reads()[..]);
    assert_eq!((proposal.id.transaction, proposal.writes()), (transaction(1).id, &[][..]));
    assert!(proposal.id.at > at(9), "above what was in the way");
    let number = bench.asked();
    let said = bench.answer(number, prepared(Prepared::Accepted));
    let committed = Reply::Commit(CommitReply::Completed(completion(proposal.id.at)));
    assert_eq!(said.first(), Some(&replied(committed)));
}
