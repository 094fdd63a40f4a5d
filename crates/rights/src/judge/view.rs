//! A row as a rule sees it, and the reads that a look at it rests on.
//!
//! Invariant: a value that the transaction itself sets rests on nothing.

use std::borrow::Cow;

use iolite_values::{
    Cell, CellState, ColumnId, Effect, Element, Field, KeyRange, KnownRow, Operation, Read, Row, Table, Value, Write,
};

use super::RowName;

#[derive(Clone)]
pub(super) struct View<'a> {
    pub(super) table: &'a Table,
    pub(super) name: RowName,
    pub(super) row: Cow<'a, Row>,
    /// The transaction's writes that are in it.
    pub(super) writes: &'a [Write],
}

/// A value, if it is there, and the reads that it rests on.
#[derive(Clone, Debug)]
pub(super) struct Seen<T> {
    pub(super) value: Option<T>,
    pub(super) reads: Vec<Read>,
}

impl<T> Seen<T> {
    pub(super) fn constant(value: Option<T>) -> Seen<T> {
        Seen { value, reads: Vec::new() }
    }
}

impl View<'_> {
    /// Whether the row is there for queries.
    pub(super) fn is_there(&self) -> bool {
        self.row.exists() || self.table.live && !self.row.is_empty()
    }

    /// The reads that say whether it is there.
    pub(super) fn presence(&self) -> Vec<Read> {
        if self.knows(ColumnId::ROW) {
            return Vec::new();
        }
        if self.table.live {
            return vec![Read::Range { table: self.name.table, range: KeyRange::one(&self.name.key) }];
        }
        vec![self.read(ColumnId::ROW, Element::Whole)]
    }

    /// Whether a read of one of its cells is among these, which tells of its life, too. In a live table it does not.
    pub(super) fn has_cell_among(&self, reads: &[Read]) -> bool {
        let is_own = |cell: &Cell| cell.table == self.name.table && cell.row == self.name.key;
        !self.table.live && reads.iter().any(|read| matches!(read, Read::Cell { cell, element: _ } if is_own(cell)))
    }

    /// The value of a column, if the row is there. Rows of live tables always are.
    pub(super) fn value(&self, column: &str) -> Seen<Value> {
        let Some(field) = self.table.field(column) else { return Seen::constant(None) };
        if !self.row.exists() && !self.table.live {
            return Seen { value: None, reads: self.presence() };
        }
        let value = Some(field.value(&self.name.key, &self.row).into_owned());
        Seen { value, reads: self.reads_of(&field) }
    }

    /// Whether a column that is a set has this member.
    pub(super) fn has_member(&self, column: &str, member: &Value) -> Seen<bool> {
        let Some(field @ Field::Cell { column: number, absent: _ }) = self.table.field(column) else {
            return Seen::constant(None);
        };
        if !self.row.exists() && !self.table.live {
            return Seen { value: None, reads: self.presence() };
        }
        let members = match self.row.cell(number) {
            Some(CellState::Set(members)) => Some(members),
            Some(_) | None => None,
        };
        let has = members.is_some_and(|members| members.contains(member));
        let reads = if self.knows(number) {
            self.reads_of(&field)
        } else if self.sets_member(number, member) {
            self.presence()
        } else {
            vec![self.read(number, Element::Member(member.clone()))]
        };
        Seen { value: Some(has), reads }
    }

    fn reads_of(&self, field: &Field) -> Vec<Read> {
        match field.column() {
            // A change of its life is a change of the cell, too.
            Some(column) if !self.knows(column) => vec![self.read(column, Element::Whole)],
            Some(_) | None if self.table.live => Vec::new(),
            Some(_) | None => self.presence(),
        }
    }

    fn read(&self, column: ColumnId, element: Element) -> Read {
        Read::Cell { cell: Cell { table: self.name.table, row: self.name.key.clone(), column }, element }
    }

    /// Whether the writes tell all of a column, whatever was there.
    fn knows(&self, column: ColumnId) -> bool {
        KnownRow::of(self.writes).is_known(column)
    }

    fn sets_member(&self, column: ColumnId, member: &Value) -> bool {
        self.writes.iter().filter(|write| write.cell.column == column).any(|write| match &write.operation {
            Operation::Insert(value) | Operation::Remove(value) => value == member,
            // Of an effect it is not known whether another one stands above it.
            Operation::Merge(effect) => matches!(&**effect, Effect::Insert { value, mark: _ } if value == member),
            Operation::Create
            | Operation::Delete
            | Operation::Put(_)
            | Operation::Assign(_)
            | Operation::Add(_)
            | Operation::PutTotal(_)
            | Operation::Append { .. }
            | Operation::SetAt { .. }
            | Operation::PutEntry { .. }
            | Operation::RemoveEntry { .. }
            | Operation::Edit(_) => false,
        })
    }
}
