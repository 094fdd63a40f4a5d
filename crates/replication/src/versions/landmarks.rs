//! States on the way through a long history, so that neither a read of the past nor an operation that comes late begins at the base.
//!
//! Landmarks lie close together near the end of the history, and farther apart the farther back they lie. A row without a long history has none.
//! A late operation that passes everything after it is applied to the landmarks above it. Another one folds them anew on its way.
//!
//! Invariant: a landmark is the row after all versions through its timestamp, and above the base.

use iolite_values::{Row, Timestamp};

/// The number of versions between a landmark and the next. Each landmark costs a copy of the row.
const EVERY: usize = 256;

/// After so many times `EVERY` late versions a landmark is made where the last of them stands. So versions before the newest landmark cannot pile up,
/// for example when one coordinator's clock is ahead of the others'.
const LATE_EVERY: usize = 2;

/// Landmark number 4^k is kept until 2 * 4^k more were made, for k up to this: the last 32,768 versions have landmarks.
const LEVELS: u32 = 3;

#[derive(Clone, Debug, Default)]
pub struct Landmarks {
    /// The oldest first.
    all: Vec<Landmark>,
    /// How many were made.
    made: u64,
    /// Versions that came in order since one of them led to a landmark.
    passed: usize,
    /// Late versions since one of them led to a landmark.
    late: usize,
}

#[derive(Clone, Debug)]
pub struct Landmark {
    pub at: Timestamp,
    pub row: Row,
    /// The number among all that were made.
    number: u64,
}

impl Landmarks {
    /// A version is about to come behind all others, of which the last is at `last`. `latest` is the row before it.
    pub fn pass(&mut self, last: Timestamp, latest: &Row) {
        self.passed += 1;
        if self.passed > every() {
            self.put(last, latest.clone());
            self.passed = 1;
        }
    }

    /// Counts a version that comes below others. True says that a landmark is due there.
    pub fn count_late(&mut self) -> bool {
        self.late += 1;
        let is_due = self.late > LATE_EVERY * every();
        if is_due {
            self.late = 0;
        }
        is_due
    }

    /// Adds a landmark, and forgets those that are old and near others.
    pub fn put(&mut self, at: Timestamp, row: Row) {
        self.made += 1;
        let made = self.made;
        let index = self.all.partition_point(|landmark| landmark.at < at);
        self.all.insert(index, Landmark { at, row, number: made });
        self.all.retain(|landmark| made - landmark.number < kept_for(landmark.number));
    }

    /// The last one at or below `at`.
    pub fn through(&self, at: Timestamp) -> Option<&Landmark> {
        self.all.iter().rev().find(|landmark| landmark.at <= at)
    }

    /// The last one below `at`.
    pub fn below(&self, at: Timestamp) -> Option<&Landmark> {
        self.all.iter().rev().find(|landmark| landmark.at < at)
    }

    /// The landmarks that a version at `at` belongs to, the oldest first.
    pub fn reaching(&self, at: Timestamp) -> impl Iterator<Item = &Landmark> {
        self.all.iter().filter(move |landmark| landmark.at >= at)
    }

    pub fn reaching_mut(&mut self, at: Timestamp) -> impl Iterator<Item = &mut Landmark> {
        self.all.iter_mut().filter(move |landmark| landmark.at >= at)
    }

    /// The base is at `base_at` now.
    pub fn drop_through(&mut self, base_at: Timestamp) {
        self.all.retain(|landmark| landmark.at > base_at);
    }
}

/// How many landmarks may be made until this one is forgotten.
fn kept_for(number: u64) -> u64 {
    2 << (2 * (number.trailing_zeros() / 2).min(LEVELS))
}

#[cfg(not(test))]
fn every() -> usize {
    EVERY
}

#[cfg(test)]
fn every() -> usize {
    spacing::get()
}

/// The spacing in tests: small, so that short histories have many landmarks, and as in a release where a test counts.
#[cfg(test)]
pub mod spacing {
    use std::cell::Cell;

    thread_local! { static SPACING: Cell<usize> = const { Cell::new(3) } }

    pub fn get() -> usize {
        SPACING.get()
    }

    pub fn set_as_released() {
        SPACING.set(super::EVERY);
    }
}
