//! A digest of all by which it is decided what a session's user may see: the rights, the user's claims, and the rows of the sets that the session rests on.
//!
//! Invariants: with one digest and one history of the store, a user may see the same of an interest. An advance that rests on another digest than the one
//! before tells it. So a client that comes back with a digest holds what could be seen by it, and is told changes if it is the same still.

use std::hash::{Hash, Hasher};

use iolite_values::{CellState, Id};

use crate::interface::Broken;
use crate::{Gateway, SessionId};

/// The digests of a session.
#[derive(Clone, Copy, Debug, Default)]
pub struct SightDigests {
    /// The one that its client has come back with.
    held: Option<Id>,
    /// The one of what is told from now on.
    now: Option<Id>,
    told: Option<Id>,
}

impl SightDigests {
    /// The digests of a session whose client has come back with one, perhaps.
    pub fn new(held: Option<Id>) -> SightDigests {
        SightDigests { held, now: held, told: held }
    }

    /// The digest for the next advance. None: it was told before.
    pub fn take_untold(&mut self) -> Option<Id> {
        let untold = self.now.filter(|now| Some(*now) != self.told)?;
        self.told = Some(untold);
        Some(untold)
    }
}

/// The bytes of what is hashed.
#[derive(Default)]
struct Bytes(Vec<u8>);

impl Hasher for Bytes {
    fn write(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    /// A number that is not asked for: the bytes are digested.
    fn finish(&self) -> u64 {
        0
    }
}

impl Gateway {
    /// From now on what is told rests on the sets as they are known now.
    pub(crate) fn note_sight(&mut self, id: SessionId) {
        let digest = self.sight_digest(id);
        if let Some(open) = self.open_mut(id) {
            open.sight.now = digest.or(open.sight.now);
        }
    }

    /// Whether what a client has come back with is what its user may see of it now.
    pub(crate) fn holds_what_may_be_seen(&self, id: SessionId) -> bool {
        if self.settings.broken == Broken::ResumeWithOldRights {
            return true;
        }
        let held = self.open(id).and_then(|open| open.sight.held);
        held.is_some() && held == self.sight_digest(id)
    }

    /// None: no rule decides what the session may see.
    fn sight_digest(&self, id: SessionId) -> Option<Id> {
        let user = self.open(id)?.identity.user()?;
        self.catalog.rights()?;
        let mut bytes = Bytes::default();
        self.catalog.rights_version().hash(&mut bytes);
        user.claims.hash(&mut bytes);
        for (query, rows) in self.sets.of(id) {
            query.hash(&mut bytes);
            rows.len().hash(&mut bytes);
            for (key, row) in rows {
                key.hash(&mut bytes);
                for (column, cell) in row.cells() {
                    // Rules look at no others.
                    if let CellState::Scalar(value) = cell {
                        (column, value).hash(&mut bytes);
                    }
                }
            }
        }
        Some(user.subject.digest_with(b"iolite sight", &bytes.0))
    }
}
