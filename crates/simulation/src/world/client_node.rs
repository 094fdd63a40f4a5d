//! A client's process: the client core, its storage, and the app that runs in it.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU16;
use std::time::Duration;

use iolite_client::{
    Client, Closed, Config, Connection, Gateway, LIVE, Limits, MutationKind, MutationStatus, Output, ReactionId, RunOf,
    TabId, Ticket, TokenSource, View,
};
use iolite_machine::{Instant, Now};
use iolite_values::{ClientId, Counter, DeviceSecret, Id, StoreIncarnation};

use super::checked::Checked;
use super::client_process::ClientProcess;
use super::device::{Device, Entries, Job, Writer};
use super::events::LeaderThen;
use super::tab_node::TabNode;
use crate::app::{Call, InClient, SchemaVersion, Stop, Watcher, run_call};
use crate::broken::Broken;
use crate::centres::app::look;
use crate::centres::{CentresTold, Named};
use crate::counts::Counts;
use crate::history::{
    Called, CalledAs, ClientIndex, End, EndedAs, History, Moment, PendingThen, Refusal, Sighting, is_for_want_of_room,
};
use crate::occasions::Occasion;
use crate::random::Random;
use crate::rights::Speaker;

pub struct ClientNode {
    pub index: ClientIndex,
    pub client: Checked<Client>,
    /// Which life of the client's process.
    pub life: u64,
    /// Of the app. An open tab may be of an older one.
    pub version: SchemaVersion,
    settings: ClientSettings,
    /// The gateway that it had its last link to.
    pub last_front: Option<usize>,
    /// The app asked for silence.
    pub is_paused: bool,
    /// The history of the store that the client's state is of.
    pub(super) store: Option<StoreIncarnation>,
    /// The storage that all tabs share.
    pub device: Device,
    /// Whether the user opens several tabs.
    pub has_tabs: bool,
    /// The tabs that follow.
    pub tabs: BTreeMap<TabId, TabNode>,
    watchers: BTreeMap<ReactionId, (Watcher, View)>,
    /// Those that failed for want of room, until they are renewed.
    failed: BTreeSet<ReactionId>,
    /// What each watcher saw last.
    seen: BTreeMap<ReactionId, String>,
    /// Mutations that were called and did not end without effect.
    alive: BTreeSet<Counter>,
    /// Mutations that had ended when their tabs made them again, and whose ends are told once more.
    told_again: BTreeSet<Counter>,
    /// The closures without a name, which the process keeps.
    closures: BTreeMap<Counter, Call>,
    /// The last character that somebody typed, in whichever tab.
    pub last_typed: Option<char>,
    pub(super) process: ClientProcess,
    /// The id that its device drew first.
    pub first_device: ClientId,
    /// Somebody else has signed in on the device.
    pub holds_token_of: Option<Speaker>,
    /// The mutations that the app was told to be confirmed in this life and this history of the store, and to be delivered.
    pub(super) confirmed: BTreeSet<Counter>,
    pub(super) heard: BTreeSet<Counter>,
}

/// What a client is opened with in each of its lives.
#[derive(Clone, Copy, Debug)]
pub struct ClientSettings {
    pub limits: Limits,
    /// How many gateways it knows.
    pub gateways: NonZeroU16,
    /// The number of data centres, each with as many.
    pub centres: usize,
    pub batch: Duration,
}

/// What leaves a client's process.
pub enum Leaving {
    Connect(Gateway),
    Disconnect,
    Frame(Vec<u8>),
    /// Storage has work to do.
    Store,
    ToTab(TabId, LeaderThen, Vec<u8>),
}

/// Closures that a client runs before it takes anything new: beyond it runs one for ever.
const RUNS_AT_ONCE_MAX: u32 = 10_000;

