//! Pauses after conflicts.
//!
//! Many clients that change one cell after reading it conflict with each other: one attempt of each round holds. If all the others came back at once, every commit would cost as many
//! attempts as there are clients.

use std::time::Duration;

use iolite_machine::{Backoff, Instant};

/// Whether the first mutation of the queue may be submitted again after its attempt conflicted.
#[derive(Debug)]
pub(super) struct Rest {
    backoff: Backoff,
    until: Option<Instant>,
}

impl Rest {
    /// The first pause after a conflict, and the longest one.
    const CONFLICT_FIRST: Duration = Duration::from_micros(500);
    const CONFLICT_LAST: Duration = Duration::from_millis(100);

    pub(super) fn new(seed: u64) -> Rest {
        Rest { backoff: Backoff::new(Self::CONFLICT_FIRST, Self::CONFLICT_LAST, seed), until: None }
    }

    pub(super) fn is_over(&self) -> bool {
        self.until.is_none()
    }

    pub(super) fn conflicted(&mut self, now: Instant) {
        self.until = Some(now + self.backoff.next_pause());
    }

    /// An attempt was decided.
    pub(super) fn end(&mut self) {
        self.backoff.reset();
        self.until = None;
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        self.until
    }

    pub(super) fn on_due(&mut self, now: Instant) {
        self.until = self.until.filter(|until| *until > now);
    }
}
