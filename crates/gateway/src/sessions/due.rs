//! Which sessions wait for the feed to reach which timestamp.

use std::collections::BTreeSet;

use iolite_values::Timestamp;

use crate::SessionId;

/// Entries of sessions that are gone stay until their time comes, and then concern nobody.
#[derive(Debug, Default)]
pub struct Due {
    waiting: BTreeSet<(Timestamp, SessionId)>,
}

impl Due {
    pub fn insert(&mut self, at: Timestamp, session: SessionId) {
        self.waiting.insert((at, session));
    }

    /// The sessions that waited for `position` or less.
    pub fn take(&mut self, position: Timestamp) -> BTreeSet<SessionId> {
        let mut sessions = BTreeSet::new();
        while let Some((at, session)) = self.waiting.first().copied().filter(|(at, _)| *at <= position) {
            self.waiting.remove(&(at, session));
            sessions.insert(session);
        }
        sessions
    }

    pub fn clear(&mut self) {
        self.waiting.clear();
    }

    pub fn contains(&self, at: Timestamp, session: SessionId) -> bool {
        self.waiting.contains(&(at, session))
    }
}
