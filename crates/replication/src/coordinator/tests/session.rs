//! Opening, restarts of the replica, and other histories.

use iolite_store::{Event, TooOld};
use iolite_values::{Id, StoreIncarnation, Timestamp};

use super::bench::{Bench, STORE, Said, at, close, closed, commit, opened, prepare};
use crate::node::{Answer, Ask, Boot, Opened, Term};

#[test]
fn requests_wait_until_the_store_is_open() {
    let mut bench = Bench::new();
    assert_eq!(bench.said(), [Said::Asks(1, Ask::Open)]);
    assert_eq!(bench.request(1, commit(1)), []);
    bench.highest = at(2_000);
    let ready = Event::Ready { store: STORE, resolved: at(1_000) };
    let above = at(2_000).next_for(super::bench::own_id());
    assert_eq!(bench.answer(1, opened(at(1_000))), [Said::Event(ready), Said::Asks(2, prepare(1, above))]);
}

/// After all was killed, its outcome may be nowhere yet, and it was acknowledged.
#[test]
fn the_store_is_said_to_be_open_once_the_feed_has_passed_what_was_prepared_before() {
    let mut bench = Bench::new();
    bench.said();
    let answer = Answer::Opened(Opened { term: Term(0), complete: at(7), latest: at(9) });
    let closes = |said: &[Said], from| matches!(said, [Said::Asks(_, Ask::Close { through, cursor, .. })] if (*through, *cursor) == (at(9), from));
    assert!(closes(&bench.answer(1, answer), at(7)));
    assert!(closes(&bench.answer(2, closed(at(8))), at(8)), "and no segment is told");
    assert_eq!(bench.answer(3, closed(at(9))), [Said::Event(Event::Ready { store: STORE, resolved: at(9) })]);
}

#[test]
fn what_a_clock_far_ahead_left_prepared_is_not_waited_for() {
    let mut bench = Bench::new();
    bench.said();
    let answer = Answer::Opened(Opened { term: Term(0), complete: at(7), latest: at(1_000_000_000) });
    let closes = |said: &[Said]| matches!(said, [Said::Asks(_, Ask::Close { through, .. })] if *through == at(60_000));
    assert!(closes(&bench.answer(1, answer)), "through the limit");
    assert_eq!(bench.answer(2, closed(at(60_000))), [Said::Event(Event::Ready { store: STORE, resolved: at(60_000) })]);
}

#[test]
fn opening_is_asked_again_until_it_is_answered() {
    let mut bench = Bench::new();
    bench.said();
    assert_eq!(bench.wait(), (100, vec![Said::Asks(1, Ask::Open)]));
    assert_eq!(bench.wait(), (200, vec![Said::Asks(1, Ask::Open)]));
}

#[test]
fn everything_is_asked_again_at_once_when_the_replica_has_restarted() {
    let mut bench = Bench::open();
    bench.request(1, commit(1));
    bench.request(2, commit(2));
    bench.boot = Boot(2);
    let said = bench.answer(2, super::bench::completed(at(0)));
    let close = close(at(0), Timestamp::ZERO);
    let second = prepare(2, at(0).next_for(super::bench::own_id()));
    assert!(matches!(said[0], Said::Event(Event::Reply(..))));
    assert_eq!(said[1..], [Said::Asks(3, second), Said::Asks(4, close)]);
}

#[test]
fn the_feed_goes_on_from_its_cursor_after_a_restart_of_the_replica() {
    let mut bench = Bench::open();
    let (_, said) = bench.wait();
    assert!(matches!(said[..], [Said::Asks(2, Ask::Close { .. })]));
    bench.answer(2, closed(at(100)));
    let (_, said) = bench.wait();
    bench.boot = Boot(2);
    let Said::Asks(3, Ask::Close { cursor, .. }) = said[0] else { panic!("{said:?}") };
    assert_eq!(cursor, at(100));
    let said = bench.answer(3, closed(at(400)));
    assert!(
        matches!(&said[..], [Said::Event(Event::Feed(segment))] if segment.from == at(100) && segment.to == at(400))
    );
}

#[test]
fn another_history_is_opened_and_announced() {
    let mut bench = Bench::open();
    bench.request(1, commit(1));
    bench.store = StoreIncarnation(Id::from_u128(6));
    assert_eq!(bench.answer(2, Answer::WrongStore), [Said::Asks(3, Ask::Open)]);
    assert_eq!(bench.answer(2, Answer::WrongStore), [], "once");
    let said = bench.answer(3, opened(at(7)));
    let ready = Event::Ready { store: bench.store, resolved: at(7) };
    assert_eq!(said, [Said::Event(ready), Said::Asks(2, prepare(1, at(0)))]);
}

#[test]
fn a_feed_that_was_away_for_too_long_begins_anew() {
    let mut bench = Bench::open();
    bench.wait();
    let too_old = TooOld { low_watermark: at(90) };
    assert_eq!(bench.answer(2, Answer::Closed(Err(too_old))), [Said::Asks(3, Ask::Open)]);
    let said = bench.answer(3, opened(at(95)));
    assert_eq!(said, [Said::Event(Event::Ready { store: STORE, resolved: at(95) })]);
}
