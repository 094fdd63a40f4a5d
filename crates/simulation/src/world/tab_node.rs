//! A tab that follows, and the app that runs in it.

use std::collections::{BTreeMap, BTreeSet};

use iolite_client::{
    CallStatus, Closed, Follower, FollowerConfig, FollowerInput, FollowerOutput, Limits, MutationStatus, ReactionId,
    RunOf, StorageChange, TabId, Ticket, View,
};
use iolite_machine::{Machine, Now, PersistId};
use iolite_values::{Counter, Id, StoreIncarnation, Timestamp};

use super::checked::Checked;
use super::events::LeaderThen;
use crate::app::{Call, InClient, SchemaVersion, Watcher};
use crate::history::{ClientIndex, History, Moment, PendingThen, Sighting, TicketCall, is_for_want_of_room};
use crate::random::Random;

pub struct TabNode {
    pub id: TabId,
    pub client: ClientIndex,
    pub follower: Checked<Follower>,
    /// It runs nothing and takes nothing before this.
    pub frozen_until: Moment,
    /// A message was lost while it was frozen, and none has come since that would tell it so.
    misses_something: bool,
    /// The last arrivals, so that nothing overtakes.
    pub up_until: Moment,
    pub down_until: Moment,
    /// How often its confirmed state began anew, under a leader that had less of it on disk.
    lives: u64,
    /// The leader's life that its state came from last.
    leader_life: u64,
    /// The history of the store that its state is of.
    store: Option<StoreIncarnation>,
    /// Of the app.
    pub version: SchemaVersion,
    pub watchers: BTreeMap<ReactionId, (Watcher, View)>,
    /// Those that failed for want of room at the leader.
    failed: BTreeSet<ReactionId>,
    seen: BTreeMap<ReactionId, String>,
    /// Mutations that it saw pending and that did not end without effect.
    alive: BTreeSet<Counter>,
}

/// What leaves a tab.
pub enum Leaving {
    ToLeader(Vec<u8>),
    Store(PersistId, Vec<StorageChange>),
}

impl TabNode {
    pub fn open(id: TabId, client: ClientIndex, version: SchemaVersion, limits: Limits, now: Now) -> TabNode {
        let config = FollowerConfig { schema: version.schema(), limits };
        TabNode {
            id,
            client,
            follower: Checked::new(Follower::open(config, now)),
            frozen_until: 0,
            misses_something: false,
            up_until: 0,
            down_until: 0,
            lives: 0,
            leader_life: 0,
            store: None,
            version,
            watchers: BTreeMap::new(),
            failed: BTreeSet::new(),
            seen: BTreeMap::new(),
            alive: BTreeSet::new(),
        }
    }

    pub fn call(&mut self, now: Now, moment: Moment, call: Call, random: &mut Random, history: &mut History) -> bool {
        let ticket = Ticket(Id::from_u128(random.id()));
        let called = self.follower.mutate(now.wall, ticket, "call", &call.to_json());
        if called.is_ok() {
            history.tickets.insert(ticket, TicketCall::new(self.client, call, moment));
        }
        called.is_ok()
    }

    pub fn watch(&mut self, watcher: Watcher, view: View) {
        let id = self.follower.register(view);
        self.watchers.insert(id, (watcher, view));
    }

    pub fn watches(&self, watcher: Watcher) -> bool {
        self.watchers.values().any(|(own, _)| *own == watcher)
    }

    /// A message is lost.
    pub fn miss(&mut self) {
        self.misses_something = true;
    }

    /// Whether it follows, and knows of every message that was lost. What was lost last is found out by the next message, at the latest when the leader was
    /// silent for so long that it is looked for anew.
    pub fn is_up_to_date(&self) -> bool {
        self.follower.is_following() && !self.misses_something
    }

    /// A message of a life of the leader arrives. It was on its way until now, or waited for the end of a freeze.
    pub fn take(&mut self, now: Now, moment: Moment, message: Vec<u8>, leader: LeaderThen, history: &History) {
        if moment > self.frozen_until {
            self.misses_something = false;
        }
        let (before, followed) = (self.follower.at(), self.follower.is_following());
        self.follower.handle(now, FollowerInput::FromLeader(message));
        let at = self.follower.at();
        if !self.follower.is_following() {
            assert!(at == before, "a tab that was not updated shows something else");
            return;
        }
        if at < before {
            let other = leader.life > self.leader_life || leader.store != self.store;
            assert!(other, "a tab went back from {before:?} to {at:?} under one leader");
            self.lives += 1;
        }
        self.leader_life = self.leader_life.max(leader.life);
        self.store = leader.store;
        if !followed {
            self.forget_unsaved(history);
        }
    }

