//! What each event does, and what clients' outputs become.

use super::client_node::Leaving;
use super::events::Event;
use super::server::End;
use super::{Process, World};
use crate::history::ClientIndex;

impl World {
    pub(super) fn on_event(&mut self, event: Event) {
        if let Some(later) = self.comes_later(&event) {
            return self.events.add(later, event);
        }
        match event {
            Event::Work(client) => self.work(client),
            Event::Session(event) => self.on_session_event(event),
            Event::Server(event) => self.on_server_event(event),
            Event::Tab(client, event) => self.on_tab_event(client, event),
            Event::Stored(client) => self.stored(client),
            Event::StoreAgain(client, writer) => self.store_again(client, writer),
            Event::Fault(fault) => self.make_fault(fault),
        }
    }

    /// Carries outputs until every process is silent. Some hosts hand a client several inputs before they take its outputs.
    pub(super) fn settle(&mut self) {
        for front in 0..self.fronts.len() {
            if self.is_still(End::Front(front)) {
                continue;
            }
            let now = self.now_of_front(front);
            if let Process::Up(node) = &mut self.fronts[front] {
                let leaving = node.settle(now, &mut self.random, &mut self.occasions, &mut self.history);
                self.leave_front(front, leaving);
            }
        }
        for client in 0..self.clients.len() {
            if !self.healing && self.random.chance(self.habits.batch) {
                continue;
            }
            self.settle_client(ClientIndex(client));
        }
        self.begin_syncs();
    }

    pub(super) fn settle_client(&mut self, client: ClientIndex) {
        let leaving = self.clients[client.0].settle(self.moment, &mut self.history, &mut self.occasions);
        leaving.into_iter().for_each(|output| self.take_from_client(client, output));
        self.settle_tabs(client);
    }

    fn take_from_client(&mut self, client: ClientIndex, output: Leaving) {
        match output {
            Leaving::Connect(gateway) => self.connect(client, gateway),
            Leaving::Disconnect => self.disconnected(client),
            Leaving::Frame(frame) => self.send_up(client, frame),
            Leaving::Store => self.plan_storing(client),
            Leaving::ToTab(tab, leader, message) => self.send_to_tab(client, tab, leader, message),
        }
    }
}
