//! The feed of all shards: segments up to what every shard has settled.
//!
//! Invariant: each segment begins where the one before ended; the parts of one transaction come in one commit.

use std::collections::BTreeMap;
use std::time::Duration;

use iolite_machine::Now;
use iolite_store::{Commit, Event, Segment};
use iolite_values::{Timestamp, TransactionId};

use super::{Coordinator, CoordinatorOutput, Session, lowest};
use crate::node::{ProposalId, ShardId};

/// Without demand, this much of the recent past stays open, for proposals of slower clocks and links.
pub const IDLE_CLOSE_BEHIND: Duration = Duration::from_millis(100);

#[derive(Clone, Debug, Default)]
pub(super) struct Feed {
    position: Timestamp,
    /// What some shards have settled beyond the position.
    ahead: BTreeMap<(Timestamp, TransactionId), Commit>,
}

impl Feed {
    pub fn begin(&mut self, resolved: Timestamp) {
        self.position = resolved;
        self.ahead.clear();
    }

    pub fn position(&self) -> Timestamp {
        self.position
    }

    fn add(&mut self, commit: Commit) {
        let place = (commit.at, commit.transaction);
        match self.ahead.get_mut(&place) {
            Some(known) => known.writes = known.writes.iter().chain(commit.writes.iter()).cloned().collect(),
            None => drop(self.ahead.insert(place, commit)),
        }
    }

    fn advance(&mut self, to: Timestamp) -> Segment {
        let mut commits = Vec::new();
        while let Some(first) = self.ahead.first_entry().filter(|first| first.key().0 <= to) {
            commits.push(first.remove());
        }
        let from = std::mem::replace(&mut self.position, to);
        Segment { from, to, commits }
    }
}

impl Coordinator {
    /// Something is decided at `at`, so the feed has to get there.
    pub(super) fn want(&mut self, at: Timestamp) {
        for closer in self.closers.values_mut() {
            closer.wanted = closer.wanted.max(at);
        }
    }

    pub(super) fn drive_feed(&mut self, now: Now) {
        if matches!(self.session, Session::Open { .. }) {
            self.drive_closers(now);
        }
    }

    pub(super) fn idle_close_at(&self, now: Now) -> Timestamp {
        self.proposals.clock(now, IDLE_CLOSE_BEHIND)
    }

    /// A shard has settled more.
    pub(super) fn advance_feed(&mut self, _shard: ShardId, commits: Vec<Commit>) {
        for commit in commits {
            self.feed.add(commit);
        }
        let to = lowest(self.closers.values().map(|closer| closer.cursor));
        if to > self.feed.position {
            let segment = self.feed.advance(to);
            self.proposals.forget_through(to);
            self.decided = self.decided.split_off(&ProposalId::first_above(to));
            self.obstacles.forget_through(to);
            match self.opens_at {
                None => self.emit(CoordinatorOutput::Event(Event::Feed(segment))),
                Some(_) => self.tell_ready(),
            }
        }
    }
}
