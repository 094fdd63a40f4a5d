//! What writes to one row tell of it, whatever it held.

use std::collections::{BTreeMap, BTreeSet};

use crate::{ColumnId, Effect, Operation, Row, Value, Write};

/// What is known of a row from a transaction's writes to it alone.
#[derive(Default, Debug)]
pub struct KnownRow<'a> {
    /// As far as it is known.
    pub(super) row: Row,
    /// The row was created or deleted, so all of it is known.
    pub(super) whole: bool,
    /// Its lives changed, so it may exist although nothing of it was set, and its counters may count others.
    pub(super) revived: bool,
    pub(super) set: BTreeSet<ColumnId>,
    /// Changed, and it is not known to what.
    pub(super) changed: BTreeSet<ColumnId>,
    /// Members of sets of which not all is known.
    pub(super) members: BTreeMap<(ColumnId, &'a Value), bool>,
}

impl<'a> KnownRow<'a> {
    /// After these writes, all to one row.
    pub fn of(writes: &'a [Write]) -> KnownRow<'a> {
        let mut known = KnownRow::default();
        writes.iter().for_each(|write| known.take(write));
        known
    }

    pub(super) fn take(&mut self, write: &'a Write) {
        let (column, operation) = (write.cell.column, &write.operation);
        match operation {
            Operation::Create | Operation::Delete if column == ColumnId::ROW => {
                *self = KnownRow { row: std::mem::take(&mut self.row), whole: true, ..KnownRow::default() };
                // Whatever it held, it holds nothing now.
                let _ = self.row.apply(column, operation);
            }
            Operation::Merge(effect) => self.merge(column, effect),
            Operation::Put(_) | Operation::Assign(_) | Operation::PutTotal(_) => self.apply(column, operation),
            _ if self.whole || self.set.contains(&column) => self.apply(column, operation),
            Operation::Insert(member) => drop(self.members.insert((column, member), true)),
            Operation::Remove(member) => drop(self.members.insert((column, member), false)),
            Operation::Create
            | Operation::Delete
            | Operation::Add(_)
            | Operation::Append { .. }
            | Operation::SetAt { .. }
            | Operation::PutEntry { .. }
            | Operation::RemoveEntry { .. }
            | Operation::Edit(_) => drop(self.changed.insert(column)),
        }
    }

    /// An effect tells nothing but what it concerns: others may stand above it.
    fn merge(&mut self, column: ColumnId, effect: &'a Effect) {
        match effect {
            Effect::Touch { .. } | Effect::Bury { .. } => self.revived = true,
            Effect::Insert { value, mark: _ } => drop(self.members.insert((column, value), true)),
            Effect::Add { .. } | Effect::Assign { .. } | Effect::Remove { .. } => drop(self.changed.insert(column)),
        }
    }

    fn apply(&mut self, column: ColumnId, operation: &Operation) {
        self.changed.remove(&column);
        self.set.insert(column);
        // An operation of another type changes nothing, here as in the store.
        let _ = self.row.apply(column, operation);
    }

    /// As far as it is known.
    pub fn row(&self) -> &Row {
        &self.row
    }

    /// Whether all that a column holds is known.
    pub fn is_known(&self, column: ColumnId) -> bool {
        self.whole || self.set.contains(&column)
    }

    /// Whether something was written to a column since the row was created or deleted, if it was.
    pub fn is_written(&self, column: ColumnId) -> bool {
        let of_members = || self.members.keys().any(|(own, _)| *own == column);
        self.set.contains(&column) || self.changed.contains(&column) || of_members()
    }
}
