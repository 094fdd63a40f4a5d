//! The rows that a cache holds, and about how much memory they take.
//!
//! Invariants: `bytes` is the sum of what the rows count; no row is empty.

use std::collections::BTreeMap;

use iolite_values::{Row, Write, apply_and_count, row_footprint};

use super::RowId;

#[derive(Debug, Default)]
pub(super) struct HeldRows {
    rows: BTreeMap<RowId, Row>,
    bytes: usize,
}

impl HeldRows {
    pub(super) fn new(rows: BTreeMap<RowId, Row>) -> HeldRows {
        let bytes = total(&rows);
        HeldRows { rows, bytes }
    }

    pub(super) fn rows(&self) -> &BTreeMap<RowId, Row> {
        &self.rows
    }

    pub(super) fn get(&self, id: &RowId) -> Option<&Row> {
        self.rows.get(id)
    }

    /// About so much memory they take, rather more than less.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// A row is this now. An empty one is not held.
    pub(super) fn put(&mut self, id: RowId, row: Row) {
        self.remove(&id);
        if !row.is_empty() {
            self.bytes += row_footprint(&id.1, &row);
            self.rows.insert(id, row);
        }
    }

    pub(super) fn remove(&mut self, id: &RowId) -> Option<Row> {
        let row = self.rows.remove(id)?;
        self.bytes -= row_footprint(&id.1, &row);
        Some(row)
    }

    /// Applies an operation to a row. One of another type than its cell changes nothing.
    pub(super) fn apply(&mut self, id: &RowId, write: &Write) {
        let column = write.cell.column;
        let Some(row) = self.rows.get_mut(id) else {
            let mut row = Row::default();
            let _ = row.apply(column, &write.operation);
            return self.put(id.clone(), row);
        };
        if let Ok(growth) = apply_and_count(row, column, &write.operation) {
            self.bytes = self.bytes.checked_add_signed(growth).expect("a row counts no less than what it loses");
        }
        if row.is_empty() {
            self.remove(id);
        }
    }

    pub(super) fn clear(&mut self) -> impl Iterator<Item = RowId> + use<> {
        self.bytes = 0;
        std::mem::take(&mut self.rows).into_keys()
    }

    pub(super) fn validate(&self) {
        assert!(self.rows.values().all(|row| !row.is_empty()), "empty rows are not held");
        assert_eq!(self.bytes, total(&self.rows), "the rows count what they count one by one");
    }
}

fn total(rows: &BTreeMap<RowId, Row>) -> usize {
    rows.iter().map(|((_, key), row)| row_footprint(key, row)).sum()
}
