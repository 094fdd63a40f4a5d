//! Cells, the parts of them that operations touch, and what a reader asks for.

use std::sync::Arc;

use crate::{ColumnId, KeyRange, RowKey, TableId, Value};

/// One column of one row: the unit of conflict and of change.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Cell {
    pub table: TableId,
    pub row: RowKey,
    pub column: ColumnId,
}

impl Cell {
    /// The cell that says whether the row exists.
    pub fn row(table: TableId, row: RowKey) -> Cell {
        Cell { table, row, column: ColumnId::ROW }
    }
}

/// The part of a cell that was read.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Element {
    Whole,
    /// Whether a set holds this value.
    Member(Value),
    /// The entry of a map under this key.
    Entry(Arc<str>),
    /// The element of a list at an index below its length. (Lists only grow, so the index stays that element's.)
    Index(u32),
}

/// Something that a transaction read, and that validation watches.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Read {
    Cell {
        cell: Cell,
        element: Element,
    },
    /// All rows of a range with all their columns, and the absence of any others.
    Range {
        table: TableId,
        range: KeyRange,
    },
}

impl Read {
    /// What has to be subscribed to so that this read can be answered.
    pub fn interest(&self) -> Interest {
        match self {
            Read::Cell { cell, element: _ } => Interest::Cell(cell.clone()),
            Read::Range { table, range } => Interest::Range { table: *table, range: range.clone() },
        }
    }
}

/// What a client subscribes to: single cells, or all rows of a range with all their columns.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Interest {
    Cell(Cell),
    Range { table: TableId, range: KeyRange },
}

impl Interest {
    pub fn includes(&self, cell: &Cell) -> bool {
        match self {
            Interest::Cell(own) => own == cell,
            Interest::Range { table, range } => *table == cell.table && range.contains(&cell.row),
        }
    }

    /// Whether everything that `other` includes is included here.
    pub fn covers(&self, other: &Interest) -> bool {
        match (self, other) {
            (Interest::Range { table, range }, Interest::Range { table: other_table, range: other_range }) => {
                table == other_table && range.covers(other_range)
            }
            (own, Interest::Cell(cell)) => own.includes(cell),
            (Interest::Cell(_), Interest::Range { .. }) => false,
        }
    }

    pub fn table(&self) -> TableId {
        match self {
            Interest::Cell(cell) => cell.table,
            Interest::Range { table, .. } => *table,
        }
    }
}
