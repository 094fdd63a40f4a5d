//! What the app's closures are written against: a transaction of a client, or the checker's model.

use std::sync::Arc;

use iolite_client::{Content, Question, RunError, Transaction};
use iolite_values::{Cell, CellState, ColumnId, KeyRange, Operation, Row, RowKey, TableId, Value};

/// Why a closure ends early.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// Data is missing: the run does not count.
    Missing,
    /// The app gives up.
    Abort(String),
}

/// Reads and writes of a closure.
pub trait Handle {
    fn row(&mut self, table: TableId, key: &RowKey) -> Result<Option<Row>, Stop>;
    fn exists(&mut self, table: TableId, key: &RowKey) -> Result<bool, Stop>;
    fn cell(&mut self, cell: &Cell) -> Result<Option<CellState>, Stop>;
    fn contains(&mut self, cell: &Cell, value: &Value) -> Result<bool, Stop>;
    fn entry(&mut self, cell: &Cell, key: &Arc<str>) -> Result<Option<Value>, Stop>;
    fn element(&mut self, cell: &Cell, index: u32) -> Result<Option<Value>, Stop>;
    /// What a text says.
    fn text(&mut self, cell: &Cell) -> Result<String, Stop>;
    fn range(
        &mut self,
        table: TableId,
        range: &KeyRange,
        limit: Option<usize>,
        reverse: bool,
    ) -> Result<Vec<(RowKey, Row)>, Stop>;
    fn ask(&mut self, table: TableId, question: &Question) -> Result<Vec<(RowKey, Row)>, Stop>;
    fn write(&mut self, cell: Cell, operation: Operation) -> Result<(), Stop>;
    fn insert(&mut self, table: TableId, key: &RowKey, content: Content) -> Result<(), Stop>;
    fn delete(&mut self, table: TableId, key: &RowKey) -> Result<(), Stop>;
}

/// A cell by names.
pub fn cell(table: &str, key: &[i64], column: &str) -> Cell {
    Cell { table: TableId::of(table), row: row_key(key), column: ColumnId::of(column) }
}

pub fn row_key(key: &[i64]) -> RowKey {
    let values: Vec<Value> = key.iter().map(|part| Value::Int(*part)).collect();
    RowKey::new(&values).expect("integers are keys")
}

/// From one key to before another.
pub fn between(lower: &[i64], upper: &[i64]) -> KeyRange {
    KeyRange { lower: row_key(lower).as_bytes().into(), upper: Some(row_key(upper).as_bytes().into()) }
}

/// A closure that runs in a client.
pub struct InClient<'a>(pub Transaction<'a>);

fn stop(error: RunError) -> Stop {
    match error {
        RunError::Stopped => Stop::Missing,
        other => Stop::Abort(reason(&other)),
    }
}

/// What the app says of an error, without what only one of the two handles knows.
fn reason(error: &RunError) -> String {
    match error {
        RunError::RowMissing { .. } => "no such row".into(),
        RunError::RowExists { .. } => "the row exists".into(),
        RunError::IndexMissing { .. } => "no such element".into(),
        RunError::Stopped
        | RunError::ColumnMissing { .. }
        | RunError::ReadOnly
        | RunError::NotDelivered { .. }
        | RunError::LogNotJoined { .. }
        | RunError::OfALog { .. }
        | RunError::NotOfThisLog { .. }
        | RunError::TooLarge { .. }
        | RunError::TooLong { .. }
        | RunError::NoEdit(_)
        | RunError::Question(_)
        | RunError::Invalid(_) => error.to_string(),
    }
}

impl Handle for InClient<'_> {
    fn row(&mut self, table: TableId, key: &RowKey) -> Result<Option<Row>, Stop> {
        self.0.row(table, key).map_err(stop)
    }

    fn exists(&mut self, table: TableId, key: &RowKey) -> Result<bool, Stop> {
        self.0.exists(table, key).map_err(stop)
    }

    fn cell(&mut self, cell: &Cell) -> Result<Option<CellState>, Stop> {
        self.0.cell(cell).map_err(stop)
    }

    fn contains(&mut self, cell: &Cell, value: &Value) -> Result<bool, Stop> {
        self.0.contains(cell, value).map_err(stop)
    }

    fn entry(&mut self, cell: &Cell, key: &Arc<str>) -> Result<Option<Value>, Stop> {
        self.0.entry(cell, key).map_err(stop)
    }

    fn element(&mut self, cell: &Cell, index: u32) -> Result<Option<Value>, Stop> {
        self.0.element(cell, index).map_err(stop)
    }

    fn text(&mut self, cell: &Cell) -> Result<String, Stop> {
        self.0.text(cell).map_err(stop)
    }

    fn range(
        &mut self,
        table: TableId,
        range: &KeyRange,
        limit: Option<usize>,
        reverse: bool,
    ) -> Result<Vec<(RowKey, Row)>, Stop> {
        self.0.range(table, range, limit, reverse).map_err(stop)
    }

    fn ask(&mut self, table: TableId, question: &Question) -> Result<Vec<(RowKey, Row)>, Stop> {
        self.0.ask(table, question).map_err(stop)
    }

    fn write(&mut self, cell: Cell, operation: Operation) -> Result<(), Stop> {
        self.0.write(cell, operation).map_err(stop)
    }

    fn insert(&mut self, table: TableId, key: &RowKey, content: Content) -> Result<(), Stop> {
        self.0.insert(table, key, content).map_err(stop)
    }

    fn delete(&mut self, table: TableId, key: &RowKey) -> Result<(), Stop> {
        self.0.delete(table, key).map_err(stop)
    }
}
