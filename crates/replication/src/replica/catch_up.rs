//! Fetching what other replicas have and this one was not told.
//!
//! Invariant: the complete point moves only with everything that committed up to it.

use std::time::Duration;

use iolite_machine::{Instant, Now};
use iolite_values::Timestamp;

use super::Replica;
use super::close::Filled;
use super::state_transfer::Taking;
use crate::journal::{Completed, JournalRecord};
use crate::node::{BetweenReplicas, Peer, ReplicaId};
use crate::versions::Logged;

/// How long a peer has to answer before another one is asked.
pub const FETCH_AGAIN_AFTER: Duration = Duration::from_millis(100);

/// So often a peer is asked for the same chunk of its state, before another peer is asked for all of it. Each time it gets twice as long.
pub const STATE_TRIES_MAX: u32 = 5;

/// But not longer: one that was slow may be gone.
pub const STATE_PAUSE_MAX: Duration = Duration::from_secs(3);

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct CatchUp {
    /// How far others have come.
    target: Timestamp,
    /// Another peer is asked then.
    again_at: Option<Instant>,
    /// Which peer is asked, among the others: the next one when one does not answer.
    asked: usize,
    /// The whole state is being fetched.
    pub taking: Option<Taking>,
    /// From whom something is expected.
    pub expected_from: Option<ReplicaId>,
}

impl CatchUp {
    pub fn is_waiting_for(&self, replica: ReplicaId) -> bool {
        self.again_at.is_some() && self.expected_from == Some(replica)
    }

    pub fn wait(&mut self, now: Now, pause: Duration) {
        self.again_at = Some(now.instant + pause);
    }

    pub fn deadline(&self) -> Option<Instant> {
        self.again_at
    }

    /// What others have is not waited for any more.
    pub fn forget_target(&mut self) {
        self.target = Timestamp::ZERO;
    }
}

impl Replica {
    /// Others are complete through `target`.
    pub(super) fn fall_behind(&mut self, now: Now, target: Timestamp) {
        self.catch_up.target = self.catch_up.target.max(target);
        if self.catch_up.again_at.is_none() && self.complete < self.catch_up.target {
            self.fetch(now);
        }
    }

    /// Asks the one that has answered, or given its state: others may have forgotten meanwhile what comes next.
    fn fetch(&mut self, now: Now) {
        let others = self.others();
        let Some(to) = others.get(self.catch_up.asked % others.len().max(1)).copied() else { return };
        self.catch_up.wait(now, FETCH_AGAIN_AFTER);
        self.catch_up.expected_from = Some(to);
        // What came of a state so far is given up: its giver does not answer.
        self.catch_up.taking = None;
        self.tell(to, Peer::Fetch { after: self.complete });
    }

    /// Who is of no group yet takes what there is, so that it has nearly everything when it is named.
    pub(super) fn follow(&mut self, now: Now) {
        if self.follows() && self.catch_up.target < Timestamp::MAX {
            self.fall_behind(now, Timestamp::MAX);
        }
    }

    pub(super) fn follows(&self) -> bool {
        !self.configuration.knows(self.settings.id)
    }

    pub(super) fn fetch_again(&mut self, now: Now) {
        if self.catch_up.again_at.is_none_or(|at| at > now.instant) {
            return;
        }
        match &mut self.catch_up.taking {
            None if self.awaiting.is_some() => self.catch_up.again_at = None,
            Some(taking) if taking.tries < STATE_TRIES_MAX => {
                taking.tries += 1;
                // It may be busy, also with what it was asked before.
                taking.pause = (taking.pause * 2).min(STATE_PAUSE_MAX);
                self.ask_for_state(now);
            }
            Some(_) if self.awaiting.is_some() => self.take_from_parent(now),
            Some(_) | None => {
                self.catch_up.asked += 1;
                self.fetch_rest(now);
            }
        }
    }

    pub(super) fn fetch_rest(&mut self, now: Now) {
        self.catch_up.again_at = None;
        if self.complete < self.catch_up.target {
            self.fetch(now);
        }
    }

    pub(super) fn on_peer(&mut self, now: Now, message: BetweenReplicas) {
        let BetweenReplicas { from, to, store, shard, epoch, peer } = message;
        if self.is_of_origin(shard, epoch) && (store, to) == (self.settings.store, self.settings.id) {
            return self.on_parent(now, from, peer);
        }
        let own = (self.settings.store, self.configuration.group().shard, self.settings.id);
        if (store, shard, to) != own {
            return;
        }
        if self.awaiting.is_some() {
            return;
        }
        if let Peer::Configured { configuration } = peer {
            return self.on_configured(now, from, configuration);
        }
        if epoch != self.epoch() {
            return self.tell_configuration(from);
        }
        if self.refuses_of_peer(now, from, &peer) {
            return;
        }
        // Who does not keep the shard any more may ask whether its record is needed, and who may keep it soon for what there is.
        let is_open = matches!(peer, Peer::DoViewChange { .. } | Peer::Fetch { .. } | Peer::FetchState { .. });
        if !is_open && !self.configuration.knows(from) && !self.is_successor(from) {
            return;
        }
        match peer {
            Peer::Configured { .. } => {}
            Peer::Begun { .. } if self.is_successor(from) => self.on_successor_begun(from),
            Peer::Begun { view } => self.on_begun(view),
            Peer::Drained(drained) => self.fall_behind(now, drained.complete),
            Peer::Fetch { after } => self.on_fetch(from, after),
            Peer::Segment { after, through, commits } => self.on_segment(now, after, through, commits),
            Peer::FetchedTooOld => self.on_fetched_too_old(now, from),
            Peer::FetchState { place } => self.on_fetch_state(now, from, place),
            Peer::StateChunk(part) => self.on_state_chunk(now, from, part),
            Peer::StartViewChange { view } => self.on_start_view_change(now, from, view),
            Peer::DoViewChange { last_normal, part } => self.on_do_view_change(now, from, last_normal, part),
            Peer::StartView { part } => self.on_start_view(now, part),
        }
    }

    fn on_fetch(&mut self, from: ReplicaId, after: Timestamp) {
        let mut through = self.complete();
        if through <= after {
            return;
        }
        let mut commits: Vec<Completed> = Vec::new();
        let mut filled = Filled::default();
        let Ok(logged) = self.versions.logged(after, through) else { return self.tell(from, Peer::FetchedTooOld) };
        for logged in logged {
            if filled.is_enough() {
                through = commits.last().map_or(through, |last| last.at);
                break;
            }
            filled.add(&logged.commit);
            commits.push(logged.to_record());
        }
        self.tell(from, Peer::Segment { after, through, commits });
    }

    fn on_segment(&mut self, now: Now, after: Timestamp, through: Timestamp, commits: Vec<Completed>) {
        if after > self.complete || through <= self.complete {
            return;
        }
        for record in commits {
            if record.at > self.complete && !self.versions.has_commit_at(record.at) {
                self.persist(&JournalRecord::Completed(record.clone()));
                self.apply(Logged::from_record(record));
            }
        }
        self.advance(through);
        self.fetch_rest(now);
        self.press_install(now);
    }
}
