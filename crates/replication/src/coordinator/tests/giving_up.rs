//! Requests for whose replies nobody waits any more.

use iolite_machine::Machine;
use iolite_store::{CommitReply, Event, ReadLimit, ReadReply, Reply, Request, RequestId};
use iolite_values::{Interest, KeyRange, TableId, Timestamp};

use super::bench::{Bench, Prepared, Said, at, commit, completion, opened, prepare, prepared};
use crate::coordinator::CoordinatorInput;
use crate::node::{Answer, Ask};

fn read() -> Request {
    let interest = Interest::Range { table: TableId(1), range: KeyRange::all() };
    Request::ReadAt { interest, at: Timestamp::ZERO, limit: ReadLimit::NONE }
}

fn give_up(bench: &mut Bench, id: u64) -> Vec<Said> {
    bench.coordinator.handle(bench.now, CoordinatorInput::GiveUp(RequestId(id)));
    bench.said()
}

/// Whether a read is asked again while the coordinator waits for a while.
fn is_read_again(bench: &mut Bench) -> bool {
    let said = (0..20).flat_map(|_| bench.wait().1).collect::<Vec<_>>();
    said.iter().any(|said| matches!(said, Said::Asks(_, Ask::ReadAt { .. })))
}

#[test]
fn a_read_that_is_given_up_is_asked_for_nothing_and_not_answered() {
    let mut bench = Bench::open();
    bench.request(1, read());
    let asked = bench.asked();
    let said = give_up(&mut bench, 1);
    let is_nothing = |interest: &Interest| matches!(interest, Interest::Range { table: _, range } if range.is_empty());
    assert!(
        matches!(&said[..], [Said::Asks(own, Ask::ReadAt { interest, .. })] if *own == asked && is_nothing(interest))
    );
    assert_eq!(bench.coordinator.open_requests(), 0);
    assert!(!is_read_again(&mut bench));
    let late = ReadReply { at: Timestamp::ZERO, rows: Vec::new(), is_cut: false };
    assert_eq!(bench.answer(asked, Answer::Read(Ok(late.into()))), []);
}

#[test]
fn a_read_that_is_given_up_while_its_replicas_are_behind_is_not_asked_again() {
    let mut bench = Bench::open();
    bench.request(1, read());
    bench.answer(bench.asked(), Answer::Behind { complete: Timestamp::ZERO });
    assert_eq!((give_up(&mut bench, 1), bench.coordinator.open_requests()), (vec![], 0));
    assert!(!is_read_again(&mut bench));
}

#[test]
fn a_read_that_is_given_up_while_no_store_is_there_is_not_begun() {
    let mut bench = Bench::new();
    bench.said();
    bench.request(1, read());
    bench.request(2, commit(1));
    assert_eq!((give_up(&mut bench, 1), bench.coordinator.open_requests()), (vec![], 1));
    let said = bench.answer(1, opened(Timestamp::ZERO));
    assert!(said.contains(&Said::Asks(2, prepare(1, at(0)))), "{said:?}");
    assert!(!is_read_again(&mut bench));
}

#[test]
fn a_commit_is_seen_through_all_the_same() {
    let mut bench = Bench::open();
    bench.request(7, commit(1));
    assert_eq!((give_up(&mut bench, 7), bench.coordinator.open_requests()), (vec![], 1));
    let said = bench.answer(2, prepared(Prepared::Accepted));
    let reply = Reply::Commit(CommitReply::Completed(completion(at(0))));
    assert_eq!(said[0], Said::Event(Event::Reply(RequestId(7), reply)));
}