impl ClientNode {
    pub fn start(
        (index, version): (ClientIndex, SchemaVersion),
        settings: ClientSettings,
        now: Now,
        broken: Broken,
        random: &mut Random,
    ) -> ClientNode {
        let client = open((index, version), &Entries::new(), settings, now, broken, random);
        ClientNode {
            index,
            first_device: client.identity(),
            holds_token_of: None,
            client,
            life: 1,
            version,
            settings,
            last_front: None,
            is_paused: false,
            store: None,
            device: Device::default(),
            has_tabs: random.chance(500)
                && !matches!(version, SchemaVersion::Rows | SchemaVersion::Centres | SchemaVersion::Guests),
            tabs: BTreeMap::new(),
            watchers: BTreeMap::new(),
            failed: BTreeSet::new(),
            seen: BTreeMap::new(),
            alive: BTreeSet::new(),
            told_again: BTreeSet::new(),
            closures: BTreeMap::new(),
            last_typed: None,
            process: ClientProcess::default(),
            confirmed: BTreeSet::new(),
            heard: BTreeSet::new(),
        }
    }

    /// The process is killed, and starts again from what was stored, or a little more.
    pub fn restart(
        &mut self,
        now: Now,
        broken: Broken,
        random: &mut Random,
        history: &History,
        occasions: &mut Counts<Occasion>,
    ) {
        self.device.lose(Writer::Leader(self.life), random);
        occasions.add(Occasion::RestartedUndelivered, u64::from(self.awaits_delivery()));
        self.process = ClientProcess::default();
        self.forget_delivery();
        self.watchers.clear();
        self.failed.clear();
        self.seen.clear();
        self.told_again.clear();
        self.life += 1;
        self.is_paused = false;
        self.holds_token_of = None;
        let own = (self.index, self.version);
        self.client = open(own, &self.device.entries, self.settings, now, broken, random);
        self.store = self.client.store();
        occasions.add(Occasion::ClosureLost, self.closures.len() as u64);
        self.closures.clear();
        let pending: BTreeSet<Counter> = self.client.pending().map(|pending| pending.counter).collect();
        let confirmed = |counter: &Counter| match self.store {
            Some(store) => history.outlives_its_process((self.index, *counter), Some(store)),
            // Another version of the app begins with nothing, and may find what it had.
            None => history.calls.get(&(self.index, *counter)).is_some_and(Called::has_ended_by_name),
        };
        // What was called and neither stored nor ended is gone, as the app was told that it might be.
        self.alive.retain(|counter| pending.contains(counter) || confirmed(counter));
    }

    /// The app looks at what was refused: an end may have been stored, and its process killed before it was told.
    pub fn learn_refused(&mut self, moment: Moment, history: &mut History) {
        for refused in self.client.refused() {
            let called =
                history.calls.get_mut(&(self.index, refused.counter)).expect("only what was called is refused");
            if called.ends.is_empty() {
                let reason = refused.reason.to_string();
                let how = if refused.by_app { EndedAs::Rejected(reason) } else { EndedAs::Quarantined(reason) };
                let end = End { at: moment, life: self.life, how, confirmed_through: self.client.at() };
                called.ends.insert(self.store, end);
                self.alive.remove(&refused.counter);
            }
        }
    }

    pub fn go_offline(&mut self) {
        self.is_paused = true;
        self.client.go_offline();
    }

    pub fn go_online(&mut self, now: Instant) {
        self.is_paused = false;
        self.client.go_online(now);
    }

    pub fn call(&mut self, now: Now, moment: Moment, call: Call, history: &mut History) {
        let Ok(counter) = self.client.mutate(now.wall, "call", &call.to_json()) else { return };
        self.note_call(counter, Called::new(call, CalledAs::Named, moment, self.life), history);
    }

    /// Calls a closure without a name, if there is a connection.
    pub fn transact(&mut self, now: Now, moment: Moment, call: Call, history: &mut History) {
        let Ok(counter) = self.client.transact(now.wall) else { return };
        self.closures.insert(counter, call.clone());
        self.note_call(counter, Called::new(call, CalledAs::Closure, moment, self.life), history);
    }

    pub(super) fn note_call(&mut self, counter: Counter, called: Called, history: &mut History) {
        let earlier = history.calls.insert((self.index, counter), called);
        assert!(earlier.is_none_or(|earlier| !earlier.durable), "a counter was used twice");
        self.alive.insert(counter);
    }

