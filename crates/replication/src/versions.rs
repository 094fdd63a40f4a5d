//! Multi-version rows, and the log of recent commits that drives everything about them that has to do with time.
//!
//! Invariants:
//! - a row's latest state is its base with its history applied in timestamp order, and the history is what the log says of it;
//! - every commit above the low watermark is in the log, and none at or below it;
//! - the state at every timestamp from the low watermark on can be read;
//! - a secondary index says what the rows say.
//!
//! Source: multi-version timestamp ordering as in TAPIR (TOCS 2018) 5.1; operations instead of values after Zhang 2017, 3.4.

mod answers;
mod checkpoint;
mod collect;
mod indexes;
mod landmarks;
mod late;
mod log;
mod logged;
mod read;
mod row;

use std::collections::BTreeMap;
use std::sync::Arc;

use iolite_values::{RowKey, TableId, Timestamp, TypeMismatch, Write};

pub use collect::Retention;
pub use indexes::INDEXES_MAX;
use indexes::Indexes;
pub use logged::Logged;
pub use row::{Version, VersionedRow};

/// All rows of a replica.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Versions {
    tables: BTreeMap<TableId, BTreeMap<RowKey, VersionedRow>>,
    recent: BTreeMap<Timestamp, Logged>,
    low_watermark: Timestamp,
    indexes: Indexes,
    /// Operations in all histories.
    history_operations: usize,
}

impl Versions {
    pub fn low_watermark(&self) -> Timestamp {
        self.low_watermark
    }

    /// Operations above the low watermark.
    pub fn history_operations(&self) -> usize {
        self.history_operations
    }

    pub fn row(&self, table: TableId, key: &RowKey) -> Option<&VersionedRow> {
        self.tables.get(&table)?.get(key)
    }

    /// Whether this timestamp is taken. Below the low watermark it is not known any more.
    pub fn has_commit_at(&self, at: Timestamp) -> bool {
        self.recent.contains_key(&at)
    }

    /// What was decided at this timestamp, if that is remembered.
    pub fn logged_at(&self, at: Timestamp) -> Option<&Logged> {
        self.recent.get(&at)
    }

    pub fn last_commit(&self) -> Option<Timestamp> {
        self.recent.keys().next_back().copied()
    }

    /// Applies what was decided, in whatever order of timestamps they come. One that the state already reflects changes nothing.
    ///
    /// # Errors
    /// An operation that does not fit the type of its cell: what validation rejects before, or a journal of another schema.
    pub fn apply(&mut self, logged: Logged) -> Result<(), TypeMismatch> {
        let commit = &logged.commit;
        for index in 0..commit.writes.len() {
            self.apply_write(commit.at, &commit.writes, index)?;
        }
        self.recent.entry(commit.at).or_insert(logged);
        Ok(())
    }

    fn apply_write(&mut self, at: Timestamp, writes: &Arc<[Write]>, index: usize) -> Result<(), TypeMismatch> {
        let cell = &writes[index].cell;
        let table = self.tables.entry(cell.table).or_default();
        let row = table.entry(cell.row.clone()).or_default();
        if row.reflects(at, index) {
            return Ok(());
        }
        let moving = self.indexes.before(cell.table, &cell.row, row.latest(), cell.column);
        row.insert(Version { at, writes: writes.clone(), index })?;
        self.history_operations += 1;
        self.indexes.after(cell.table, &cell.row, row.latest(), moving);
        Ok(())
    }

    /// # Panics
    /// When an invariant of this module is broken.
    pub fn validate(&self) {
        assert!(self.recent.keys().all(|at| *at > self.low_watermark), "the log reaches below the low watermark");
        assert!(self.recent.iter().all(|(at, logged)| *at == logged.commit.at), "the log files a commit elsewhere");
        let mut operations = 0;
        for (table, rows) in &self.tables {
            for (key, row) in rows {
                row.validate();
                assert!(row.base_at() <= self.low_watermark, "a row forgot what can still be read");
                assert!(!row.is_forgettable(), "an empty row was kept");
                for version in row.history() {
                    let write = version.write();
                    assert!(write.cell.table == *table && write.cell.row == *key, "a version of another row");
                    let logged = self.recent.get(&version.at).expect("a version whose commit is not in the log");
                    assert!(
                        logged.commit.writes.get(version.index) == Some(write),
                        "a version that its commit does not have"
                    );
                    operations += 1;
                }
            }
        }
        assert_eq!(operations, self.history_operations, "the count of operations in histories");
        self.indexes.validate(&self.tables);
        let logged: usize = self.recent.values().map(|logged| logged.commit.writes.len()).sum();
        assert_eq!(operations, logged, "every write of a recent commit is in its row's history, once");
    }
}

#[cfg(test)]
mod tests;
