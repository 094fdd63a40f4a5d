//! What all clients of a run came to, together.

use std::time::Instant;

use crate::intervals::Intervals;
use crate::latency::Latencies;
use crate::transactions::history::Write;

#[derive(Debug, Default)]
pub struct Tally {
    /// In the measured stretch.
    pub latency: Latencies,
    pub commit_latency: Latencies,
    pub intervals: Intervals,
    /// Of transactions that write: those that only read may commit without a message.
    pub write_commit_latency: Latencies,
    pub counts: Counts,
    /// From the first transaction to the last.
    pub progress: Progress,
    pub writes: Vec<Write>,
    /// Why the first unknown outcome is one.
    pub first_unknown: Option<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub committed: u64,
    /// Attempts that ended without effect.
    pub aborts: u64,
    /// Attempts that were made again.
    pub retries: u64,
    /// Transactions of which nobody knows whether they committed.
    pub unknown: u64,
}

/// For what is accounted by the transaction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    pub committed: u64,
    /// Those that wrote.
    pub committed_writes: u64,
}

/// The measured stretch.
#[derive(Clone, Copy, Debug)]
pub struct Window {
    pub from: Instant,
    pub to: Instant,
}

impl Window {
    pub fn holds(&self, time: Instant) -> bool {
        self.from <= time && time < self.to
    }
}