    /// Takes a pending mutation back. It may come back with a restart, until the client reports its end.
    pub fn take_back(&mut self, counter: Counter, history: &mut History) -> bool {
        let taken = self.client.cancel(counter);
        if taken {
            history.asked_back.insert((self.index, counter));
        }
        taken
    }

    pub fn watch(&mut self, watcher: Watcher, view: View) {
        let id = self.client.register(view);
        self.watchers.insert(id, (watcher, view));
    }

    pub fn watches(&self, watcher: Watcher) -> bool {
        self.watchers.values().any(|(own, _)| *own == watcher)
    }

    pub fn stop_one_watcher(&mut self, random: &mut Random) {
        if self.watchers.len() < 2 {
            return;
        }
        let ids: Vec<ReactionId> = self.watchers.keys().copied().collect();
        let id = ids[random.below(ids.len() as u64) as usize];
        self.watchers.remove(&id);
        self.failed.remove(&id);
        self.seen.remove(&id);
        assert!(self.client.stop(id));
    }

    /// Runs closures until the client has nothing to do, or the app is busy in one, and gives what is for others.
    pub(super) fn settle(
        &mut self,
        moment: Moment,
        history: &mut History,
        occasions: &mut Counts<Occasion>,
    ) -> Vec<Leaving> {
        let mut leaving = Vec::new();
        let mut runs = 0;
        while let Some(output) = self.client.poll() {
            if let Output::Run(run) = output {
                runs += 1;
                assert!(runs < RUNS_AT_ONCE_MAX, "{run:?} is run for ever");
            }
            self.follow_store(history, occasions);
            match output {
                Output::Run(run) if self.is_stuck_in(run, moment) => {
                    occasions.add(Occasion::BusyApp, 1);
                    return leaving;
                }
                Output::Connect(gateway) => leaving.push(Leaving::Connect(gateway)),
                Output::Disconnect => leaving.push(Leaving::Disconnect),
                Output::Send(frame) => leaving.push(Leaving::Frame(frame)),
                Output::Persist { id, changes, awaited: _ } => {
                    history.centres.note_given(self.index, id);
                    self.device.give(Writer::Leader(self.life), Job::Batch(id, changes));
                    leaving.push(Leaving::Store);
                }
                Output::Run(run) => self.run(run, history),
                Output::Mutation { counter, status, .. } => {
                    self.note_status(counter, status, moment, history, occasions);
                }
                Output::LogStopped { .. } | Output::LogDiffers { .. } | Output::LogMembers(_) => {
                    unreachable!("no table of this app is of a log")
                }
                Output::Connection(_) | Output::Unavailable(_) | Output::Centre(_) | Output::TokenWanted => {}
                Output::Delivered(counter) => self.note_delivered(counter, history),
                Output::ToTab(tab, message) => {
                    let leader = LeaderThen { life: self.life, store: self.store };
                    leaving.push(Leaving::ToTab(tab, leader, message));
                }
                Output::Blobs(_) => {}
                Output::Conflicts(_) => self.note_conflicts(history),
                Output::ReadOutbox => {
                    self.device.give(Writer::Leader(self.life), Job::ReadOutbox);
                    leaving.push(Leaving::Store);
                }
                Output::Adopted { ticket, counter } => self.note_adopted(ticket, counter, history),
                Output::ReactionFailed { reaction, message } => {
                    assert!(is_for_want_of_room(&message), "watcher {reaction:?} failed: {message}");
                    occasions.add(Occasion::NoRoom, 1);
                    self.note_no_room(reaction, history);
                }
            }
        }
        occasions.add(Occasion::SeenUndelivered, std::mem::take(&mut self.process.seen_undelivered));
        history.delivery.note_applied(moment, self.life(), self.client.at());
        leaving
    }

    /// Runs one of the app's closures.
    pub(super) fn run(&mut self, run: RunOf, history: &mut History) {
        match run {
            RunOf::Mutation(counter) => self.run_mutation(counter, history),
            RunOf::Reaction(id) => self.run_watcher(id, history),
            RunOf::Replay(_) => unreachable!("no table of this app is of a log"),
        }
    }

