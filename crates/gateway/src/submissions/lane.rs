//! The mutations of one lane of a client on their way to the store.
//!
//! Invariant: one at a time, in the order in which they came, also when a session takes over from another of the same client.

use std::collections::VecDeque;

use iolite_values::{Attempt, Counter, Decision, Domain, Transaction};
use iolite_wire::message::Rejection;

use crate::SessionId;
use crate::size;

#[derive(Debug, Default)]
pub struct Lane {
    in_flight: Option<InFlight>,
    queue: VecDeque<Waiting>,
    bytes: usize,
}

/// A mutation for the store.
#[derive(Debug)]
pub struct Waiting {
    /// The domain that it writes to.
    pub domain: Domain,
    pub transaction: Transaction,
    /// Why it can never be accepted. Then the transaction is an abort in its place, which is recorded as its outcome: an earlier attempt
    /// that is still on its way cannot take effect after the client was told.
    pub refused: Option<Rejection>,
    /// The mutation of its lane that has to have its end for this one to be tried.
    pub follows: Option<Counter>,
    /// How often the store found that something had changed by which it was judged, and its client was not told.
    pub judged_again: u8,
}

impl Waiting {
    pub fn new(domain: Domain, transaction: Transaction, follows: Option<Counter>) -> Waiting {
        Waiting { domain, transaction, refused: None, follows, judged_again: 0 }
    }

    pub fn refused(domain: Domain, transaction: Transaction, rejection: Rejection) -> Waiting {
        let transaction = Transaction { reads: Vec::new(), decision: Decision::Abort(String::new()), ..transaction };
        Waiting { domain, transaction, refused: Some(rejection), follows: None, judged_again: 0 }
    }
}

/// What the store was asked to commit.
#[derive(Debug)]
pub struct InFlight {
    /// The session that asked. (An outcome is told to whichever is its client's by then.)
    pub session: SessionId,
    pub waiting: Waiting,
}

impl Lane {
    pub fn push(&mut self, waiting: Waiting) {
        self.bytes += size::transaction(&waiting.transaction);
        self.queue.push_back(waiting);
    }

    /// Puts back what the store refused, before everything that waits.
    pub fn push_front(&mut self, waiting: Waiting) {
        self.bytes += size::transaction(&waiting.transaction);
        self.queue.push_front(waiting);
    }

    /// The next mutation for the store, if it has answered the one before.
    pub fn begin(&mut self, session: SessionId) -> Option<&Waiting> {
        if self.in_flight.is_some() {
            return None;
        }
        let waiting = self.queue.pop_front()?;
        self.bytes -= size::transaction(&waiting.transaction);
        Some(&self.in_flight.insert(InFlight { session, waiting }).waiting)
    }

    /// The next mutation for the store, if it has answered the one before: what it follows, and itself.
    pub fn next(&self) -> Option<(Option<Counter>, Counter, Attempt)> {
        let next = self.queue.front().filter(|_| self.in_flight.is_none())?;
        Some((next.follows, next.transaction.id.counter, next.transaction.attempt))
    }

    /// The next mutation is not given to the store.
    pub fn drop_next(&mut self) {
        if let Some(next) = self.queue.pop_front() {
            self.bytes -= size::transaction(&next.transaction);
        }
    }

    /// The mutation for the store, which it is given once it was judged.
    pub fn at_store(&self) -> Option<&Waiting> {
        self.in_flight.as_ref().map(|own| &own.waiting)
    }

    pub fn at_store_mut(&mut self) -> Option<&mut Waiting> {
        self.in_flight.as_mut().map(|own| &mut own.waiting)
    }

    /// The store has answered, or is not asked.
    pub fn finish(&mut self) -> InFlight {
        self.in_flight.take().expect("the store answers what it was asked")
    }

    /// Forgets what was not handed over yet: its client sends it again.
    pub fn clear(&mut self) {
        self.queue.clear();
        self.bytes = 0;
    }

    /// The mutation that the store was given.
    pub fn in_flight(&self) -> Option<Counter> {
        self.in_flight.as_ref().map(|own| own.waiting.transaction.id.counter)
    }

    pub fn len(&self) -> usize {
        self.queue.len() + usize::from(self.in_flight.is_some())
    }

    /// Bytes of what waits.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    pub fn validate(&self) {
        assert!(self.in_flight.is_some(), "what waits, waits for something");
        assert_eq!(
            self.queue.iter().map(|waiting| size::transaction(&waiting.transaction)).sum::<usize>(),
            self.bytes,
            "waiting bytes are counted"
        );
    }
}
