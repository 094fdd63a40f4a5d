//! Proposing timestamps.
//!
//! Invariant: a proposal is above everything seen, and above the last proposal, so none is made twice. One exception: when a replica's clock
//! has gone back so far that proposals lie beyond its limit, these are given up, and their timestamps may come again; the replica lets only one
//! transaction have each.

use std::time::Duration;

use iolite_machine::Now;
use iolite_values::{CoordinatorId, Timestamp};

#[derive(Debug)]
pub(super) struct Proposals {
    id: CoordinatorId,
    /// The highest timestamp that was heard of.
    seen: Timestamp,
    last: Timestamp,
    /// How far the replica follows clocks, as of its last message.
    limit: Timestamp,
    lead: Duration,
}

impl Proposals {
    pub fn new(id: CoordinatorId) -> Proposals {
        Proposals { id, seen: Timestamp::ZERO, last: Timestamp::ZERO, limit: Timestamp::ZERO, lead: Duration::ZERO }
    }

    pub fn see(&mut self, seen: Timestamp) {
        self.seen = self.seen.max(seen);
    }

    pub fn set_limit(&mut self, limit: Timestamp) {
        self.limit = limit;
    }

    /// The replica takes nothing that far above the limit, so what was proposed there did not commit, and is proposed no more.
    pub fn give_up_above_limit(&mut self) {
        self.last = self.last.min(self.limit);
        self.seen = self.seen.min(self.limit);
    }

    /// The next proposal: what the clock shows, as far as it is followed, and above `floor`.
    pub fn next(&mut self, now: Now, floor: Timestamp) -> Timestamp {
        let above = self.seen.max(self.last).max(floor).next_for(self.id);
        let proposal = self.clock(now, Duration::ZERO).max(above);
        self.last = proposal;
        self.lead = Duration::from_micros(proposal.micros().saturating_sub(now.wall.as_micros()));
        proposal
    }

    /// What the clock showed `ago`, as far as it is followed.
    pub fn clock(&self, now: Now, ago: Duration) -> Timestamp {
        let ago = u64::try_from(ago.as_micros()).unwrap_or(u64::MAX);
        let micros = now.wall.as_micros().saturating_sub(ago).min(self.limit.micros());
        Timestamp::new(micros, self.id)
    }

    pub fn lead(&self) -> Duration {
        self.lead
    }
}
