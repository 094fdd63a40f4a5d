//! Tables that merge: causal ones without conflicts.
//!
//! Invariant: every column of such a table is of a type whose effects commute. So any two transactions on it may come in any order, in any data centre.

use super::{Column, ColumnType, Consistency, Offline, OnConflict, OperationError, Scalar, Schema, SchemaError, Table};
use crate::{Cell, Effect, Operation, TableId};

impl Schema {
    /// Whether a table is there, and merges.
    pub fn merges(&self, table: TableId) -> bool {
        self.table_by_id(table).is_some_and(Table::merges)
    }

    /// Whether any table merges.
    pub fn any_merges(&self) -> bool {
        self.tables().any(|(_, table)| table.merges())
    }

    /// Whether an app may change a cell of a table that merges by a plain operation, of which its client makes an effect.
    ///
    /// # Errors
    /// [`OperationError::InsertedOnly`] for a scalar; otherwise as [`Schema::check_write`].
    pub fn check_change(&self, cell: &Cell, operation: &Operation) -> Result<(), OperationError> {
        self.check_content(cell, operation)?;
        let (name, table) = self.find(cell.table)?;
        let (column_name, column) = table.find_column(name, cell.column)?;
        match column.kind {
            ColumnType::Scalar(_) => {
                Err(OperationError::InsertedOnly { table: name.into(), column: column_name.into() })
            }
            ColumnType::Register(_)
            | ColumnType::Counter
            | ColumnType::Set(_)
            | ColumnType::List { .. }
            | ColumnType::Map(_)
            | ColumnType::Text => Ok(()),
        }
    }

    /// The same, of the first content of a row.
    ///
    /// # Errors
    /// As [`Schema::check_write`].
    pub fn check_content(&self, cell: &Cell, operation: &Operation) -> Result<(), OperationError> {
        let (name, table) = self.find(cell.table)?;
        table.check_key_of(name, &cell.row)?;
        let (column_name, column) = table.find_column(name, cell.column)?;
        let is_total = matches!(operation, Operation::PutTotal(_));
        if column.accepts(column.kind, operation) && !is_total {
            return Ok(());
        }
        Err(column.refuses(name, column_name, operation))
    }
}

impl Table {
    /// Whether its writes are effects, which conflict with nothing.
    pub fn merges(&self) -> bool {
        match self.consistency {
            Consistency::Causal { on_conflict: OnConflict::Merge { .. } } => true,
            Consistency::Strong
            | Consistency::Log { .. }
            | Consistency::Eventual
            | Consistency::Causal { on_conflict: OnConflict::Manual } => false,
        }
    }

    /// Whether a table that merges is one that can.
    pub(super) fn check_merging(&self, name: &str) -> Result<(), SchemaError> {
        if !self.merges() {
            return Ok(());
        }
        let wrong = [
            (self.live, "is not live: its rows are inserted"),
            (self.delivered, "has no delivered view: leave out `delivered`, or make it strong"),
            (self.offline == Offline::Refuse, "takes changes offline: leave out `offline`, or make it strong"),
        ];
        if let Some((_, problem)) = wrong.iter().find(|(is_wrong, _)| *is_wrong) {
            return Err(SchemaError::new(name, "", format!("a table that merges {problem}")));
        }
        let problems = self.columns.iter().filter_map(|(column, own)| Some((column, problem_of(own)?)));
        match problems.into_iter().next() {
            Some((column, problem)) => Err(SchemaError::new(name, column, problem)),
            None => Ok(()),
        }
    }
}

fn problem_of(column: &Column) -> Option<&'static str> {
    match column.kind {
        ColumnType::Scalar(Scalar::Blob) => Some(
            "a table that merges has no blobs, whose chunks are leased from one store: make the table onConflict \"manual\"",
        ),
        ColumnType::List { .. } => {
            Some("a table that merges has no lists, whose order is that of one store: make each element a row")
        }
        ColumnType::Map(_) => Some("maps that merge are not built yet: make each entry a row"),
        ColumnType::Text => Some("texts that merge are not built yet: take a register, or a strong table"),
        ColumnType::Scalar(_) | ColumnType::Register(_) | ColumnType::Counter | ColumnType::Set(_) => None,
    }
}

impl Column {
    /// Whether an effect is one of this column's type. A scalar is a register that only an insertion assigns.
    pub(super) fn merges(&self, effect: &Effect) -> bool {
        match (effect, self.kind) {
            (Effect::Add { .. }, ColumnType::Counter) => true,
            (Effect::Assign { stamp: _, value }, ColumnType::Scalar(of) | ColumnType::Register(of)) => {
                self.holds(of, value)
            }
            (Effect::Insert { value, mark: _ } | Effect::Remove { value, seen: _ }, ColumnType::Set(of)) => {
                of.holds(value)
            }
            (
                Effect::Add { .. }
                | Effect::Assign { .. }
                | Effect::Insert { .. }
                | Effect::Remove { .. }
                | Effect::Touch { .. }
                | Effect::Bury { .. },
                _,
            ) => false,
        }
    }
}
