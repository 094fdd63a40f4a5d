//! Rows as pending writes leave them, on top of others.
//!
//! Invariant: a row that is here hides the row below it, so it is complete as far as the row below was.

use std::collections::{BTreeMap, BTreeSet};

use iolite_values::{KeyRange, Operation, Row, RowKey, TableId, TypeMismatch, Write};

use crate::cache::{Cache, RowId, range_of};

#[derive(Clone, Debug, Default)]
pub(crate) struct Overlay {
    rows: BTreeMap<RowId, Row>,
    /// Rows that were created or deleted here, so that all of them is known.
    made: BTreeSet<RowId>,
    /// How many mutations that were put here whole wrote each row.
    writers: BTreeMap<RowId, usize>,
}

impl Overlay {
    /// Applies a write; `below` gives the row that the overlay stands on when it does not have it yet.
    ///
    /// # Errors
    /// [`TypeMismatch`], and the row is as before.
    pub(crate) fn apply<'a>(
        &mut self,
        write: &Write,
        below: impl FnOnce() -> Option<&'a Row>,
    ) -> Result<(), TypeMismatch> {
        let id = (write.cell.table, write.cell.row.clone());
        if matches!(write.operation, Operation::Create | Operation::Delete) {
            self.made.insert(id.clone());
        }
        let row = self.rows.entry(id).or_insert_with(|| below().cloned().unwrap_or_default());
        row.apply(write.cell.column, &write.operation)
    }

    /// Applies the writes of a mutation, on top of what is confirmed and of what was applied before.
    ///
    /// # Errors
    /// [`TypeMismatch`]: the writes before it were applied, those behind it were not.
    pub(crate) fn apply_all(&mut self, writes: &[Write], cache: &Cache) -> Result<(), TypeMismatch> {
        for id in rows_of(writes) {
            *self.writers.entry(id).or_default() += 1;
        }
        writes.iter().try_for_each(|write| self.apply(write, || cache.row(write.cell.table, &write.cell.row)))
    }

    /// `Some` when the overlay has the row, even if it is empty now.
    pub(crate) fn row(&self, table: TableId, key: &RowKey) -> Option<&Row> {
        let id = (table, key.clone());
        self.rows.get(&id)
    }

    /// Whether all of a row is known from what was done to it here.
    pub(crate) fn made(&self, id: &RowId) -> bool {
        self.made.contains(id)
    }

    pub(crate) fn range<'a>(
        &'a self,
        table: TableId,
        range: &KeyRange,
    ) -> impl DoubleEndedIterator<Item = (&'a RowKey, &'a Row)> + use<'a> {
        range_of(&self.rows, table, range)
    }

    /// What lies below holds these writes of the lowest mutation now: it is no layer of its own any more.
    pub(crate) fn sink(&mut self, writes: &[Write]) {
        for id in rows_of(writes) {
            let Some(writers) = self.writers.get_mut(&id) else { continue };
            *writers -= 1;
            if *writers == 0 {
                self.writers.remove(&id);
                self.rows.remove(&id);
                self.made.remove(&id);
            }
        }
    }

    pub(crate) fn clear(&mut self) {
        self.rows.clear();
        self.made.clear();
        self.writers.clear();
    }
}

fn rows_of(writes: &[Write]) -> BTreeSet<RowId> {
    writes.iter().map(|write| (write.cell.table, write.cell.row.clone())).collect()
}