    fn run_mutation(&mut self, counter: Counter, history: &mut History) {
        let kind = self.client.mutation(counter).map(|mutation| mutation.kind.clone());
        let call = match kind {
            Some(MutationKind::Named { name: _, arguments }) => Call::from_json(&arguments),
            Some(MutationKind::Closure) => self.closures[&counter].clone(),
            Some(MutationKind::ChangeSet) | None => panic!("{counter:?} is to run and is not pending"),
        };
        let mut run = self.client.begin(RunOf::Mutation(counter));
        let (at, store) = (self.client.at(), self.store);
        let mut ran = None;
        let mut handle = InClient(self.client.transaction(&mut run));
        let ended = match &call {
            Call::Rows(own) => own.run(&mut handle).map(|effects| {
                history.rows.note_run((self.index, counter), at, store, effects);
            }),
            Call::Centres(own) => own.run(&mut handle).map(|did| ran = Some((own.name, did))),
            other => run_call(other, &mut handle),
        };
        if let Err(Stop::Abort(_)) = &ended {
            history.rows.note_abort((self.index, counter));
        }
        let closed = match ended {
            // A stopped run does not count, whatever is said here.
            Ok(()) | Err(Stop::Missing) => Closed::Returned,
            Err(Stop::Abort(reason)) => Closed::Aborted(reason),
        };
        self.client.finish(run, closed);
        ran.into_iter().for_each(|(name, did)| history.centres.note_run(name, did));
    }

    /// The app has seen that a mutation ended without effect, and wants to hear no more of it.
    pub fn forget_dismissed(&mut self, counter: Counter) {
        self.alive.remove(&counter);
        self.tabs.values_mut().for_each(|tab| tab.forget_dismissed(counter));
    }

    fn run_watcher(&mut self, id: ReactionId, history: &mut History) {
        let (watcher, view) = self.watchers[&id];
        let pending = self.client.pending().map(|pending| PendingThen::of(&pending)).collect();
        if watcher == Watcher::Centres {
            return self.look(id, view, history);
        }
        let mut run = self.client.begin(RunOf::Reaction(id));
        let seen = watcher.run(&mut InClient(self.client.transaction(&mut run)));
        self.client.finish(run, Closed::Returned);
        let Ok(text) = seen else { return };
        self.seen.insert(id, text.clone());
        let (client, life, at) = (self.index, self.life, self.client.at());
        // Whose end is on its way to the disk is refused already, and told later.
        let refused: BTreeSet<Counter> = self.client.refused().map(|refused| refused.counter).collect();
        let alive = self.alive.difference(&refused).copied().collect();
        let (store, version) = (self.store, self.version);
        if view == View::Delivered {
            history.delivery.note_shown(self.life());
            self.process.seen_undelivered += u64::from(self.awaits_delivery());
        }
        let heard = if view == View::Delivered { self.heard.clone() } else { BTreeSet::new() };
        let seen = Sighting { client, life, store, version, watcher, view, at, pending, text, alive, heard };
        history.sightings.push(seen);
    }

    /// A watcher of the app whose tables merge. What it shows is judged at once.
    fn look(&mut self, id: ReactionId, view: View, history: &mut History) {
        let mut run = self.client.begin(RunOf::Reaction(id));
        let seen = look(&mut InClient(self.client.transaction(&mut run)));
        self.client.finish(run, Closed::Returned);
        if let Ok(snapshot) = seen {
            history.centres.note_snapshot(self.index, view, snapshot);
        }
    }

    fn note_no_room(&mut self, id: ReactionId, history: &mut History) {
        let needs = self.watchers.iter().filter(|(id, _)| !self.failed.contains(id)).map(|(_, (watcher, _))| *watcher);
        let is_known = !self.has_tabs && self.client.pending().next().is_none();
        let needed_by = is_known.then(|| needs.collect());
        let (client, store, at) = (self.index, self.store, self.client.at());
        let cache_bytes_max = self.settings.limits.cache_bytes_max;
        history.refusals.push(Refusal { client, store, at, needed_by, cache_bytes_max });
        self.failed.insert(id);
        self.seen.remove(&id);
    }

