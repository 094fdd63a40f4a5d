//! What clients did and were told.

use std::sync::Mutex;

use iolite_store::{Completion, RowAt};
use iolite_values::{Interest, Read, Timestamp, Transaction};

/// A transaction and what became of it.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// All that it read, and not only what its level guards of it.
    pub read: Vec<Read>,
    pub transaction: Transaction,
    pub completion: Completion,
    /// The highest timestamp that anybody had been told before it was submitted.
    pub told_before: Timestamp,
}

/// What a read at a timestamp gave.
#[derive(Clone, Debug)]
pub struct Seen {
    pub interest: Interest,
    pub at: Timestamp,
    pub rows: Vec<RowAt>,
}

#[derive(Debug, Default)]
pub struct History {
    inner: Mutex<Inner>,
}

#[derive(Clone, Debug, Default)]
pub struct Inner {
    pub outcomes: Vec<Outcome>,
    pub seen: Vec<Seen>,
    pub violations: Vec<String>,
    pub conflicts: usize,
    /// Transactions that committed although something that they had read was not so any more, as their levels allow.
    pub of_the_past: usize,
    /// Connections that were killed, or crashes of the database.
    pub disturbances: u64,
    pub highest_told: Timestamp,
}

impl History {
    pub fn highest_told(&self) -> Timestamp {
        self.with(|inner| inner.highest_told)
    }

    pub fn outcome(&self, outcome: Outcome) {
        self.with(|inner| {
            inner.highest_told = inner.highest_told.max(outcome.completion.at);
            inner.outcomes.push(outcome);
        });
    }

    pub fn saw(&self, seen: Seen) {
        self.with(|inner| inner.seen.push(seen));
    }

    pub fn conflict(&self) {
        self.with(|inner| inner.conflicts += 1);
    }

    pub fn disturbed(&self, times: u64) {
        self.with(|inner| inner.disturbances += times);
    }

    pub fn violate(&self, violation: String) {
        self.with(|inner| inner.violations.push(violation));
    }

    pub fn take(&self) -> Inner {
        self.with(|inner| inner.clone())
    }

    fn with<T>(&self, act: impl FnOnce(&mut Inner) -> T) -> T {
        act(&mut self.inner.lock().expect("nobody panics with it"))
    }
}
