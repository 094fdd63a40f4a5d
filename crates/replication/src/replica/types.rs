//! Whether every operation of a transaction fits the type of its cell.
//!
//! Gateways check against the schema before; this holds even when they did not, or with another schema. It is asked only of transactions that
//! stand above everything that they conflict with, and operations of different types conflict: so the latest state tells the type.

use std::collections::BTreeMap;

use iolite_store::Refusal;
use iolite_values::{CellState, ColumnId, MergedState, Operation, RowKey, TableId, TypeMismatch, Write};

use super::Replica;

impl Replica {
    pub(super) fn check_types(&self, writes: &[Write]) -> Result<(), Refusal> {
        // The types that the transaction itself gave to cells, row by row; none of the row's old cells count once its life changed.
        let mut given: BTreeMap<(TableId, &RowKey), Given> = BTreeMap::new();
        for write in writes {
            let cell = &write.cell;
            let row = given.entry((cell.table, &cell.row)).or_default();
            let wants = CellState::empty_for(&write.operation).name();
            let (before, emptied) = (row.cells.get(&cell.column).copied(), row.emptied);
            if cell.column == ColumnId::ROW && write.operation.is_of_life() {
                *row = Given { emptied: true, cells: BTreeMap::new() };
            }
            let is = before.or_else(|| match (cell.column, emptied) {
                (ColumnId::ROW, false) => Some(self.type_of_life(cell.table, &cell.row, &write.operation)),
                (ColumnId::ROW, true) => Some(CellState::Row(false).name()),
                (_, true) => None,
                (_, false) => self.type_of(cell.table, &cell.row, cell.column),
            });
            if let Some(is) = is.filter(|is| *is != wants) {
                return Err(Refusal::Type { cell: cell.clone(), mismatch: TypeMismatch { is, wants } });
            }
            row.cells.insert(cell.column, wants);
        }
        Ok(())
    }

    fn type_of(&self, table: TableId, row: &RowKey, column: ColumnId) -> Option<&'static str> {
        Some(self.versions.row(table, row)?.latest().stored(column)?.name())
    }

    /// The type of a row's life. One that does not exist takes an insertion of either type.
    fn type_of_life(&self, table: TableId, row: &RowKey, operation: &Operation) -> &'static str {
        let plain = CellState::Row(false).name();
        let Some(row) = self.versions.row(table, row) else { return plain_or_merging(operation) };
        match row.latest() {
            latest if latest.lives().is_some() => MergedState::OF_ROWS,
            latest if latest.exists() => plain,
            _ => plain_or_merging(operation),
        }
    }
}

/// The type of the life that an operation begins; of one that begins none, a plain row's.
fn plain_or_merging(operation: &Operation) -> &'static str {
    match operation {
        Operation::Merge(effect) if effect.is_of_lives() => MergedState::OF_ROWS,
        Operation::Merge(_)
        | Operation::Create
        | Operation::Delete
        | Operation::Put(_)
        | Operation::Assign(_)
        | Operation::Add(_)
        | Operation::PutTotal(_)
        | Operation::Insert(_)
        | Operation::Remove(_)
        | Operation::Append { .. }
        | Operation::SetAt { .. }
        | Operation::PutEntry { .. }
        | Operation::RemoveEntry { .. }
        | Operation::Edit(_) => CellState::Row(false).name(),
    }
}

#[derive(Default)]
struct Given {
    emptied: bool,
    cells: BTreeMap<ColumnId, &'static str>,
}
