//! The tabs of clients: opened, closed, frozen; the channel between them; a lost leader, and the tab that takes over.

use iolite_client::{FollowerInput, Input, TabId};
use iolite_machine::Machine;

use super::World;
use super::device::{Done, Job, Writer};
use super::events::{Event, LeaderThen, TabEvent};
use super::tab_node::{Leaving, TabNode, note_call};
use crate::app::SchemaVersion;
use crate::faults::Fault;
use crate::history::{ClientIndex, EndedAs, Moment};
use crate::occasions::Occasion;

const MILLISECOND: Moment = 1_000_000;
/// As hosts do, until they try again what they were told has failed.
const STORE_AGAIN_AFTER: Moment = 2_000 * MILLISECOND;
/// Tabs of one client at once, besides the one that leads.
const TABS_MAX: usize = 2;

impl World {
    pub(super) fn on_tab_event(&mut self, client: ClientIndex, event: TabEvent) {
        match event {
            TabEvent::Open => self.open_tab(client),
            TabEvent::FromLeader { tab, leader, message } => self.tab_takes(client, tab, leader, message),
            TabEvent::ToLeader { tab, message } => self.tell_leader(client, Input::FromTab(tab, message)),
            TabEvent::LeaderChanged(tab) => self.tell_tab(client, tab, FollowerInput::LeaderChanged),
            TabEvent::Gone(tab) => self.tell_leader(client, Input::TabGone(tab)),
            TabEvent::Stored(tab, persist) => self.tell_tab(client, tab, FollowerInput::Persisted(persist)),
            TabEvent::Thaw => {}
            TabEvent::Reload(tab) => self.reload_tab(client, tab),
        }
    }

    fn open_tab(&mut self, client: ClientIndex) {
        if !self.clients[client.0].has_tabs || self.clients[client.0].tabs.len() >= TABS_MAX {
            return;
        }
        self.last_tab += 1;
        let id = TabId(self.last_tab);
        let now = self.now_of_client(client);
        let version = self.clients[client.0].version;
        let mut tab = TabNode::open(id, client, version, self.habits.client_limits, now);
        let calls = self.habits.calls;
        super::add_watchers(&mut |watcher, view| tab.watch(watcher, view), calls, &mut self.random);
        self.clients[client.0].tabs.insert(id, tab);
    }

    /// A tab is closed. Its leader hears of it, or finds it out.
    pub(super) fn close_tab(&mut self) {
        let Some((client, id)) = self.some_tab() else { return };
        self.faults.add(Fault::TabClosed, 1);
        self.end_tab(client, id);
    }

    /// The user reloads a tab of an old version of the app.
    fn reload_tab(&mut self, client: ClientIndex, id: TabId) {
        let node = &self.clients[client.0];
        if node.tabs.get(&id).is_some_and(|tab| tab.version != node.version) {
            self.end_tab(client, id);
        }
    }

    fn end_tab(&mut self, client: ClientIndex, id: TabId) {
        let node = &mut self.clients[client.0];
        node.tabs.remove(&id);
        node.device.lose(Writer::Tab(id), &mut self.random);
        if self.random.chance(700) {
            let at = self.moment + self.random.between(1, 100) * MILLISECOND;
            self.events.add(at, Event::Tab(client, TabEvent::Gone(id)));
        }
        let at = self.moment + self.random.between(1, 500) * MILLISECOND;
        self.events.add(at, Event::Tab(client, TabEvent::Open));
    }

    pub(super) fn freeze_tab(&mut self) {
        let Some((client, id)) = self.some_tab() else { return };
        self.faults.add(Fault::TabFrozen, 1);
        let until = self.moment + self.random.between(20, 3_000) * MILLISECOND;
        if let Some(tab) = self.clients[client.0].tabs.get_mut(&id) {
            // Never shorter: what waits already comes at the end that it was given, and later messages would overtake it.
            tab.frozen_until = tab.frozen_until.max(until);
        }
        self.events.add(until, Event::Tab(client, TabEvent::Thaw));
    }

    /// The leading tab is closed, and one that followed leads.
    pub(super) fn lose_leader(&mut self) {
        let Some((client, id)) = self.some_tab() else { return };
        self.faults.add(Fault::LeaderLost, 1);
        self.settle_tab(client, id);
        let Some(heir) = self.clients[client.0].tabs.remove(&id) else { return };
        // It asks for what it has to write, and waits for that before it opens the storage. What fails once more is given up.
        if self.random.chance(500) {
            self.clients[client.0].device.try_again(Writer::Tab(id));
        }
        let device = &mut self.clients[client.0].device;
        device.give_up(Writer::Tab(id));
        device.flush(Writer::Tab(id));
        self.restart_client(client);
        let now = self.now_of_client(client);
        let node = &mut self.clients[client.0];
        for (ticket, _) in heir.follower.calls() {
            if self.history.tickets[&ticket].stored {
                note_call(ticket, node.client.call_status(ticket), &mut self.history);
            } else {
                node.make_again(now, ticket, &mut self.history);
            }
        }
        heir.watchers.values().for_each(|(watcher, view)| node.watch(*watcher, *view));
        let at = self.moment + self.random.between(1, 500) * MILLISECOND;
        self.events.add(at, Event::Tab(client, TabEvent::Open));
    }

