//! A client's process: the client core, its storage, and the app that runs in it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use iolite_client::{
    Broken as BrokenClient, Client, Closed, Config, Limits, MutationKind, MutationStatus, Output, ReactionId, RunOf,
    TabId, Ticket, View,
};
use iolite_machine::{Machine, Now};
use iolite_values::{ClientId, Counter, Id, Schema};

use super::device::{Device, Entries, Job, Writer};
use super::tab_node::TabNode;
use crate::app::{Call, InClient, Stop, Watcher, run_call};
use crate::broken::Broken;
use crate::history::{Called, ClientIndex, End, EndedAs, History, Moment, PendingThen, Sighting};
use crate::random::Random;

pub struct ClientNode {
    pub index: ClientIndex,
    pub client: Client,
    /// Which life of the client's process.
    pub life: u64,
    /// The storage that all tabs share.
    pub device: Device,
    /// Whether the user opens several tabs.
    pub has_tabs: bool,
    /// The tabs that follow.
    pub tabs: BTreeMap<TabId, TabNode>,
    watchers: BTreeMap<ReactionId, (Watcher, View)>,
    /// What each watcher saw last.
    seen: BTreeMap<ReactionId, String>,
    /// Mutations that were called and did not end without effect.
    alive: BTreeSet<Counter>,
}

/// What leaves a client's process.
pub enum Leaving {
    Connect,
    Disconnect,
    Frame(Vec<u8>),
    /// Storage has work to do.
    Store,
    ToTab(TabId, Vec<u8>),
}

impl ClientNode {
    pub fn start(
        index: ClientIndex,
        schema: &Arc<Schema>,
        now: Now,
        broken: Broken,
        random: &mut Random,
    ) -> ClientNode {
        let client = open(&Entries::new(), schema, now, broken, random);
        let (device, has_tabs, tabs) = (Device::default(), random.chance(500), BTreeMap::new());
        let (watchers, seen, alive) = (BTreeMap::new(), BTreeMap::new(), BTreeSet::new());
        ClientNode { index, client, life: 1, device, has_tabs, tabs, watchers, seen, alive }
    }

    /// The process is killed, and starts again from what was stored, or a little more.
    pub fn restart(&mut self, schema: &Arc<Schema>, now: Now, broken: Broken, random: &mut Random, history: &History) {
        self.device.lose(Writer::Leader(self.life), random);
        self.watchers.clear();
        self.seen.clear();
        self.life += 1;
        self.client = open(&self.device.entries, schema, now, broken, random);
        let pending: BTreeSet<Counter> = self.client.pending().map(|pending| pending.counter).collect();
        let ended =
            |counter: &Counter| history.calls.get(&(self.index, *counter)).is_some_and(|called| called.end.is_some());
        // What was called and neither stored nor ended is gone, as the app was told that it might be.
        self.alive.retain(|counter| pending.contains(counter) || ended(counter));
    }

    pub fn call(&mut self, now: Now, moment: Moment, call: Call, history: &mut History) {
        let Ok(counter) = self.client.mutate(now.wall, "call", &call.to_json()) else { return };
        self.alive.insert(counter);
        let earlier = history
            .calls
            .insert((self.index, counter), Called { call, at: moment, life: self.life, durable: false, end: None });
        assert!(earlier.is_none_or(|earlier| !earlier.durable), "a counter was used twice");
    }

    pub fn watch(&mut self, watcher: Watcher, view: View) {
        let id = self.client.register(view);
        self.watchers.insert(id, (watcher, view));
    }

    pub fn stop_one_watcher(&mut self, random: &mut Random) {
        if self.watchers.len() < 2 {
            return;
        }
        let ids: Vec<ReactionId> = self.watchers.keys().copied().collect();
        let id = ids[random.below(ids.len() as u64) as usize];
        self.watchers.remove(&id);
        self.seen.remove(&id);
        assert!(self.client.stop(id));
    }

    /// Runs closures until the client has nothing to do, and gives what is for others.
    pub fn settle(&mut self, moment: Moment, history: &mut History) -> Vec<Leaving> {
        let mut leaving = Vec::new();
        while let Some(output) = self.client.poll() {
            match output {
                Output::Connect => leaving.push(Leaving::Connect),
                Output::Disconnect => leaving.push(Leaving::Disconnect),
                Output::Send(frame) => leaving.push(Leaving::Frame(frame)),
                Output::Persist { id, changes } => {
                    self.device.give(Writer::Leader(self.life), Job::Batch(id, changes));
                    leaving.push(Leaving::Store);
                }
                Output::Run(RunOf::Mutation(counter)) => self.run_mutation(counter),
                Output::Run(RunOf::Reaction(id)) => self.run_watcher(id, history),
                Output::Mutation { counter, status, .. } => self.note_status(counter, status, moment, history),
                Output::Connection(_) | Output::Unavailable(_) => {}
                Output::ToTab(tab, message) => leaving.push(Leaving::ToTab(tab, message)),
                Output::ReadOutbox => {
                    self.device.give(Writer::Leader(self.life), Job::ReadOutbox);
                    leaving.push(Leaving::Store);
                }
                Output::Adopted { ticket, counter } => self.note_adopted(ticket, counter, history),
                Output::ReactionFailed { reaction, message } => panic!("watcher {reaction:?} failed: {message}"),
            }
        }
        leaving
    }

