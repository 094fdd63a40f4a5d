//! Changes that wait because their session asked to be told of changes only so often.
//!
//! Invariants:
//! - what waits is everything that changed of the session's live interests above `seen`, so the next advance, whatever it is for, takes it along;
//! - the first change after a pause does not wait, and nothing waits for longer than the period;
//! - a row that enters or leaves a query does not wait.

use std::time::Duration;

use iolite_machine::{Instant, Now};
use iolite_values::Write;

use crate::following::load::News;
use crate::telling::coalesce::coalesce;
use crate::{Gateway, SessionId, size};

#[derive(Debug, Default)]
pub struct Batch {
    /// At most one advance with changes in so much time. Zero: each as it comes.
    period: Duration,
    told: Option<Instant>,
    changes: Vec<Write>,
    bytes: usize,
}

impl Batch {
    pub fn new(period: Duration) -> Batch {
        Batch { period, ..Batch::default() }
    }

    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    /// When what waits is to be told.
    pub fn due(&self) -> Option<Instant> {
        self.told.filter(|_| !self.is_empty()).map(|told| told + self.period)
    }

    /// Takes what waits, and what comes behind it. It is told now.
    pub fn take(&mut self, now: Instant, news: Vec<Write>) -> Vec<Write> {
        self.bytes = 0;
        let mut changes = std::mem::take(&mut self.changes);
        if !changes.is_empty() || !news.is_empty() {
            self.told = Some(now);
        }
        if changes.is_empty() {
            return news;
        }
        changes.extend(news);
        coalesce(changes)
    }

    /// The session is caught up from `seen` later.
    pub fn drop_all(&mut self) {
        (self.changes, self.bytes) = (Vec::new(), 0);
    }

    fn must_wait(&self, now: Instant) -> bool {
        self.told.is_some_and(|told| now < told + self.period)
    }

    /// False if this is more than may wait.
    fn add(&mut self, changes: Vec<Write>, bytes_max: usize) -> bool {
        self.bytes += changes.iter().map(size::write).sum::<usize>();
        self.changes.extend(changes);
        if self.bytes <= bytes_max {
            return true;
        }
        self.changes = coalesce(std::mem::take(&mut self.changes));
        self.bytes = self.changes.iter().map(size::write).sum();
        // Less than that would be put together again soon.
        self.bytes <= bytes_max / 2
    }

    pub fn validate(&self) {
        assert_eq!(self.bytes, self.changes.iter().map(size::write).sum::<usize>(), "what waits is counted");
        assert!(self.is_empty() || self.due().is_some(), "what waits has its time");
    }
}

impl Gateway {
    /// Changes of a live session: told now, or with others in a while.
    pub(crate) fn tell_changes(&mut self, now: Now, id: SessionId, changes: Vec<Write>) {
        let (position, bytes_max) = (self.position(), self.settings.limits.advance_part_bytes);
        let Some(open) = self.open_mut(id) else { return };
        // An outcome does not wait: its client shows the mutation as pending until then.
        if !open.batch.must_wait(now.instant) || open.has_outcomes(position) {
            return self.send_advance(now, id, News { changes, ..News::default() });
        }
        if !open.batch.add(changes, bytes_max) {
            return self.send_advance(now, id, News::default());
        }
        if let Some(due) = open.batch.due() {
            self.timers.set(id, due);
        }
    }
}
