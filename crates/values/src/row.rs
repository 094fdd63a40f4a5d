//! What a row holds: its cells, and whether it exists.
//!
//! Invariant: creating or deleting a row empties it, so nothing of an earlier row under the same key is ever seen.

use std::collections::BTreeMap;
use std::fmt;

use litemap::LiteMap;

use crate::{CellState, ColumnId, Operation, TypeMismatch};

/// The state of one row at one timestamp.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Row {
    exists: bool,
    cells: LiteMap<ColumnId, CellState>,
}

impl Row {
    /// What a cell takes beside its content.
    pub const CELL_BYTES: usize = 4;

    /// A row as a peer or a disk described it. Of two states of one cell the later one counts.
    pub fn from_parts(exists: bool, cells: impl IntoIterator<Item = (ColumnId, CellState)>) -> Row {
        Row { exists, cells: cells.into_iter().collect() }
    }

    /// Whether the row was created and not deleted since. (In a live table rows hold cells without existing in this sense.)
    pub fn exists(&self) -> bool {
        self.exists
    }

    pub fn cell(&self, column: ColumnId) -> Option<&CellState> {
        self.cells.get(&column)
    }

    pub fn cells(&self) -> impl Iterator<Item = (ColumnId, &CellState)> {
        self.cells.iter().map(|(column, state)| (*column, state))
    }

    pub fn into_cells(self) -> impl Iterator<Item = (ColumnId, CellState)> {
        self.cells.into_iter()
    }

    /// Never written, or deleted and not written since.
    pub fn is_empty(&self) -> bool {
        !self.exists && self.cells.is_empty()
    }

    /// # Errors
    /// [`TypeMismatch`], and the row is as before.
    pub fn apply(&mut self, column: ColumnId, operation: &Operation) -> Result<(), TypeMismatch> {
        if column == ColumnId::ROW {
            let mut life = CellState::Row(self.exists);
            life.apply(operation)?;
            *self = Row { exists: life == CellState::Row(true), cells: LiteMap::default() };
            return Ok(());
        }
        match self.cells.get_mut(&column) {
            Some(state) => state.apply(operation),
            None => {
                let mut state = CellState::empty_for(operation);
                state.apply(operation)?;
                self.cells.insert(column, state);
                Ok(())
            }
        }
    }

    /// Bytes of content, for limits and accounting.
    pub fn size_bytes(&self) -> usize {
        1 + self.cells.values().map(|state| Row::CELL_BYTES + state.size_bytes()).sum::<usize>()
    }
}

/// Its cells print as a map.
impl fmt::Debug for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cells: BTreeMap<_, _> = self.cells().collect();
        f.debug_struct("Row").field("exists", &self.exists).field("cells", &cells).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Value;

    #[test]
    fn a_row_that_is_created_again_remembers_nothing() {
        let column = ColumnId(7);
        let mut row = Row::default();
        row.apply(ColumnId::ROW, &Operation::Create).expect("a row operation");
        row.apply(column, &Operation::Put(Value::Int(1))).expect("a scalar");
        row.apply(ColumnId::ROW, &Operation::Delete).expect("a row operation");
        assert!(row.is_empty());
        row.apply(ColumnId::ROW, &Operation::Create).expect("a row operation");
        assert_eq!((row.exists(), row.cell(column)), (true, None));
    }

    #[test]
    fn a_mismatch_changes_nothing() {
        let mut row = Row::default();
        row.apply(ColumnId(7), &Operation::Add(2)).expect("a counter");
        let before = row.clone();
        assert!(row.apply(ColumnId(7), &Operation::Put(Value::Null)).is_err());
        assert_eq!(row, before);
        assert!(row.apply(ColumnId::ROW, &Operation::Add(1)).is_err());
        assert_eq!(row, before);
    }
}