    /// The app tries what failed for want of room again.
    pub fn renew_failed(&mut self) {
        for id in std::mem::take(&mut self.failed) {
            self.client.renew(id);
        }
    }

    /// A call that this tab made before it led, and could not store, as far as it knows. One that it wanted back is taken back.
    pub fn make_again(&mut self, now: Now, ticket: Ticket, history: &mut History) {
        let own = &history.tickets[&ticket];
        let (name, arguments) = match &own.call {
            Call::Edit(typing) => (LIVE, typing.arguments.clone()),
            other => ("call", other.to_json()),
        };
        let wants_back = own.asked_back;
        let made = self.client.mutate_by_ticket(now.wall, ticket, name, &arguments);
        let counter = made.expect("it waits for few");
        if self.client.mutation(counter).is_none() {
            self.told_again.insert(counter);
        } else if !history.calls.contains_key(&(self.index, counter)) {
            self.note_adopted(ticket, counter, history);
        }
        if wants_back {
            self.client.cancel(counter);
        }
    }

    fn note_adopted(&mut self, ticket: Ticket, counter: Counter, history: &mut History) {
        let own = history.tickets.get_mut(&ticket).expect("only what was called is adopted");
        own.counters.insert(counter);
        let called = Called::new(own.call.clone(), CalledAs::Named, own.at, self.life);
        self.note_call(counter, Called { ticket: Some(ticket), ..called }, history);
    }

    /// Another history of the store: what was confirmed in the last one is not in it.
    fn follow_store(&mut self, history: &History, occasions: &mut Counts<Occasion>) {
        let store = self.client.store();
        if store == self.store {
            return;
        }
        if self.store.is_some() {
            occasions.add(Occasion::HistoryLeft, 1);
        }
        self.store = store;
        self.forget_delivery();
        let pending: BTreeSet<Counter> = self.client.pending().map(|pending| pending.counter).collect();
        let confirmed = |counter: &Counter| history.outlives_its_process((self.index, *counter), store);
        self.alive.retain(|counter| pending.contains(counter) || confirmed(counter));
    }

    fn note_status(
        &mut self,
        counter: Counter,
        status: MutationStatus,
        moment: Moment,
        history: &mut History,
        occasions: &mut Counts<Occasion>,
    ) {
        if self.told_again.remove(&counter) {
            return;
        }
        let stood_on_what_was_taken_back = matches!(status, MutationStatus::Rejected { .. })
            && history.stands_on_what_was_taken_back((self.index, counter));
        let called = history.calls.get_mut(&(self.index, counter)).expect("only what was called has a status");
        note_merging(&mut history.centres, self.index, called, &status);
        let how = match status {
            MutationStatus::Pending(pending) => {
                called.durable |= pending.durable;
                called.has_no_room |= pending.would_reject.as_deref().is_some_and(is_for_want_of_room);
                return;
            }
            MutationStatus::Confirmed { at } => EndedAs::Confirmed(at),
            MutationStatus::Rejected { reason } => {
                occasions.add(Occasion::EditRefused, u64::from(stood_on_what_was_taken_back));
                EndedAs::Rejected(reason)
            }
            MutationStatus::Quarantined { reason } => {
                occasions.add(Occasion::NoRoom, u64::from(is_for_want_of_room(&reason)));
                EndedAs::Quarantined(reason)
            }
            MutationStatus::Cancelled { reason } => EndedAs::Cancelled(reason),
            MutationStatus::Overruled => EndedAs::Overruled,
        };
        if !matches!(how, EndedAs::Confirmed(_)) {
            self.alive.remove(&counter);
        }
        if matches!(how, EndedAs::Confirmed(_)) {
            self.confirmed.insert(counter);
        }
        if self.closures.remove(&counter).is_some() && matches!(how, EndedAs::Confirmed(_)) {
            occasions.add(Occasion::ClosureConfirmed, 1);
        }
        // A client that lost its note of the end learns it again, and it has to be the same, in one history of the store.
        let (life, confirmed_through) = (self.life, self.client.at());
        let end = || End { at: moment, life, how: how.clone(), confirmed_through };
        let (is_kept, is_of_guests) = (called.is_kept(), called.is_of_guests());
        let first = called.ends.entry(self.store).or_insert_with(end);
        // A denial of what merges is not recorded. A process that has not stored it asks again, and is judged again.
        if is_of_guests && first.life != life && matches!(first.how, EndedAs::Quarantined(_)) {
            *first = end();
            return;
        }
        if let (EndedAs::Confirmed(one), EndedAs::Confirmed(other)) = (&first.how, &how)
            && is_kept
            && one != other
        {
            return history.rows.told_twice.push(((self.index, counter), *one, *other));
        }
        assert!(first.is_as(&how, life), "a mutation ended in two ways: {first:?}, and then {how:?}");
    }