    fn run_mutation(&mut self, counter: Counter) {
        let kind = self.client.mutation(counter).map(|mutation| mutation.kind.clone());
        let Some(MutationKind::Named { name: _, arguments }) = kind else { panic!("only named mutations are called") };
        let call = Call::from_json(&arguments);
        let mut run = self.client.begin(RunOf::Mutation(counter));
        let ended = run_call(&call, &mut InClient(self.client.transaction(&mut run)));
        let closed = match ended {
            // A stopped run does not count, whatever is said here.
            Ok(()) | Err(Stop::Missing) => Closed::Returned,
            Err(Stop::Abort(reason)) => Closed::Aborted(reason),
        };
        self.client.finish(run, closed);
    }

    fn run_watcher(&mut self, id: ReactionId, history: &mut History) {
        let (watcher, view) = self.watchers[&id];
        let pending = self.client.pending().map(|pending| PendingThen {
            counter: pending.counter,
            durable: pending.status.durable,
            waits_for_data: pending.status.waits_for_data,
        });
        let pending = pending.collect();
        let mut run = self.client.begin(RunOf::Reaction(id));
        let seen = watcher.run(&mut InClient(self.client.transaction(&mut run)));
        self.client.finish(run, Closed::Returned);
        let Ok(text) = seen else { return };
        self.seen.insert(id, text.clone());
        let (client, life, at) = (self.index, self.life, self.client.at());
        let alive = self.alive.clone();
        history.sightings.push(Sighting { client, life, watcher, view, at, pending, text, alive });
    }

    fn note_adopted(&mut self, ticket: Ticket, counter: Counter, history: &mut History) {
        let ticket = history.tickets.get_mut(&ticket).expect("only what was called is adopted");
        ticket.counters.insert(counter);
        let called = Called { call: ticket.call.clone(), at: ticket.at, life: self.life, durable: false, end: None };
        let earlier = history.calls.insert((self.index, counter), called);
        assert!(earlier.is_none_or(|earlier| !earlier.durable), "a counter was used twice");
        self.alive.insert(counter);
    }

    fn note_status(&mut self, counter: Counter, status: MutationStatus, moment: Moment, history: &mut History) {
        let called = history.calls.get_mut(&(self.index, counter)).expect("only what was called has a status");
        let how = match status {
            MutationStatus::Pending(pending) => {
                called.durable |= pending.durable;
                return;
            }
            MutationStatus::Confirmed { at } => EndedAs::Confirmed(at),
            MutationStatus::Rejected { reason } => EndedAs::Rejected(reason),
            MutationStatus::Quarantined { reason } => EndedAs::Quarantined(reason),
            MutationStatus::Cancelled { reason } => EndedAs::Cancelled(reason),
        };
        if !matches!(how, EndedAs::Confirmed(_)) {
            self.alive.remove(&counter);
        }
        // A client that lost its note of the end learns it again, and it has to be the same.
        let (life, confirmed_through) = (self.life, self.client.at());
        let first = called.end.get_or_insert_with(|| End { at: moment, life, how: how.clone(), confirmed_through });
        let same = match (&first.how, &how) {
            // Only the life whose attempt was decided knows the closure's reason.
            (EndedAs::Rejected(_), EndedAs::Rejected(_)) => true,
            (first, now) => first == now,
        };
        assert!(same, "a mutation ended in two ways: {:?}, {how:?}", first.how);
    }

    /// What each watcher saw last.
    pub fn last_seen(&self) -> impl Iterator<Item = (Watcher, Option<&String>)> {
        self.watchers.iter().map(|(id, (watcher, _))| (*watcher, self.seen.get(id)))
    }

    pub fn is_quiet(&self) -> bool {
        let tabs = self.tabs.values().all(TabNode::is_quiet);
        tabs && self.client.pending().next().is_none() && self.device.is_idle()
    }
}

fn open(storage: &Entries, schema: &Arc<Schema>, now: Now, broken: Broken, random: &mut Random) -> Client {
    let config = Config {
        schema: schema.clone(),
        fresh_client: ClientId(Id::from_u128(random.id())),
        token: super::front_node::TOKEN.into(),
        user: "simulated".into(),
        seed: random.bits(),
        limits: Limits::default(),
    };
    let stored: Vec<(Vec<u8>, Vec<u8>)> = storage.iter().map(|(key, value)| (key.clone(), value.clone())).collect();
    let mut client = Client::open(config, stored, now).expect("what a client stored it can read");
    if broken == Broken::RemoveAtReply {
        client.break_for_simulation(BrokenClient::RemoveAtReply);
    }
    client
}
