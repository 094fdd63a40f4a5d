//! Proposing timestamps.
//!
//! Invariant: a proposal is above everything seen, and above the last proposal, so none is made twice. Those beyond the limit are apart: they are
//! made above a client's claim only, and the others step over them.

use std::time::Duration;

use iolite_machine::Now;
use iolite_values::{CoordinatorId, Timestamp};

#[derive(Clone, Debug)]
pub(super) struct Proposals {
    id: CoordinatorId,
    /// The highest timestamp that was heard of.
    seen: Timestamp,
    last: Timestamp,
    /// How far the replica follows clocks, as of its last message.
    limit: Timestamp,
    lead: Duration,
    /// The first and the last proposal beyond the limit.
    stray: Option<(Timestamp, Timestamp)>,
}

impl Proposals {
    pub fn new(id: CoordinatorId) -> Proposals {
        Proposals {
            id,
            seen: Timestamp::ZERO,
            last: Timestamp::ZERO,
            limit: Timestamp::ZERO,
            lead: Duration::ZERO,
            stray: None,
        }
    }

    pub fn see(&mut self, seen: Timestamp) {
        self.seen = self.seen.max(seen);
    }

    pub fn set_limit(&mut self, limit: Timestamp) {
        self.limit = limit;
    }

    /// The next proposal: what the clock shows and `lead` more, as far as clocks are followed; above all that was seen, and above `floor`.
    pub fn next(&mut self, now: Now, floor: Timestamp, lead: Duration) -> Timestamp {
        let above = self.seen.max(self.last).next_for(self.id);
        let soon = self.clock(now, Duration::ZERO).max(above);
        let lead = u64::try_from(lead.as_micros()).unwrap_or(u64::MAX);
        let clock = now.wall.as_micros().saturating_add(lead).min(self.limit.micros());
        let ahead = Timestamp::new(clock, self.id);
        let proposal = self.skip_stray(soon.max(ahead));
        if floor < proposal {
            self.last = proposal;
        } else {
            return self.above(floor);
        }
        self.lead = Duration::from_micros(proposal.micros().saturating_sub(now.wall.as_micros()));
        proposal
    }

    /// A proposal above what a client claims to have seen. One beyond the limit is a question to the replicas, which may know better; it does not
    /// carry other proposals there.
    fn above(&mut self, floor: Timestamp) -> Timestamp {
        let proposal = self.skip_stray(floor.next_for(self.id));
        if proposal <= self.limit {
            self.last = proposal;
        } else {
            let (first, last) = self.stray.unwrap_or((proposal, proposal));
            self.stray = Some((first.min(proposal), last.max(proposal)));
        }
        proposal
    }

    /// Above those that went beyond the limit, if it has come among them.
    fn skip_stray(&self, proposal: Timestamp) -> Timestamp {
        match self.stray {
            Some((first, last)) if first <= proposal && proposal <= last => last.next_for(self.id),
            Some(_) | None => proposal,
        }
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
