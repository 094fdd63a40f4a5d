//! The domain that a row is of: a log that is joined, or all strong tables together.
//!
//! Invariant: the ranges of logs do not overlap, as each is one instance in one table.

use std::collections::BTreeMap;

use iolite_values::{Interest, KeyRange, LaneNumber, RowKey};

use crate::cache::RowId;

#[derive(Debug, Default)]
pub(super) struct Domains {
    /// The ranges of logs, by where they begin.
    ranges: BTreeMap<RowId, (KeyRange, LaneNumber)>,
}

impl Domains {
    pub(super) fn add(&mut self, log: LaneNumber, ranges: &[Interest]) {
        for interest in ranges {
            if let Interest::Range { table, range } = interest {
                self.ranges.insert((*table, RowKey::bound(&range.lower)), (range.clone(), log));
            }
        }
    }

    pub(super) fn remove(&mut self, log: LaneNumber) {
        self.ranges.retain(|_, (_, own)| *own != log);
    }

    pub(super) fn of(&self, id: &RowId) -> LaneNumber {
        let Some(((table, _), (range, log))) = self.ranges.range(..=id).next_back() else { return LaneNumber::STRONG };
        if *table == id.0 && range.contains(&id.1) { *log } else { LaneNumber::STRONG }
    }
}
