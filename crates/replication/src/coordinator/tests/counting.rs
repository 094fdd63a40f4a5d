//! What a coordinator counts of what it does.

use std::time::Duration;

use iolite_store::Request;
use iolite_values::Timestamp;

use super::bench::{Bench, Prepared, commit, opened, prepared, transaction};
use crate::coordinator::Tally;

#[test]
fn each_transaction_is_counted_once_by_how_it_ended() {
    let mut bench = Bench::open();
    bench.request(1, commit(1));
    bench.request(2, commit(1));
    bench.answer(2, prepared(Prepared::Retry { above: Timestamp::ZERO }));
    bench.answer(3, prepared(Prepared::Accepted));
    bench.answer(3, prepared(Prepared::Accepted));
    let once = Tally { completed: 1, proposed_again: 1, ..bench.coordinator.tally() };
    assert_eq!(bench.coordinator.tally(), once);

    let mut bench = Bench::open();
    bench.request(1, commit(1));
    bench.answer(2, prepared(Prepared::Conflict { at_least: Timestamp::ZERO }));
    bench.request(2, commit(2));
    bench.answer(3, prepared(Prepared::Forgotten));
    assert_eq!(bench.coordinator.tally(), Tally { conflicts: 1, refused: 1, ..Tally::default() });
}

#[test]
fn the_time_counts_from_the_request_also_while_the_store_is_opened() {
    let mut bench = Bench::new();
    bench.said();
    bench.request(7, commit(1));
    assert_eq!(bench.wait().0, 100, "it asks again who is there");
    bench.answer(1, opened(Timestamp::ZERO));
    bench.answer(2, prepared(Prepared::Accepted));
    assert_eq!(bench.coordinator.tally().latencies.sum, Duration::from_millis(100));
}

#[test]
fn the_time_to_the_outcome_is_counted_also_when_nobody_waits_any_longer() {
    let mut bench = Bench::open();
    let within = Some(Duration::from_millis(30));
    bench.request(7, Request::Commit { transaction: transaction(1), floor: Timestamp::ZERO, within });
    assert_eq!(bench.wait().0, 30);
    let in_doubt = Tally { in_doubt: 1, ..Tally::default() };
    assert_eq!(bench.coordinator.tally(), in_doubt);
    bench.answer(2, prepared(Prepared::Accepted));
    let tally = bench.coordinator.tally();
    assert_eq!((tally.in_doubt, tally.completed, tally.latencies.sum), (1, 1, Duration::from_millis(30)));
    assert_eq!(tally.latencies.counts.iter().sum::<u64>(), 1);
}
