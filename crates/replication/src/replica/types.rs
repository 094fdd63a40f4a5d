//! Whether every operation of a transaction fits the type of its cell.
//!
//! Gateways check against the schema before; this holds even when they did not, or with another schema. It is asked only of transactions that
//! stand above everything that they conflict with, and operations of different types conflict: so the latest state tells the type.

use std::collections::BTreeMap;

use iolite_store::Refusal;
use iolite_values::{CellState, ColumnId, RowKey, TableId, TypeMismatch, Write};

use super::Replica;

impl Replica {
    pub(super) fn check_types(&self, writes: &[Write]) -> Result<(), Refusal> {
        // The types that the transaction itself gave to cells, row by row; none of the row's old cells count once its life changed.
        let mut given: BTreeMap<(TableId, &RowKey), Given> = BTreeMap::new();
        for write in writes {
            let cell = &write.cell;
            let row = given.entry((cell.table, &cell.row)).or_default();
            let wants = CellState::empty_for(&write.operation).name();
            if cell.column == ColumnId::ROW {
                *row = Given { emptied: true, cells: BTreeMap::new() };
            }
            let is = row.cells.get(&cell.column).copied().or_else(|| match (cell.column, row.emptied) {
                (ColumnId::ROW, _) => Some(CellState::Row(false).name()),
                (_, true) => None,
                (_, false) => self.type_of(cell.table, &cell.row, cell.column),
            });
            if let Some(is) = is.filter(|is| *is != wants) {
                return Err(Refusal::Type { cell: cell.clone(), mismatch: TypeMismatch { is, wants } });
            }
            if cell.column != ColumnId::ROW {
                row.cells.insert(cell.column, wants);
            }
        }
        Ok(())
    }

    fn type_of(&self, table: TableId, row: &RowKey, column: ColumnId) -> Option<&'static str> {
        Some(self.versions.row(table, row)?.latest().cell(column)?.name())
    }
}

#[derive(Default)]
struct Given {
    emptied: bool,
    cells: BTreeMap<ColumnId, &'static str>,
}
