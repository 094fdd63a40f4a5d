//! What transactions of the weaker levels may do that strict ones may not, and what they may not either.

use iolite_values::{CellState, Level, Operation, Timestamp, Transaction, Value};

use super::bench::{Bench, Prepared, add, at, cell, put, read, reading, write};

/// Reads row 1 as of the beginning, and writes row 2.
fn late(level: Level) -> Transaction {
    let writes = vec![write(2, Operation::Put(Value::Int(2)))];
    Transaction { level, ..reading(2, Timestamp::ZERO, vec![read(1)], writes) }
}

/// With a write of row 1 that was reported.
fn written() -> Bench {
    let mut bench = Bench::new();
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
    let mut bench = Bench::new();
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

/// Writes row 1, at a level, as of the beginning.
fn put_at(level: Level, counter: u64) -> Transaction {
    Transaction { level, ..put(counter, 1) }
}

#[test]
fn the_first_to_commit_after_a_snapshot_wins() {
    let mut bench = written();
    let late = |writes| Transaction { level: Level::Snapshot, ..reading(2, Timestamp::ZERO, Vec::new(), writes) };
    let put = late(vec![write(1, Operation::Put(Value::Int(2)))]);
    assert_eq!(bench.prepare(&put, at(11)), Prepared::Conflict { at_least: at(10) });
    bench.commit(&late(vec![write(2, Operation::Put(Value::Int(2)))]), at(12));
}

#[test]
fn what_commutes_is_no_conflict_after_a_snapshot() {
    let mut bench = Bench::new();
    bench.commit(&add(1, 1), at(10));
    bench.commit(&Transaction { level: Level::Snapshot, ..add(2, 1) }, at(11));
    let put = put_at(Level::Snapshot, 3);
    assert_eq!(bench.prepare(&put, at(12)), Prepared::Conflict { at_least: at(11) });
}

#[test]
fn read_committed_puts_stand_where_their_timestamps_say() {
    let mut bench = Bench::new();
    bench.commit(&put_at(Level::ReadCommitted, 1), at(10));
    bench.commit(&put_at(Level::ReadCommitted, 2), at(5));
    let row = bench.replica.versions().row(cell(1).table, &cell(1).row).expect("it was put").latest().clone();
    let last = CellState::Scalar(Value::Int(1));
    assert_eq!(row.cell(cell(1).column), Some(&last), "the last by timestamp, and not by arrival");
}

#[test]
fn a_read_committed_put_stands_above_a_strict_one() {
    let mut bench = written();
    assert_eq!(bench.prepare(&put_at(Level::ReadCommitted, 2), at(5)), Prepared::Retry { above: at(10) });
}

#[test]
fn a_strict_put_stands_above_a_read_committed_one() {
    let mut bench = Bench::new();
    bench.commit(&put_at(Level::ReadCommitted, 1), at(10));
    assert_eq!(bench.prepare(&put(2, 1), at(5)), Prepared::Retry { above: at(10) });
}

#[test]
fn what_a_strict_transaction_read_is_not_put_below_it_at_any_level() {
    let mut bench = Bench::new();
    bench.commit(&reading(2, Timestamp::ZERO, vec![read(1)], vec![write(2, Operation::Add(1))]), at(5));
    assert_eq!(bench.prepare(&put_at(Level::ReadCommitted, 3), at(4)), Prepared::Retry { above: at(5) });
}

/// Else a read committed put would have to stand above it.
#[test]
fn a_replica_that_came_back_knows_the_levels_of_what_committed() {
    let mut bench = Bench::new();
    bench.commit(&put_at(Level::ReadCommitted, 1), at(10));
    bench.replica.begin_checkpoint();
    let chunks: Vec<_> = std::iter::from_fn(|| bench.replica.next_chunk(1 << 20)).collect();
    let records = std::mem::take(&mut bench.records);
    for (chunks, records) in [(Vec::new(), records), (chunks, Vec::new())] {
        bench.restart(&chunks, &records);
        assert_eq!(bench.replica.versions().logged_at(at(10)).map(|logged| logged.level), Some(Level::ReadCommitted));
    }
}