    /// What each watcher that has not failed saw last.
    pub fn last_seen(&self) -> impl Iterator<Item = (Watcher, Option<&String>)> {
        let going = self.watchers.iter().filter(|(id, _)| !self.failed.contains(id));
        going.map(|(id, (watcher, _))| (*watcher, self.seen.get(id)))
    }

    pub fn is_online(&self) -> bool {
        self.client.connection() == Connection::Online
    }

    /// What keeps it from being quiet, for people.
    pub fn restlessness(&self) -> String {
        let pending: Vec<_> = self.client.pending().collect();
        let calls: Vec<_> = self.tabs.values().map(|tab| (tab.id, tab.follower.calls().collect::<Vec<_>>())).collect();
        let (connection, idle) = (self.client.connection(), self.device.is_idle());
        format!("{connection:?}, storage idle: {idle}, pending: {pending:?}, calls of tabs: {calls:?}")
    }

    /// Nothing goes on, and yet a call of a tab that closed without a word is still where the tab stored it.
    pub fn has_stranded_calls(&self) -> bool {
        let calls = self.tabs.values().all(TabNode::is_quiet);
        calls && self.client.pending().next().is_none() && self.device.has_only_outbox()
    }

    pub fn is_quiet(&self) -> bool {
        let tabs = self.tabs.values().all(TabNode::is_quiet);
        tabs && self.client.pending().next().is_none() && self.device.is_idle()
    }
}

/// Notes what a client was told of a call of tables that merge.
fn note_merging(centres: &mut CentresTold, client: ClientIndex, called: &Called, status: &MutationStatus) {
    let Call::Centres(Named { name, .. }) = &called.call else { return };
    match status {
        MutationStatus::Pending(pending) if pending.durable && !pending.waits_for_data => {
            centres.note_durable(client, *name);
        }
        MutationStatus::Pending(_) => {}
        MutationStatus::Confirmed { .. } => centres.note_confirmed(client, *name),
        MutationStatus::Quarantined { .. } if called.is_of_guests() => centres.note_denied(client, *name),
        ended @ (MutationStatus::Rejected { .. }
        | MutationStatus::Quarantined { .. }
        | MutationStatus::Cancelled { .. }
        | MutationStatus::Overruled) => centres.note_refused(client, *name, &format!("{ended:?}")),
    }
}

fn open(
    (index, version): (ClientIndex, SchemaVersion),
    storage: &Entries,
    settings: ClientSettings,
    now: Now,
    broken: Broken,
    random: &mut Random,
) -> Checked<Client> {
    let fresh = random.id();
    let config = Config {
        schema: version.schema(),
        fresh_client: ClientId(Id::from_u128(fresh)),
        fresh_secret: DeviceSecret((!fresh).to_be_bytes()),
        token: TokenSource::Fixed(if version.has_users() {
            Speaker::of(index).token()
        } else {
            super::front_node::TOKEN.into()
        }),
        user: "simulated".into(),
        gateways: vec![settings.gateways; settings.centres],
        batch: settings.batch,
        stores_cache: true,
        seed: random.bits(),
        limits: settings.limits,
    };
    let stored: Vec<(Vec<u8>, Vec<u8>)> = storage.iter().map(|(key, value)| (key.clone(), value.clone())).collect();
    let mut client = Client::open(config, stored, now).expect("what a client stored it can read");
    client.break_for_simulation(broken.of_client());
    Checked::new(client)
}
