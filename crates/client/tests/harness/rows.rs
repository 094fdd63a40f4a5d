//! Names, rows and writes of the tests' schema, in short.

use iolite_client::Content;
use iolite_values::{Cell, CellState, ColumnId, Operation, Row, RowKey, TableId, Timestamp, Value, Write};

pub fn at(micros: u64) -> Timestamp {
    Timestamp::end_of(micros)
}

pub fn key(id: i64) -> RowKey {
    RowKey::new(&[Value::Int(id)]).expect("short")
}

pub fn notes() -> TableId {
    TableId::of("notes")
}

pub fn note(id: i64, column: &str) -> Cell {
    Cell { table: notes(), row: key(id), column: ColumnId::of(column) }
}

pub fn hits(id: i64) -> Cell {
    Cell { table: TableId::of("hits"), row: key(id), column: ColumnId::of("value") }
}

pub fn hit(id: i64, amount: i64) -> Write {
    Write { cell: hits(id), operation: Operation::Add(amount) }
}

pub fn note_row(title: &str, votes: i64) -> Row {
    let cells = [
        (ColumnId::of("title"), CellState::Scalar(Value::from(title))),
        (ColumnId::of("votes"), CellState::Counter(votes)),
    ];
    Row::from_parts(true, cells)
}

/// What a note is inserted with.
pub fn titled(title: &str) -> Content {
    [(ColumnId::of("title"), vec![Operation::Put(Value::from(title))])].into()
}

pub fn title_put(id: i64, title: &str) -> Write {
    Write { cell: note(id, "title"), operation: Operation::Put(Value::from(title)) }
}
