//! Rows and commits in a checkpoint.
//!
//! Invariant: commits are written before rows, and none is collected until all are written. So commits and journal together have the whole
//! history above the low watermark of that moment, and rows go without theirs: what of it is in a row's base already is known by the base's
//! timestamp, and a row that was forgotten meanwhile was emptied by something in that history.

use std::ops::Bound;

use iolite_values::{RowKey, TableId, Timestamp};

use super::{Logged, VersionedRow, Versions};
use crate::journal::{CheckpointCommit, CheckpointRow, commit_bytes, row_bytes};

impl Versions {
    /// The recent commits above `after`, about `bytes_max` of them but at least one; none when there are no more.
    pub fn checkpoint_commits(&self, after: Timestamp, bytes_max: usize) -> Vec<CheckpointCommit> {
        let above = self.recent.range((Bound::Excluded(after), Bound::Unbounded)).map(|(_, logged)| logged);
        let some = up_to(bytes_max, above, |logged| commit_bytes(&logged.commit));
        some.into_iter().map(Logged::to_checkpoint).collect()
    }

    /// The rows from `first` on, likewise.
    pub fn checkpoint_rows(&self, first: Bound<&(TableId, RowKey)>, bytes_max: usize) -> Vec<CheckpointRow> {
        let (first_table, first_key) = match first {
            Bound::Included((table, key)) => (Bound::Included(*table), Bound::Included(key)),
            Bound::Excluded((table, key)) => (Bound::Included(*table), Bound::Excluded(key)),
            Bound::Unbounded => (Bound::Unbounded, Bound::Unbounded),
        };
        let rows = self.tables.range((first_table, Bound::Unbounded)).flat_map(|(table, rows)| {
            let first = if Bound::Included(*table) == first_table { first_key } else { Bound::Unbounded };
            rows.range::<RowKey, _>((first, Bound::Unbounded)).map(|(key, row)| CheckpointRow {
                table: *table,
                key: key.clone(),
                base: row.base().clone(),
                base_at: row.base_at(),
                history: Vec::new(),
            })
        });
        up_to(bytes_max, rows, |row| row.key.as_bytes().len() + row_bytes(&row.base))
    }

    /// Takes a row from a checkpoint, before any commit.
    pub fn restore(&mut self, row: CheckpointRow) {
        if !row.base.is_empty() {
            self.indexes.drop_of(row.table);
            let restored = VersionedRow::new(row.base, row.base_at);
            self.tables.entry(row.table).or_default().insert(row.key, restored);
        }
    }
}

fn up_to<T>(bytes_max: usize, items: impl Iterator<Item = T>, size_bytes: impl Fn(&T) -> usize) -> Vec<T> {
    let mut taken = Vec::new();
    let mut bytes = 0;
    for item in items {
        bytes += size_bytes(&item);
        if bytes > bytes_max && !taken.is_empty() {
            break;
        }
        taken.push(item);
    }
    taken
}
