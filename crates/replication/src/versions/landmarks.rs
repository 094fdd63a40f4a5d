//! Two states on the way through a long history, so that a read of the recent past does not begin at its beginning.
//!
//! Readers ask for what is resolved, which is a few commits behind the latest. One landmark may lie between the two; then the other does not.
//!
//! Invariant: a landmark is the row after all versions through its timestamp, and above the base.

use iolite_values::{Row, Timestamp};

/// How many versions lie between landmarks. Each costs a copy of the row.
const EVERY: usize = if cfg!(test) { 3 } else { 256 };

#[derive(Clone, Debug, Default)]
pub struct Landmarks {
    newest: Option<Landmark>,
    earlier: Option<Landmark>,
    /// Versions since the newest one.
    passed: usize,
}

#[derive(Clone, Debug)]
pub struct Landmark {
    pub at: Timestamp,
    pub row: Row,
}

impl Landmarks {
    /// A version is about to come behind all others, of which the last is at `last`; `latest` is the row before it.
    pub fn pass(&mut self, last: Timestamp, latest: &Row) {
        self.passed += 1;
        if self.passed > EVERY {
            self.earlier = self.newest.replace(Landmark { at: last, row: latest.clone() });
            self.passed = 1;
        }
    }

    /// The last one at or below `at`.
    pub fn before(&self, at: Timestamp) -> Option<&Landmark> {
        self.all().find(|landmark| landmark.at <= at)
    }

    /// A version has come at `at`, below others.
    pub fn drop_from(&mut self, at: Timestamp) {
        self.retain(|landmark| landmark.at < at);
    }

    /// The base is at `base_at` now.
    pub fn drop_through(&mut self, base_at: Timestamp) {
        self.retain(|landmark| landmark.at > base_at);
    }

    /// The newest first.
    pub fn all(&self) -> impl Iterator<Item = &Landmark> {
        self.newest.iter().chain(&self.earlier)
    }

    fn retain(&mut self, keep: impl Fn(&Landmark) -> bool) {
        self.newest.take_if(|landmark| !keep(landmark));
        self.earlier.take_if(|landmark| !keep(landmark));
    }
}
