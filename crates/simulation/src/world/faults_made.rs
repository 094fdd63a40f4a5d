//! The faults, as they are made.

use iolite_machine::Machine;

use super::client_node::ClientNode;
use super::events::Event;
use super::front_node::FrontNode;
use super::store_node::StoreNode;
use super::{Process, World};
use crate::faults::Fault;
use crate::history::{ClientIndex, Moment};

const MILLISECOND: Moment = 1_000_000;

impl World {
    pub(super) fn plan_faults(&mut self) {
        let all = [
            Event::Disconnect,
            Event::CrashStore,
            Event::CrashFront,
            Event::CrashClient,
            Event::LoseLeader,
            Event::CloseTab,
            Event::FreezeTab,
            Event::JumpClock,
        ];
        for event in all {
            self.plan(event);
        }
    }

    /// Plans the next fault of a kind, if the run has that kind.
    fn plan(&mut self, event: Event) {
        let every_ms = match &event {
            Event::Disconnect => self.roughness.disconnect_every_ms,
            Event::CrashStore => self.roughness.server_restart_every_ms,
            Event::CrashFront => self.roughness.gateway_restart_every_ms,
            Event::CrashClient => self.roughness.client_restart_every_ms,
            Event::LoseLeader => self.roughness.leader_lost_every_ms,
            Event::CloseTab => self.roughness.tab_closed_every_ms,
            Event::FreezeTab => self.roughness.tab_frozen_every_ms,
            Event::JumpClock => self.roughness.clock_jump_every_ms,
            other => unreachable!("{other:?} is no fault"),
        };
        if every_ms > 0 && !self.healing {
            let wait = self.random.between(1, 2 * every_ms) * MILLISECOND;
            self.events.add(self.moment + wait, event);
        }
    }

    pub(super) fn make_fault(&mut self, event: Event) {
        if self.healing {
            return;
        }
        match &event {
            Event::Disconnect => self.disconnect(),
            Event::CrashStore => self.crash_store(),
            Event::CrashFront => self.crash_front(),
            Event::CrashClient => self.crash_client(),
            Event::LoseLeader => self.lose_leader(),
            Event::CloseTab => self.close_tab(),
            Event::FreezeTab => self.freeze_tab(),
            Event::JumpClock => self.jump_clock(),
            other => unreachable!("{other:?} is no fault"),
        }
        self.plan(event);
    }

    fn disconnect(&mut self) {
        let links = self.links.ids();
        if links.is_empty() {
            return;
        }
        let id = links[self.random.below(links.len() as u64) as usize];
        self.faults.add(Fault::Disconnect, 1);
        self.break_link(id, true, true);
    }

    /// Whole server, or the store alone, with the power or without.
    fn crash_store(&mut self) {
        let Process::Up(_) = &self.store else { return };
        self.faults.add(Fault::ServerRestart, 1);
        let power_cut = self.random.chance(700);
        let all = self.random.chance(600);
        let Process::Up(store) = std::mem::replace(&mut self.store, Process::Down(Default::default())) else { return };
        self.store = Process::Down(store.crash(power_cut, &mut self.random));
        let down = self.random.between(1, 400) * MILLISECOND;
        self.events.add(self.moment + down, Event::StartStore);
        if all {
            for front in 0..self.fronts.len() {
                self.stop_front(front, down);
            }
        }
    }

    pub(super) fn start_store(&mut self) {
        let Process::Down(disk) = &mut self.store else { return };
        let disk = std::mem::take(disk);
        self.boots += 1;
        let store = StoreNode::start(disk, self.boots, self.retention, self.broken, &mut self.history);
        self.store = Process::Up(Box::new(store));
    }

    fn crash_front(&mut self) {
        self.faults.add(Fault::GatewayRestart, 1);
        let front = self.random.below(self.fronts.len() as u64) as usize;
        let down = self.random.between(1, 300) * MILLISECOND;
        self.stop_front(front, down);
    }

    fn stop_front(&mut self, front: usize, down: Moment) {
        if let Process::Down(()) = self.fronts[front] {
            return;
        }
        self.fronts[front] = Process::Down(());
        self.front_lives[front] += 1;
        for link in self.links.of_front(front) {
            self.break_link(link, true, false);
        }
        self.events.add(self.moment + down, Event::StartFront(front));
    }

    pub(super) fn start_front(&mut self, front: usize) {
        let now = self.now_of_front(front);
        let node = FrontNode::start(now, front as u16, self.broken, &mut self.random);
        self.fronts[front] = Process::Up(Box::new(node));
    }

    fn crash_client(&mut self) {
        self.faults.add(Fault::ClientRestart, 1);
        let index = ClientIndex(self.random.below(self.clients.len() as u64) as usize);
        self.restart_client(index);
        let node: &mut ClientNode = &mut self.clients[index.0];
        super::add_watchers(&mut |watcher, view| node.watch(watcher, view), &mut self.random);
    }

    fn jump_clock(&mut self) {
        self.faults.add(Fault::ClockJump, 1);
        let process = self.random.below(self.skews.len() as u64) as usize;
        self.skews[process] = super::skew(&mut self.random);
    }

    /// Ends a link, and tells the ends that live on.
    pub(super) fn break_link(&mut self, id: super::links::LinkId, tell_client: bool, tell_front: bool) {
        let Some(link) = self.links.remove(id) else { return };
        if tell_client && self.clients[link.client.0].life == link.client_life {
            let now = self.now_of_client(link.client);
            self.clients[link.client.0].client.handle(now, iolite_client::Input::LinkLost);
        }
        let now = self.now_of_front(link.front);
        if let Process::Up(front) = &mut self.fronts[link.front]
            && tell_front
            && self.front_lives[link.front] == link.front_life
        {
            front.closed(now, id.session());
        }
    }
}
