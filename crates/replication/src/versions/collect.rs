//! Garbage collection of old versions.
//!
//! The low watermark rises commit by commit along the log, and only the rows of those commits are touched: the work is in proportion to what
//! is collected.

use std::time::Duration;

use iolite_values::Timestamp;

use super::Versions;

/// How much history is kept: of the resolved past, what is younger than `age`, and no more operations than `operations_max`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retention {
    pub age: Duration,
    pub operations_max: usize,
}

impl Default for Retention {
    /// A minute bridges the restart of a gateway; a client that was away for longer gets a snapshot.
    fn default() -> Retention {
        Retention { age: Duration::from_secs(60), operations_max: 1 << 20 }
    }
}

fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

impl Versions {
    /// Forgets what `retention` does not keep of the past through `resolved`, `commits_max` commits at most.
    pub fn collect(&mut self, retention: Retention, resolved: Timestamp, commits_max: usize) {
        let too_old = Timestamp::end_of(resolved.micros().saturating_sub(micros(retention.age))).min(resolved);
        for _ in 0..commits_max {
            let through = if self.history_operations > retention.operations_max { resolved } else { too_old };
            match self.recent.first_key_value() {
                Some((at, _)) if *at <= through => self.collect_oldest(),
                Some(_) | None => break,
            }
        }
    }

    /// Forgets everything through `low_watermark`.
    pub fn collect_through(&mut self, low_watermark: Timestamp) {
        while self.recent.first_key_value().is_some_and(|(at, _)| *at <= low_watermark) {
            self.collect_oldest();
        }
        self.low_watermark = self.low_watermark.max(low_watermark);
    }

    fn collect_oldest(&mut self) {
        let Some((at, logged)) = self.recent.pop_first() else { return };
        self.low_watermark = self.low_watermark.max(at);
        for write in logged.commit.writes.iter() {
            let Some(rows) = self.tables.get_mut(&write.cell.table) else { continue };
            let Some(row) = rows.get_mut(&write.cell.row) else { continue };
            self.history_operations -= row.fold_through(at);
            if row.is_forgettable() {
                rows.remove(&write.cell.row);
            }
            if rows.is_empty() {
                self.tables.remove(&write.cell.table);
            }
        }
    }
}
