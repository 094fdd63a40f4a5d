//! Rows as pending writes leave them, on top of others.
//!
//! Invariant: a row that is here hides the row below it, so it is complete as far as the row below was.

use std::collections::{BTreeMap, BTreeSet};

use iolite_values::{Interest, KeyRange, Operation, Row, RowKey, TableId, TypeMismatch, Write};

use crate::cache::{Cache, RowId, range_of};

#[derive(Clone, Debug, Default)]
pub(crate) struct Overlay {
    rows: BTreeMap<RowId, Row>,
    /// How often rows were created or deleted here, so that all of them is known.
    made: BTreeMap<RowId, usize>,
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
        if tells_all(&write.operation) {
            *self.made.entry(id.clone()).or_default() += 1;
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
        self.made.contains_key(id)
    }

    /// Whether one such row answers for all of an interest.
    pub(crate) fn makes(&self, interest: &Interest) -> bool {
        match interest {
            Interest::Cell(cell) => self.made.contains_key(&(cell.table, cell.row.clone())),
            Interest::Range { table, range } => {
                let first = self.made.range((*table, RowKey::bound(&range.lower))..).next();
                first.is_some_and(|((own, key), _)| own == table && KeyRange::one(key) == *range)
            }
            Interest::Query(_) => false,
        }
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
            if take_one(&mut self.writers, &id) {
                self.rows.remove(&id);
            }
        }
        for write in writes.iter().filter(|write| tells_all(&write.operation)) {
            take_one(&mut self.made, &(write.cell.table, write.cell.row.clone()));
        }
    }

    /// A row is this here, whatever lies below.
    pub(crate) fn put(&mut self, id: RowId, row: Row, is_whole: bool) {
        if is_whole {
            self.made.insert(id.clone(), 1);
        }
        self.rows.insert(id, row);
    }

    /// Takes a row out, so that the one below shows again.
    pub(crate) fn take(&mut self, id: &RowId) -> Option<Row> {
        self.made.remove(id);
        self.rows.remove(id)
    }

    pub(crate) fn rows(&self) -> impl Iterator<Item = (&RowId, &Row)> {
        self.rows.iter()
    }

    pub(crate) fn clear(&mut self) {
        self.rows.clear();
        self.made.clear();
        self.writers.clear();
    }
}

/// Whether all of a row is known after it, as far as its writer knew. A row that merges and was deleted is known for as long as it is held.
fn tells_all(operation: &Operation) -> bool {
    operation.is_of_life() || operation.creates()
}

/// Counts one less. Says whether that was the last.
fn take_one(counts: &mut BTreeMap<RowId, usize>, id: &RowId) -> bool {
    let Some(count) = counts.get_mut(id) else { return false };
    *count -= 1;
    let is_last = *count == 0;
    if is_last {
        counts.remove(id);
    }
    is_last
}

fn rows_of(writes: &[Write]) -> BTreeSet<RowId> {
    writes.iter().map(|write| (write.cell.table, write.cell.row.clone())).collect()
}

#[cfg(test)]
mod tests {
    use iolite_values::{Cell, ColumnId, Value};

    use super::*;

    /// Whoever reads it later has to hold it, or nobody would tell that it changed.
    #[test]
    fn a_row_is_made_here_for_as_long_as_the_mutation_that_made_it_is_above() {
        let (table, key) = (TableId(1), RowKey::new(&[Value::Int(1)]).expect("short"));
        let life = Write { cell: Cell::row(table, key.clone()), operation: Operation::Create };
        let column = ColumnId(7);
        let put = Write { cell: Cell { column, ..life.cell.clone() }, operation: Operation::Put(Value::Int(2)) };
        let (cache, mut overlay) = (Cache::default(), Overlay::default());
        let (made, changed) = ([life], [put]);
        overlay.apply_all(&made, &cache).expect("it fits");
        overlay.apply_all(&changed, &cache).expect("it fits");
        assert!(overlay.made(&(table, key.clone())));
        overlay.sink(&made);
        assert!(!overlay.made(&(table, key.clone())) && overlay.row(table, &key).is_some());
        overlay.sink(&changed);
        assert!(overlay.row(table, &key).is_none());
    }
}
