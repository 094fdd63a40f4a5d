//! One timer a session, and one for all of them.
//!
//! Invariant: a session has at most one timer. A timer may be early (its session looks again and sets the next), never late.

use std::collections::{BTreeMap, BTreeSet};

use iolite_machine::Instant;

/// Timers of sessions, or of what else has a name.
#[derive(Debug)]
pub struct Timers<K> {
    queue: BTreeSet<(Instant, K)>,
    of: BTreeMap<K, Instant>,
}

impl<K> Default for Timers<K> {
    fn default() -> Timers<K> {
        Timers { queue: BTreeSet::new(), of: BTreeMap::new() }
    }
}

impl<K: Copy + Ord> Timers<K> {
    /// The session is looked at by `at`, if not before.
    pub fn set(&mut self, session: K, at: Instant) {
        match self.of.get(&session) {
            Some(earlier) if *earlier <= at => {}
            Some(_) | None => {
                self.clear(session);
                self.of.insert(session, at);
                self.queue.insert((at, session));
            }
        }
    }

    pub fn clear(&mut self, session: K) {
        if let Some(at) = self.of.remove(&session) {
            self.queue.remove(&(at, session));
        }
    }

    pub fn first(&self) -> Option<Instant> {
        self.queue.first().map(|(at, _)| *at)
    }

    /// A session whose timer has come. The timer is gone.
    pub fn take(&mut self, now: Instant) -> Option<K> {
        let (_, session) = self.queue.first().copied().filter(|(at, _)| *at <= now)?;
        self.clear(session);
        Some(session)
    }

    pub fn len(&self) -> usize {
        assert_eq!(self.queue.len(), self.of.len(), "every session's timer is in the queue once");
        self.of.len()
    }
}