    /// The leading tab's process ends, and another one opens the storage. The other tabs hear of it after a while.
    pub(super) fn restart_client(&mut self, client: ClientIndex) {
        if let Some(link) = self.links.of_client(client) {
            self.break_link(link, false, true);
        }
        self.count_kept(client);
        self.count_taken_place(client);
        let now = self.now_of_client(client);
        let node = &mut self.clients[client.0];
        node.restart(now, self.broken, &mut self.random, &self.history, &mut self.occasions);
        node.learn_refused(self.moment, &mut self.history);
        self.history.centres.note_restart(client);
        let calls = &self.history.calls;
        let has_ended = |call| {
            let ends = calls.get(&(client, call)).into_iter().flat_map(|called| called.ends.values());
            ends.into_iter().any(|end| end.how != EndedAs::Overruled)
        };
        self.history.rows.note_restart(client, &node.pending_counters(), has_ended);
        self.history.delivery.note_position(node.life(), node.client.at());
        // A client that had stored nothing yet is another one now.
        self.history.versions.insert(client, node.version);
        self.history.note_device(node.client.identity(), client);
        let tabs: Vec<TabId> = node.tabs.keys().copied().collect();
        for tab in tabs {
            let at = self.moment + self.random.between(1, 300) * MILLISECOND;
            self.events.add(at, Event::Tab(client, TabEvent::LeaderChanged(tab)));
        }
    }

    /// The app of a client is another version from its next start on. Its open tabs are of the old one until the user reloads them.
    pub(super) fn upgrade(&mut self, client: ClientIndex) {
        let node = &mut self.clients[client.0];
        let (next, occasion) = match node.version {
            SchemaVersion::First => (SchemaVersion::Grown, Occasion::SchemaGrown),
            SchemaVersion::Grown => (SchemaVersion::Pruned, Occasion::SchemaPruned),
            SchemaVersion::Pruned
            | SchemaVersion::Rows
            | SchemaVersion::Centres
            | SchemaVersion::Guests
            | SchemaVersion::Rights => return,
        };
        node.version = next;
        self.occasions.add(occasion, 1);
        let tabs: Vec<TabId> = node.tabs.keys().copied().collect();
        for tab in tabs {
            let at = self.moment + self.random.between(1, 2_000) * MILLISECOND;
            self.events.add(at, Event::Tab(client, TabEvent::Reload(tab)));
        }
    }

    /// Starts clients again whose storage holds calls of tabs that closed without a word before they had joined a leader: the next start
    /// takes them, as docs/protocols/tabs.md says.
    pub fn restart_stranded(&mut self) {
        let stranded = self.clients.iter().filter(|node| node.has_stranded_calls()).map(|node| node.index);
        for client in stranded.collect::<Vec<_>>() {
            self.restart_client(client);
        }
    }

    fn some_tab(&mut self) -> Option<(ClientIndex, TabId)> {
        let tabs = self.clients.iter().flat_map(|node| node.tabs.keys().map(|id| (node.index, *id)));
        let tabs: Vec<(ClientIndex, TabId)> = tabs.collect();
        let place = self.random.below(tabs.len().max(1) as u64) as usize;
        tabs.get(place).copied()
    }

    fn tab_takes(&mut self, client: ClientIndex, id: TabId, leader: LeaderThen, message: Vec<u8>) {
        let now = self.now_of_client(client);
        let moment = self.moment;
        let Some(tab) = self.clients[client.0].tabs.get_mut(&id) else { return };
        if tab.frozen_until > moment {
            // A frozen tab takes its messages when it goes on, and may have lost some.
            let until = tab.frozen_until;
            if self.random.chance(20) {
                tab.miss();
            } else {
                self.events.add(until, Event::Tab(client, TabEvent::FromLeader { tab: id, leader, message }));
            }
            return;
        }
        tab.take(now, moment, message, leader, &self.history);
    }

    fn tell_leader(&mut self, client: ClientIndex, input: Input) {
        let now = self.now_of_client(client);
        self.clients[client.0].handle(now, self.moment, input, &mut self.history);
    }