    /// It joined again: what was not on a lost leader's disk is gone, as the app was told that it might be, and what ended meanwhile was not told.
    fn forget_unsaved(&mut self, history: &History) {
        let pending: BTreeSet<Counter> = self.follower.pending().map(|pending| pending.counter).collect();
        let confirmed = |counter: &Counter| history.outlives_its_process((self.client, *counter), self.store);
        self.alive.retain(|counter| pending.contains(counter) || confirmed(counter));
    }

    pub fn settle(&mut self, history: &mut History) -> Vec<Leaving> {
        let mut leaving = Vec::new();
        while let Some(output) = self.follower.poll() {
            match output {
                FollowerOutput::Send(message) => leaving.push(Leaving::ToLeader(message)),
                FollowerOutput::Persist { id, changes } => leaving.push(Leaving::Store(id, changes)),
                FollowerOutput::Run(RunOf::Reaction(id)) => self.run_watcher(id, history),
                FollowerOutput::Run(RunOf::Mutation(_) | RunOf::Replay(_)) => {
                    panic!("a mutation ran in a tab that does not lead")
                }
                FollowerOutput::Call { ticket, status } => note_call(ticket, status, history),
                FollowerOutput::Mutation { counter, status } => self.note_mutation(counter, &status),
                FollowerOutput::Connection(_) | FollowerOutput::Unavailable(_) => {}
                FollowerOutput::ReactionFailed { reaction, message } => {
                    assert!(is_for_want_of_room(&message), "watcher {reaction:?} failed: {message}");
                    self.failed.insert(reaction);
                    self.seen.remove(&reaction);
                }
            }
        }
        leaving
    }

    fn note_mutation(&mut self, counter: Counter, status: &MutationStatus) {
        match status {
            MutationStatus::Pending(_) => {
                self.alive.insert(counter);
            }
            MutationStatus::Confirmed { .. } => {}
            MutationStatus::Rejected { .. }
            | MutationStatus::Quarantined { .. }
            | MutationStatus::Cancelled { .. }
            | MutationStatus::Overruled => {
                self.alive.remove(&counter);
            }
        }
    }

    pub fn forget_dismissed(&mut self, counter: Counter) {
        self.alive.remove(&counter);
    }

    fn run_watcher(&mut self, id: ReactionId, history: &mut History) {
        let (watcher, view) = self.watchers[&id];
        let pending = self.follower.pending().map(PendingThen::of).collect();
        let mut run = self.follower.begin(RunOf::Reaction(id));
        let seen = watcher.run(&mut InClient(self.follower.transaction(&mut run)));
        self.follower.finish(run, Closed::Returned);
        let Ok(text) = seen else { return };
        self.seen.insert(id, text.clone());
        let (client, life, at): (_, _, Timestamp) = (self.client, self.life(), self.follower.at());
        let refused: BTreeSet<Counter> = self.follower.refused().map(|refused| refused.counter).collect();
        let alive = self.alive.difference(&refused).copied().collect();
        let (store, version, heard) = (self.store, self.version, BTreeSet::new());
        history.sightings.push(Sighting {
            client,
            life,
            store,
            version,
            watcher,
            view,
            at,
            pending,
            text,
            alive,
            heard,
        });
    }

    /// Apart from the lives of the leader and of other tabs.
    fn life(&self) -> u64 {
        self.id.0 << 32 | self.lives
    }

    pub fn last_seen(&self) -> impl Iterator<Item = (Watcher, Option<&String>)> {
        let going = self.watchers.iter().filter(|(id, _)| !self.failed.contains(id));
        going.map(|(id, (watcher, _))| (*watcher, self.seen.get(id)))
    }

    pub fn is_quiet(&self) -> bool {
        self.follower.calls().next().is_none()
    }
}

/// Notes what a tab was told of its own call.
pub fn note_call(ticket: Ticket, status: CallStatus, history: &mut History) {
    let called = history.tickets.get_mut(&ticket).expect("only what was called has a status");
    match status {
        CallStatus::Called | CallStatus::Queued(..) => {}
        CallStatus::Stored => called.stored = true,
        CallStatus::Ended(..) | CallStatus::ConfirmedEarlier => called.told.push(status),
    }
}
