//! Cells, the parts of them that operations touch, and what a reader asks for.

use std::sync::Arc;

use crate::{Author, ColumnId, KeyRange, Query, RowKey, TableId, Value};

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

    /// Whether an operation on `other` can change this cell: it is the same one, or the life of its row.
    pub fn is_changed_with(&self, other: &Cell) -> bool {
        let column = self.column == other.column || other.column == ColumnId::ROW;
        column && self.table == other.table && self.row == other.row
    }
}

/// The part of a cell that was read.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Element {
    Whole,
    /// Whether a set holds this value.
    Member(Value),
    /// The members of a set up to this one, which is the last of them, in their order.
    UpTo(Value),
    /// The entry of a map under this key.
    Entry(Arc<str>),
    /// The element of a list at an index below its length. (Lists only grow, so the index stays that element's.)
    Index(u32),
    /// The elements of a list from an index to before another, which is at most its length.
    Slice {
        from: u32,
        to: u32,
    },
    /// How many units of a text are this author's.
    Author(Author),
}

impl Element {
    /// About as many bytes as it takes to name it.
    pub fn size_bytes(&self) -> usize {
        match self {
            Element::Whole => 0,
            Element::Member(value) | Element::UpTo(value) => value.size_bytes(),
            Element::Entry(key) => key.len(),
            Element::Index(_) | Element::Author(_) => 4,
            Element::Slice { .. } => 8,
        }
    }
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
    /// That no row but those that were returned is an answer. Of these, what was read is named by reads of their own.
    Query(Arc<Query>),
}

impl Read {
    /// About as many bytes as it takes to name it.
    pub fn size_bytes(&self) -> usize {
        match self {
            Read::Cell { cell, element } => cell.row.as_bytes().len() + element.size_bytes(),
            Read::Range { table: _, range } => range.size_bytes(),
            Read::Query(query) => query.size_bytes(),
        }
    }

    pub fn table(&self) -> TableId {
        match self {
            Read::Cell { cell, element: _ } => cell.table,
            Read::Range { table, range: _ } => *table,
            Read::Query(query) => query.table,
        }
    }

    /// What has to be subscribed to so that this read can be answered.
    pub fn interest(&self) -> Interest {
        match self {
            Read::Cell { cell, element: _ } => Interest::Cell(cell.clone()),
            Read::Range { table, range } => Interest::Range { table: *table, range: range.clone() },
            Read::Query(query) => Interest::Query(query.clone()),
        }
    }
}

/// What a client subscribes to: single cells, all rows of a range with all their columns, or the answers of a query with all theirs.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Interest {
    Cell(Cell),
    Range { table: TableId, range: KeyRange },
    Query(Arc<Query>),
}

impl Interest {
    /// About as many bytes as it takes to name it.
    pub fn size_bytes(&self) -> usize {
        match self {
            Interest::Cell(cell) => cell.row.as_bytes().len(),
            Interest::Range { table: _, range } => range.size_bytes(),
            Interest::Query(query) => query.size_bytes(),
        }
    }

    /// Whether a change of a cell may concern it. A cell's interest includes the life of its row, because a row that is created or deleted is emptied; a
    /// query's every cell that may belong to an answer, for it takes the row to know.
    pub fn includes(&self, cell: &Cell) -> bool {
        match self {
            Interest::Cell(own) => own.is_changed_with(cell),
            Interest::Range { table, range } => *table == cell.table && range.contains(&cell.row),
            Interest::Query(query) => query.table == cell.table && query.keys.contains(&cell.row),
        }
    }

    /// Whether who has this whole has `other` whole.
    pub fn covers(&self, other: &Interest) -> bool {
        match (self, other) {
            (Interest::Range { table, range }, Interest::Range { table: other_table, range: other_range }) => {
                table == other_table && range.covers(other_range)
            }
            (Interest::Range { .. }, Interest::Cell(cell)) => self.includes(cell),
            (Interest::Cell(own), Interest::Cell(cell)) => own == cell,
            (Interest::Range { table, range }, Interest::Query(query)) => {
                *table == query.table && range.covers(&query.keys)
            }
            (Interest::Query(own), Interest::Query(query)) => own.covers(query),
            (Interest::Query(own), Interest::Range { table, range }) => {
                own.table == *table && own.has_all_rows() && own.row_keys().covers(range)
            }
            (Interest::Cell(_), Interest::Range { .. } | Interest::Query(_))
            | (Interest::Query(_), Interest::Cell(_)) => false,
        }
    }

    pub fn table(&self) -> TableId {
        match self {
            Interest::Cell(cell) => cell.table,
            Interest::Range { table, .. } => *table,
            Interest::Query(query) => query.table,
        }
    }
}
