//! Small transactions on few cells.

use std::ops::Bound;
use std::sync::Arc;

use iolite_logs::{Page, append_to};
use iolite_values::{
    Attempt, Cell, CellState, ClientId, ColumnId, Counter, Decision, Element, Field, Id, IndexRange, Level, LogId,
    LogPages, Operation, Query, Read, Row, RowKey, TableId, Timestamp, Transaction, TransactionId, Value, Write,
};
use iolite_wire::logs::LogEntry;

/// Where a cell, or a client's home, is: in the first shard, or in the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    First,
    Last,
}

const CELLS: ColumnId = ColumnId(7);

/// Clients from this one on live in the second shard.
pub const LAST_CLIENTS: u128 = 1 << 100;

fn cell(place: Place, row: i64) -> Cell {
    Cell { table: table(place), row: RowKey::new(&[Value::Int(row)]).expect("a number is a key"), column: CELLS }
}

fn table(place: Place) -> TableId {
    match place {
        Place::First => TableId(1),
        Place::Last => TableId(u32::MAX),
    }
}

pub fn reads(place: Place) -> Read {
    Read::Cell { cell: cell(place, 1), element: Element::Whole }
}

/// The rows of the first place that hold a one.
pub fn asks() -> Read {
    let index = vec![Field::Cell { column: CELLS, absent: Value::Null }];
    let ones = IndexRange::new(&[Value::Int(1)], Bound::Unbounded, Bound::Unbounded);
    Read::Query(Arc::new(Query { index, range: ones.range, ..Query::all(table(Place::First), true) }))
}

pub fn writes(place: Place, value: i64) -> Write {
    writes_row(place, 1, value)
}

pub fn writes_row(place: Place, row: i64, value: i64) -> Write {
    Write { cell: cell(place, row), operation: Operation::Put(Value::Int(value)) }
}

/// The first page of a log, which is there and empty.
pub fn first_page() -> Write {
    let key = log().page(0).expect("the key is short");
    Write { cell: Cell::row(LogPages::table(), key), operation: Operation::Create }
}

fn log() -> LogId {
    LogId::new("log", &Value::Int(1)).expect("the key is short")
}

/// An append to that page, which is turned with so many entries.
pub fn append(number: u8, entries_max: usize, reads: bool) -> Transaction {
    let entry = LogEntry {
        origin: None,
        counter: Counter(1),
        called_at_micros: 0,
        seed: [number; 16],
        operation: "operation".into(),
        version: 0,
        arguments: "{}".into(),
        turns: false,
    };
    let row = Row::from_parts(true, <[(ColumnId, CellState); 0]>::default());
    let page = Page::of(Some(&row)).turned_with(entries_max);
    let (read, writes) = append_to(&log(), 0, page, entry).expect("it is small");
    transaction(number, Place::First, if reads { &read } else { &[] }, &writes)
}

/// The only transaction of its client, which saw the world's beginning.
pub fn transaction(number: u8, home: Place, reads: &[Read], writes: &[Write]) -> Transaction {
    let client = match home {
        Place::First => u128::from(number) + 1,
        Place::Last => LAST_CLIENTS + u128::from(number) + 1,
    };
    Transaction {
        id: TransactionId { client: ClientId(Id::from_u128(client)), counter: Counter(1) },
        attempt: Attempt(1),
        snapshot: Timestamp::ZERO,
        reads: reads.to_vec(),
        decision: Decision::Commit(writes.to_vec()),
        level: Level::Strict,
    }
}
