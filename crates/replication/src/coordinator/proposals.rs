//! Proposing timestamps.
//!
//! Invariant: no proposal is made twice. One is above everything seen, and above the last one, but for those that are made in the past on purpose. Those beyond the limit are apart: they are
//! made above a client's claim only, and the others step over them.

use std::collections::BTreeSet;
use std::time::Duration;

use iolite_machine::{Instant, Now};
use iolite_values::{CoordinatorId, Timestamp};

use crate::replica::CLOCK_LEAD_MAX;

/// How far ahead of the clocks of a majority of every shard's replicas a coordinator follows its own.
pub const CLOCK_WINDOW: Duration = Duration::from_millis(500);

/// The replicas' clocks are taken to run on for so long after their last message.
const LIMIT_RUNS_ON: Duration = Duration::from_secs(1);

/// Clocks that were ahead are forgotten when nothing was heard of them for this long, or twice this long.
const OTHERS_FORGOTTEN_AFTER: Duration = Duration::from_secs(5);

#[derive(Clone, Debug)]
pub(super) struct Proposals {
    id: CoordinatorId,
    /// The highest timestamp that was heard of.
    seen: Timestamp,
    last: Timestamp,
    /// Where this life began to propose: below, earlier ones did.
    begun: Timestamp,
    /// The proposals of this life that the feed has not passed.
    made: BTreeSet<Timestamp>,
    others: Others,
    /// How far ahead the replicas let anything be, as of their last messages, and when the last one came.
    limit: Timestamp,
    limit_at: Instant,
    lead: Duration,
    /// The first and the last proposal beyond the limit.
    stray: Option<(Timestamp, Timestamp)>,
}

/// How far ahead of the clock here others have lately been, in microseconds.
#[derive(Clone, Copy, Debug, Default)]
struct Others {
    since: Instant,
    /// Since then, and in as much time before.
    now: u64,
    before: u64,
}

impl Others {
    fn note(&mut self, now: Instant, ahead: u64) {
        if now.since(self.since) >= OTHERS_FORGOTTEN_AFTER {
            *self = Others { since: now, now: 0, before: self.ahead(now) };
        }
        self.now = self.now.max(ahead);
    }

    fn ahead(&self, now: Instant) -> u64 {
        match now.since(self.since) {
            age if age < OTHERS_FORGOTTEN_AFTER => self.now.max(self.before),
            age if age < OTHERS_FORGOTTEN_AFTER * 2 => self.now,
            _ => 0,
        }
    }
}

impl Proposals {
    pub fn new(id: CoordinatorId) -> Proposals {
        Proposals {
            id,
            seen: Timestamp::ZERO,
            last: Timestamp::ZERO,
            begun: Timestamp::ZERO,
            made: BTreeSet::new(),
            others: Others::default(),
            limit: Timestamp::ZERO,
            limit_at: Instant::default(),
            lead: Duration::ZERO,
            stray: None,
        }
    }

    pub fn see(&mut self, seen: Timestamp) {
        self.seen = self.seen.max(seen);
    }

    /// The same of what a replica knows of. Whoever closes and commits there by a clock that is ahead would be ahead again each time, so the
    /// proposals here go as far ahead from now on.
    pub fn hear(&mut self, now: Now, highest: Timestamp) {
        self.see(highest);
        if highest != Timestamp::new(highest.micros(), self.id) {
            self.others.note(now.instant, highest.micros().saturating_sub(now.wall.as_micros()));
        }
    }

    pub fn set_limit(&mut self, now: Instant, limit: Timestamp) {
        (self.limit, self.limit_at) = (limit, now);
    }

    /// How far ahead a majority of every shard's replicas let anything be.
    pub fn limit(&self) -> Timestamp {
        self.limit
    }

    /// The next proposal: what the clock shows, or those of others that are ahead of it, or what was seen, and `lead` more, as far as clocks are
    /// followed; and above `floor`.
    pub fn next(&mut self, now: Now, floor: Timestamp, lead: Duration) -> Timestamp {
        let above = self.seen.max(self.last).next_for(self.id);
        let clock = now.wall.as_micros().saturating_add(self.others.ahead(now.instant)).min(self.followed(now.instant));
        let soon = Timestamp::new(clock, self.id).max(above);
        // From where others are, not from what the clock shows: theirs may be ahead.
        let lead = u64::try_from(lead.as_micros()).unwrap_or(u64::MAX);
        let ahead = Timestamp::new(soon.micros().saturating_add(lead).min(self.followed(now.instant)), self.id);
        let proposal = self.skip_stray(soon.max(ahead));
        if floor < proposal {
            self.note(proposal);
        } else {
            return self.above(floor);
        }
        self.lead = Duration::from_micros(proposal.micros().saturating_sub(now.wall.as_micros()));
        proposal
    }

    /// This life begins to propose, above what was seen.
    pub fn begin(&mut self) {
        self.begun = self.begun.max(self.seen);
    }

    /// The feed has passed this: nothing is proposed there any more.
    pub fn forget_through(&mut self, position: Timestamp) {
        self.made = self.made.split_off(&position);
    }

    /// The lowest proposal above all of these that was not made yet.
    pub fn lowest(&mut self, above: [Timestamp; 3]) -> Timestamp {
        let above = above.into_iter().max().unwrap_or_default().max(self.begun);
        let mut proposal = self.skip_stray(above.next_for(self.id));
        while self.made.contains(&proposal) {
            proposal = proposal.next_for(self.id);
        }
        self.note(proposal);
        proposal
    }

    fn note(&mut self, proposal: Timestamp) {
        self.last = self.last.max(proposal);
        self.made.insert(proposal);
    }

    /// A proposal above what a client claims to have seen. One beyond the limit is a question to the replicas, which may know better; it does not
    /// carry other proposals there.
    fn above(&mut self, floor: Timestamp) -> Timestamp {
        let proposal = self.skip_stray(floor.next_for(self.id));
        if proposal <= self.limit {
            self.note(proposal);
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

    /// How far clocks are followed: a little ahead of those of a majority of replicas. The replicas let proposals be much further ahead, for who
    /// has seen something there; and no further than that is where they stand themselves.
    fn followed(&self, now: Instant) -> u64 {
        let micros = |time: Duration| u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        let since = now.since(self.limit_at).min(LIMIT_RUNS_ON);
        self.limit.micros().saturating_sub(micros(CLOCK_LEAD_MAX - CLOCK_WINDOW)).saturating_add(micros(since))
    }

    /// What the clock showed `ago`, as far as it is followed.
    pub fn clock(&self, now: Now, ago: Duration) -> Timestamp {
        let ago = u64::try_from(ago.as_micros()).unwrap_or(u64::MAX);
        let micros = now.wall.as_micros().saturating_sub(ago).min(self.followed(now.instant));
        Timestamp::new(micros, self.id)
    }

    pub fn lead(&self) -> Duration {
        self.lead
    }
}
