//! The answer to a query that was read for a session and is not sent yet.
//!
//! Invariant: as of the feed's position it has all answers of the query, whole, but for rows that are lacking: they were changed while it was read, and have
//! to be read for it is not known what they held.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use iolite_store::RowAt;
use iolite_values::{KeyRange, Query, Read, Row, RowKey, Write, disturbs};
use iolite_wire::message::{RowSnapshot, Snapshot, SubscriptionId};

use crate::following::queries::{apply_all, whole_after};
use crate::following::reading::{Extent, Wanted};

#[derive(Debug)]
pub struct Answer {
    /// In the range to which the answer reaches.
    query: Arc<Query>,
    reaches: Option<KeyRange>,
    rows: BTreeMap<RowKey, Row>,
    lacking: BTreeSet<RowKey>,
    /// Since it was read.
    is_changed: bool,
}

impl Answer {
    /// From the rows that were read, and all changes since then.
    pub fn new(asked: &Arc<Query>, wanted: Wanted, changes: &[Write]) -> Answer {
        let reaches = reaches(asked, &wanted);
        let query = reaches.as_ref().map_or_else(|| asked.clone(), |range| Arc::new(asked.with_range(range.clone())));
        let rows = wanted.rows.into_iter().map(|RowAt { key, row, .. }| (key, row)).collect();
        let mut own = Answer { query, reaches, rows, lacking: BTreeSet::new(), is_changed: false };
        own.fold(changes);
        own
    }

    fn fold(&mut self, changes: &[Write]) {
        let mut by_row: BTreeMap<RowKey, Vec<Write>> = BTreeMap::new();
        let (table, keys) = (self.query.table, &self.query.keys);
        for write in changes.iter().filter(|own| own.cell.table == table && keys.contains(&own.cell.row)) {
            by_row.entry(write.cell.row.clone()).or_default().push(write.clone());
        }
        self.is_changed = !by_row.is_empty();
        let read = Read::Query(self.query.clone());
        for (key, writes) in by_row {
            if let Some(row) = self.rows.get_mut(&key) {
                apply_all(row, &writes);
            } else if let Some(row) = whole_after(&writes) {
                self.rows.insert(key, row);
            } else if disturbs(&writes, &read) {
                self.lacking.insert(key);
            }
        }
        self.rows.retain(|key, row| self.query.selects(key, row));
    }

    pub fn query(&self) -> &Arc<Query> {
        &self.query
    }

    pub fn rows(&self) -> &BTreeMap<RowKey, Row> {
        &self.rows
    }

    pub fn lacking(&self) -> &BTreeSet<RowKey> {
        &self.lacking
    }

    pub fn is_whole(&self) -> bool {
        self.lacking.is_empty()
    }

    /// Whether any row changed that may be one of its answers, since it was read.
    pub fn is_changed(&self) -> bool {
        self.is_changed
    }

    /// Of a row that is, or was, an answer.
    pub fn change(&mut self, write: &Write) {
        self.is_changed = true;
        if let Some(row) = self.rows.get_mut(&write.cell.row) {
            apply_all(row, [write]);
        }
    }

    pub fn enter(&mut self, row: RowSnapshot) {
        self.is_changed = true;
        self.rows.insert(row.key, row.row);
    }

    pub fn found(&mut self, key: &RowKey) {
        self.lacking.remove(key);
    }

    /// Without what is no answer any more.
    pub fn snapshot(self, subscription: SubscriptionId) -> Snapshot {
        let Answer { query, reaches, rows, lacking: _, is_changed: _ } = self;
        let rows = rows.into_iter().filter(|(key, row)| query.selects(key, row));
        let row = |(key, row)| RowSnapshot { table: query.table, key, row };
        Snapshot { subscription, rows: rows.map(row).collect(), reaches: reaches.map(Box::new) }
    }
}

/// The part of the range that the rows are all answers of, if it is not the whole one.
fn reaches(asked: &Query, wanted: &Wanted) -> Option<KeyRange> {
    let Extent::First(first) = wanted.extent else { return None };
    Some(match wanted.rows.last() {
        Some(last) => asked.range.ending_with(asked.index_key(&last.key, &last.row).as_bytes(), first.direction),
        None => KeyRange { lower: asked.range.lower.clone(), upper: Some(asked.range.lower.clone()) },
    })
}
