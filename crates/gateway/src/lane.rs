//! The mutations of one client on their way to the store.
//!
//! Invariant: one at a time, in the order in which they came, also when a session takes over from another of the same client.

use std::collections::VecDeque;

use iolite_values::Transaction;

use crate::SessionId;
use crate::size;

#[derive(Debug, Default)]
pub struct Lane {
    in_flight: Option<InFlight>,
    queue: VecDeque<Transaction>,
    bytes: usize,
}

/// What the store was asked to commit.
#[derive(Debug)]
pub struct InFlight {
    /// The session that is told, if it is still there.
    pub session: SessionId,
    pub transaction: Transaction,
}

impl Lane {
    pub fn push(&mut self, transaction: Transaction) {
        self.bytes += size::transaction(&transaction);
        self.queue.push_back(transaction);
    }

    /// The next transaction for the store, if it has answered the one before.
    pub fn begin(&mut self, session: SessionId) -> Option<&Transaction> {
        if self.in_flight.is_some() {
            return None;
        }
        let transaction = self.queue.pop_front()?;
        self.bytes -= size::transaction(&transaction);
        Some(&self.in_flight.insert(InFlight { session, transaction }).transaction)
    }

    /// The store has answered.
    pub fn finish(&mut self) -> InFlight {
        self.in_flight.take().expect("the store answers what it was asked")
    }

    /// Forgets what was not handed over yet: its client sends it again.
    pub fn clear(&mut self) {
        self.queue.clear();
        self.bytes = 0;
    }

    pub fn len(&self) -> usize {
        self.queue.len() + usize::from(self.in_flight.is_some())
    }

    /// Bytes of what waits.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    pub fn validate(&self) {
        assert!(self.queue.is_empty() || self.in_flight.is_some(), "what waits, waits for something");
        assert_eq!(self.queue.iter().map(size::transaction).sum::<usize>(), self.bytes, "waiting bytes are counted");
    }
}
