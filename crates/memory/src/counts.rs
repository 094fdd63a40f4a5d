//! Counts of the events of a region.

use std::sync::atomic::{AtomicU64, Ordering};

/// Sums since the region was made.
#[derive(Debug, Default)]
pub struct Counters {
    pub saved: Counter,
    pub saved_bytes: Counter,
    pub restored: Counter,
    pub restored_bytes: Counter,
    pub taken_over: Counter,
    pub corrupt: Counter,
}

/// A sum that threads add to.
#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    pub fn add(&self, number: u64) {
        self.0.fetch_add(number, Ordering::Relaxed);
    }

    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// The contents and events of a region, counted: `Region::counts`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counts {
    /// Objects that there are.
    pub objects: u64,
    /// Objects among these whose bytes are in memory.
    pub resident: u64,
    /// Objects among these that memoryd may take: saved, and not written since.
    pub reclaimable: u64,
    /// The bytes of the resident ones.
    pub resident_bytes: u64,
    /// The bytes of all records of the swap file.
    pub swap_bytes: u64,
    /// Objects that were saved, sum. A bundle of small objects counts as one here, and below.
    pub saved: u64,
    pub saved_bytes: u64,
    /// Objects that were brought back, sum.
    pub restored: u64,
    pub restored_bytes: u64,
    /// Objects that were moved because a daemon held a claim on them for too long, sum.
    pub taken_over: u64,
    /// Reads of the swap file that gave other bytes than were saved, sum.
    pub corrupt: u64,
}