    fn tell_tab(&mut self, client: ClientIndex, id: TabId, input: FollowerInput) {
        let now = self.now_of_client(client);
        let moment = self.moment;
        let Some(tab) = self.clients[client.0].tabs.get_mut(&id) else { return };
        if tab.frozen_until <= moment {
            return tab.follower.handle(now, input);
        }
        let until = tab.frozen_until;
        match input {
            FollowerInput::Persisted(persist) => {
                self.events.add(until, Event::Tab(client, TabEvent::Stored(id, persist)));
            }
            FollowerInput::LeaderChanged => {
                self.events.add(until, Event::Tab(client, TabEvent::LeaderChanged(id)));
            }
            FollowerInput::FromLeader(_) => unreachable!("messages go another way"),
        }
    }

    pub(super) fn settle_tabs(&mut self, client: ClientIndex) {
        let ids: Vec<TabId> = self.clients[client.0].tabs.keys().copied().collect();
        for id in ids {
            let awake = self.clients[client.0].tabs.get(&id).is_some_and(|tab| tab.frozen_until <= self.moment);
            if awake {
                self.settle_tab(client, id);
            }
        }
    }

    fn settle_tab(&mut self, client: ClientIndex, id: TabId) {
        let Some(tab) = self.clients[client.0].tabs.get_mut(&id) else { return };
        for leaving in tab.settle(&mut self.history) {
            match leaving {
                Leaving::ToLeader(message) => self.send_to_leader(client, id, message),
                Leaving::Store(persist, changes) => {
                    self.clients[client.0].device.give(Writer::Tab(id), Job::Batch(persist, changes));
                    self.plan_storing(client);
                }
            }
        }
    }

    fn send_to_leader(&mut self, client: ClientIndex, id: TabId, message: Vec<u8>) {
        let at = self.channel_arrival();
        let Some(tab) = self.clients[client.0].tabs.get_mut(&id) else { return };
        tab.up_until = at.max(tab.up_until + 1);
        self.events.add(tab.up_until, Event::Tab(client, TabEvent::ToLeader { tab: id, message }));
    }

    pub(super) fn send_to_tab(&mut self, client: ClientIndex, id: TabId, leader: LeaderThen, message: Vec<u8>) {
        let at = self.channel_arrival();
        let Some(tab) = self.clients[client.0].tabs.get_mut(&id) else { return };
        tab.down_until = at.max(tab.down_until + 1);
        self.events.add(tab.down_until, Event::Tab(client, TabEvent::FromLeader { tab: id, leader, message }));
    }

    fn channel_arrival(&mut self) -> Moment {
        self.moment + self.random.between(10_000, 5 * MILLISECOND)
    }

    pub(super) fn plan_storing(&mut self, client: ClientIndex) {
        let takes = self.random.between(50_000, self.roughness.store_delay_ms * MILLISECOND);
        self.events.add(self.moment + takes, Event::Stored(client));
    }

    /// The storage of a client's device finishes its oldest job.
    pub(super) fn stored(&mut self, client: ClientIndex) {
        if !self.healing && self.roughness.stored_unheard > 0 && self.random.chance(self.roughness.stored_unheard) {
            return self.store_unheard(client);
        }
        let now = self.now_of_client(client);
        let node = &mut self.clients[client.0];
        match node.device.next() {
            Some((Writer::Leader(life), done)) if life == node.life => {
                let input = match done {
                    Done::Stored(id) => {
                        self.history.centres.note_stored(client, id);
                        Input::Persisted(id)
                    }
                    Done::Outbox(entries) => Input::Outbox(entries),
                };
                node.handle(now, self.moment, input, &mut self.history);
            }
            Some((Writer::Tab(tab), Done::Stored(id))) => self.tell_tab(client, tab, FollowerInput::Persisted(id)),
            Some(_) | None => {}
        }
    }

    /// The browser closes the database while a batch is stored, and the tab is told that it is not.
    fn store_unheard(&mut self, client: ClientIndex) {
        let Some(writer) = self.clients[client.0].device.store_unheard() else { return self.plan_storing(client) };
        self.faults.add(Fault::StoredUnheard, 1);
        self.events.add(self.moment + STORE_AGAIN_AFTER, Event::StoreAgain(client, writer));
    }

    pub(super) fn store_again(&mut self, client: ClientIndex, writer: Writer) {
        if let Writer::Tab(id) = writer
            && let Some(tab) = self.clients[client.0].tabs.get(&id)
            && tab.frozen_until > self.moment
        {
            return self.events.add(tab.frozen_until, Event::StoreAgain(client, writer));
        }
        for _ in 0..self.clients[client.0].device.try_again(writer) {
            self.plan_storing(client);
        }
    }
}
