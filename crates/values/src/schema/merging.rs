//! Tables that merge: causal ones without conflicts.
//!
//! Invariant: every column of such a table is of a type whose effects commute. So any two transactions on it may come in any order, in any data centre.

use super::{Column, ColumnType, Consistency, Offline, OnConflict, Scalar, Schema, SchemaError, Table};
use crate::{Effect, TableId};

impl Schema {
    /// Whether a table is there, and merges.
    pub fn merges(&self, table: TableId) -> bool {
        self.table_by_id(table).is_some_and(Table::merges)
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
