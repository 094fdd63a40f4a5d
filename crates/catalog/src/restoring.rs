//! The mark of a store that a backup is being restored into.
//!
//! Invariant: from before the first row is restored until all are there and were compared, the mark stands in the catalog. Whoever serves reads
//! the catalog first, so a store that is half restored is served by nobody.

use iolite_store::RowAt;
use iolite_values::{Cell, CellState, ColumnId, Id, Operation, RowKey, Value, Write};

use crate::Catalog;

const BACKUP: &str = "backup";

/// No version has this key.
fn key() -> RowKey {
    RowKey::new(&[Value::from("restoring")]).expect("a word is a key")
}

fn row() -> Cell {
    Cell::row(Catalog::table(), key())
}

/// The writes that begin the restoring of a backup.
pub fn begin_restoring(backup: Id) -> Vec<Write> {
    let cell = Cell { column: ColumnId::of(BACKUP), ..row() };
    let writes = [(row(), Operation::Create), (cell, Operation::Put(Value::Id(backup)))];
    writes.into_iter().map(|(cell, operation)| Write { cell, operation }).collect()
}

/// The writes that end it.
pub fn end_restoring() -> Vec<Write> {
    vec![Write { cell: row(), operation: Operation::Delete }]
}

/// The backup that is being restored, if this row of the catalog is the mark.
pub fn restoring(row: &RowAt) -> Option<Id> {
    match row.row.cell(ColumnId::of(BACKUP)) {
        Some(CellState::Scalar(Value::Id(backup))) if row.table == Catalog::table() && row.key == key() => {
            Some(*backup)
        }
        Some(_) | None => None,
    }
}
