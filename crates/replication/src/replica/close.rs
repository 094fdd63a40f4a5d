//! Close: lets nothing commit at or below a timestamp any more, and tells what did.
//!
//! Source: Iolite's own (docs/protocols/feed.md), for a group of one.

use iolite_machine::{Now, PersistId};
use iolite_store::{Commit, TooOld};
use iolite_values::Timestamp;

use super::Replica;
use crate::messages::{Answer, Closed};

/// One answer carries about this much, so that a coordinator that was away for long does not get everything at once.
pub const CLOSED_WRITES_MAX: usize = 4096;

impl Replica {
    pub(super) fn on_close(&mut self, now: Now, through: Timestamp, cursor: Timestamp) -> (PersistId, Answer) {
        let through = through.min(self.limit(now));
        self.raise_barrier(through);
        (self.barrier_after, Answer::Closed(self.stretch(cursor, self.barrier)))
    }

    /// The feed in (cursor, end], or its beginning if that is much. Any commit's timestamp up to the barrier is a place to pause.
    fn stretch(&self, cursor: Timestamp, end: Timestamp) -> Result<Closed, TooOld> {
        let mut commits: Vec<Commit> = Vec::new();
        let mut writes = 0;
        let mut through = end;
        for commit in self.versions.commits(cursor, end)? {
            if writes >= CLOSED_WRITES_MAX {
                through = commits.last().map_or(through, |last| last.at);
                break;
            }
            writes += commit.writes.len().max(1);
            commits.push(commit.clone());
        }
        Ok(Closed { through, resolved: end, commits })
    }
}
