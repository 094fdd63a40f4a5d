//! Questions to the log of recent commits.

use std::ops::Bound;

use iolite_store::{Commit, TooOld};
use iolite_values::{Read, Timestamp, observes};

use super::{Logged, Versions};
use crate::scans::Scans;

impl Versions {
    /// The commits in (after, through], oldest first.
    ///
    /// # Errors
    /// [`TooOld`] when some of them may be forgotten.
    pub fn commits(&self, after: Timestamp, through: Timestamp) -> Result<impl Iterator<Item = &Commit>, TooOld> {
        Ok(self.logged(after, through)?.filter(|logged| !logged.is_abort).map(|logged| &logged.commit))
    }

    /// Everything that was decided in (after, through], oldest first.
    ///
    /// # Errors
    /// As [`Versions::commits`].
    pub fn logged(&self, after: Timestamp, through: Timestamp) -> Result<impl Iterator<Item = &Logged>, TooOld> {
        if after < self.low_watermark {
            return Err(TooOld { low_watermark: self.low_watermark });
        }
        // An empty stretch is no range that a map accepts.
        let through = through.max(after);
        let bounds = (Bound::Excluded(after), Bound::Included(through));
        let some = (through > after).then(|| self.recent.range(bounds)).into_iter().flatten();
        Ok(some.map(|(_, logged)| logged))
    }

    /// The last commit above `snapshot` and below `end` that may have changed what any of these reads returned then. After `looks` comparisons the next commit is
    /// taken to have done so: what is so far back is not worth the work, and whoever read it does so again.
    ///
    /// # Errors
    /// [`TooOld`] when that is not known any more.
    pub fn last_change_of_scans(
        &self,
        scans: &Scans,
        snapshot: Timestamp,
        end: Timestamp,
        mut looks: usize,
    ) -> Result<Option<Timestamp>, TooOld> {
        if snapshot < self.low_watermark {
            return Err(TooOld { low_watermark: self.low_watermark });
        }
        if end <= snapshot {
            return Ok(None);
        }
        let between = (Bound::Excluded(snapshot), Bound::Excluded(end));
        let mut newest_first = self.recent.range(between).rev();
        let change = newest_first.find(|(_, logged)| {
            let (are_disturbed, looked) = scans.are_disturbed_by(&logged.commit.writes);
            let is_enough = looked > looks;
            looks = looks.saturating_sub(looked);
            are_disturbed || is_enough
        });
        Ok(change.map(|(at, _)| *at))
    }

    /// The last commit above `snapshot` and below `end` that may have changed what `read`, of one row, returned then. Others are scans.
    ///
    /// # Errors
    /// [`TooOld`] when that is not known any more.
    pub fn last_change_of(
        &self,
        read: &Read,
        snapshot: Timestamp,
        end: Timestamp,
    ) -> Result<Option<Timestamp>, TooOld> {
        if snapshot < self.low_watermark {
            return Err(TooOld { low_watermark: self.low_watermark });
        }
        if end <= snapshot {
            return Ok(None);
        }
        let change = match read {
            Read::Cell { cell, element: _ } => self.row(cell.table, &cell.row).and_then(|row| {
                let mut newest_first = row.history_above(snapshot).rev();
                newest_first
                    .find(|version| version.at < end && observes(read, version.write()))
                    .map(|version| version.at)
            }),
            Read::Range { table, range } if range.is_of_one_row() => {
                let row = self.rows_in(*table, range).next();
                let newest_first = row.into_iter().flat_map(|(_, row)| row.history_above(snapshot).rev());
                newest_first.map(|version| version.at).find(|at| *at < end)
            }
            Read::Range { .. } | Read::Query(_) => None,
        };
        Ok(change)
    }
}
