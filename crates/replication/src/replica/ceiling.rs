//! How far timestamps may run: the barrier below, the ceiling that a restart begins at, and the limit for clocks that are wrong.
//!
//! Invariant: barrier <= ceiling, and the ceiling is in the journal before anything tells of a barrier beyond the old one.

use std::time::Duration;

use iolite_machine::Now;
use iolite_values::Timestamp;

use super::Replica;
use crate::journal::JournalRecord;

/// How far above the barrier the ceiling is set, so that one record is enough for about as long.
pub const CEILING_AHEAD: Duration = Duration::from_secs(1);

/// How far ahead of the replica's own clock a coordinator's clock is followed.
pub const CLOCK_LEAD_MAX: Duration = Duration::from_secs(10);

/// How far above everything seen a proposal may be even then: room for many coordinators that count upwards from there.
pub const PROPOSAL_LEAD_MAX: Duration = Duration::from_secs(1);

impl Replica {
    /// How far clocks are followed: some seconds ahead of this replica's, and at least to where things already are.
    pub(super) fn limit(&self, now: Now) -> Timestamp {
        Timestamp::end_of(now.wall.as_micros().saturating_add(micros(CLOCK_LEAD_MAX))).max(self.highest())
    }

    /// The highest timestamp at which a proposal is accepted.
    pub(super) fn proposal_limit(&self, now: Now) -> Timestamp {
        later(self.limit(now), PROPOSAL_LEAD_MAX)
    }

    pub(super) fn raise_barrier(&mut self, through: Timestamp) {
        if through <= self.barrier {
            return;
        }
        self.barrier = through;
        self.readers.remove_through(through);
        let open = self.open_commits.split_off(&through);
        let closed = std::mem::replace(&mut self.open_commits, open);
        let at_barrier = self.open_commits.remove(&through);
        let last = closed.into_values().chain(at_barrier).max().unwrap_or_default();
        self.barrier_after = self.barrier_after.max(last);
        if through > self.ceiling {
            self.ceiling = later(through, CEILING_AHEAD);
            self.barrier_after = self.persist(&JournalRecord::Ceiling(self.ceiling));
        }
    }
}

fn later(at: Timestamp, by: Duration) -> Timestamp {
    Timestamp::end_of(at.micros().saturating_add(micros(by)))
}

fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}
