//! What a serializable transaction may do that a strict one may not, and what it may not either.

use iolite_values::{Level, Operation, Timestamp, Transaction, Value};

use super::bench::{Bench, Prepared, at, put, read, reading, write};

/// Reads row 1 as of the beginning, and writes row 2.
fn late(level: Level) -> Transaction {
    let writes = vec![write(2, Operation::Put(Value::Int(2)))];
    Transaction { level, ..reading(2, Timestamp::ZERO, vec![read(1)], writes) }
}

/// With a write of row 1 that was reported.
fn written() -> Bench {
    let mut bench = Bench::of_any_past();
    bench.commit(&put(1, 1), at(10));
    bench
}

#[test]
fn a_past_that_was_changed_is_read_by_a_serializable_transaction_and_not_by_a_strict_one() {
    let mut bench = written();
    assert_eq!(bench.prepare(&late(Level::Strict), at(5)), Prepared::Conflict { at_least: at(10) });
    bench.commit(&late(Level::Serializable), at(5));
}

#[test]
fn what_changed_below_its_timestamp_is_a_conflict_for_a_serializable_one_too() {
    let mut bench = written();
    assert_eq!(bench.prepare(&late(Level::Serializable), at(11)), Prepared::Conflict { at_least: at(10) });
}

#[test]
fn nobody_stands_in_a_past_that_is_closed() {
    let mut bench = written();
    bench.close(at(10));
    assert_eq!(bench.prepare(&late(Level::Serializable), at(5)), Prepared::Retry { above: at(10) });
}

#[test]
fn what_a_serializable_transaction_read_is_not_written_below_it() {
    let mut bench = Bench::of_any_past();
    bench.commit(&late(Level::Serializable), at(5));
    assert_eq!(bench.prepare(&put(3, 1), at(4)), Prepared::Retry { above: at(5) });
    bench.commit(&put(3, 1), at(6));
}

#[test]
fn a_serializable_write_stands_above_what_it_does_not_commute_with() {
    let mut bench = written();
    let blind = Transaction { level: Level::Serializable, ..put(2, 1) };
    assert_eq!(bench.prepare(&blind, at(5)), Prepared::Retry { above: at(10) });
}
