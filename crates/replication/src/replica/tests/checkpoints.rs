//! Checkpoints that are written while the replica works.

use iolite_values::{CellState, ColumnId, Operation, Value};

use super::bench::{Bench, add, at, blind, cell, committed, write};

fn value(bench: &Bench, row: i64) -> Option<CellState> {
    bench.replica.versions().row(cell(row).table, &cell(row).row)?.latest().cell(cell(row).column).cloned()
}

fn rest(bench: &mut Bench, bytes_max: usize) -> Vec<Vec<u8>> {
    std::iter::from_fn(|| bench.replica.next_chunk(bytes_max)).collect()
}

#[test]
fn a_checkpoint_and_the_records_since_are_the_state() {
    let mut bench = Bench::new();
    for counter in 1..=9 {
        bench.commit(&add(counter, counter as i64 % 4), at(counter));
    }
    bench.close(at(5));
    bench.replica.begin_checkpoint();
    let begun = bench.records.len();
    let mut chunks = Vec::new();
    for counter in 10..=40 {
        chunks.extend(bench.replica.next_chunk(1));
        bench.commit(&add(counter, counter as i64 % 4), at(counter));
    }
    chunks.extend(rest(&mut bench, 1));
    assert!(chunks.len() > 20, "in small parts: {}", chunks.len());
    let before: Vec<_> = (0..4).map(|row| value(&bench, row)).collect();
    let since = bench.records[begun..].to_vec();
    bench.restart(&chunks, &since);
    let after: Vec<_> = (0..4).map(|row| value(&bench, row)).collect();
    assert_eq!(after, before);
    for counter in 1..=40 {
        assert_eq!(bench.prepare(&add(counter, 0), at(100)), committed(1, at(counter)));
    }
}

#[test]
fn a_row_that_is_forgotten_while_commits_are_written_stays_forgotten() {
    let mut bench = Bench::new();
    bench.commit(&blind(1, vec![write(1, Operation::Put(Value::Null))]), at(1));
    let mut delete = write(1, Operation::Delete);
    delete.cell.column = ColumnId::ROW;
    bench.commit(&blind(2, vec![delete]), at(2));
    bench.replica.begin_checkpoint();
    let begun = bench.records.len();
    let mut chunks: Vec<_> = bench.replica.next_chunk(1).into_iter().collect();
    bench.close(at(1_100));
    chunks.extend(rest(&mut bench, 1));
    let since = bench.records[begun..].to_vec();
    bench.restart(&chunks, &since);
    assert_eq!(value(&bench, 1), None);
}

#[test]
fn collected_history_is_not_in_the_checkpoint() {
    let mut bench = Bench::new();
    for counter in 1..=20 {
        bench.commit(&add(counter, 1), at(counter));
    }
    bench.replica.begin_checkpoint();
    let whole = rest(&mut bench, 1 << 20).iter().map(Vec::len).sum::<usize>();
    bench.close(at(1_100));
    bench.replica.begin_checkpoint();
    let chunks = rest(&mut bench, 1 << 20);
    assert!(chunks.iter().map(Vec::len).sum::<usize>() < whole);
    bench.restart(&chunks, &[]);
    assert_eq!(value(&bench, 1), Some(CellState::Counter(20)));
    assert_eq!(bench.replica.low_watermark(), at(20));
}
