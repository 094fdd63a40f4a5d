//! What each event does, and what clients' outputs become.

use super::client_node::Leaving;
use super::events::{Event, ServerEvent};
use super::server::End;
use super::{Process, World};
use crate::history::{ClientIndex, Moment};
use crate::rights::RightsEvent;

const MILLISECOND: Moment = 1_000_000;
/// A closure makes its client's process busy for less than this, mostly.
const BUSY_MOSTLY: Moment = 400 * MILLISECOND;
/// Some closures take longer than a gateway waits for a member.
const BUSY_LONG: [Moment; 2] = [2_000 * MILLISECOND, 5_000 * MILLISECOND];

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
            Event::Centre(event) => self.on_centre_link_event(event),
            Event::CentreFault(fault) => self.make_centre_fault(fault),
            Event::Deploy => self.deploy(),
            Event::Hostile => self.act_hostile(),
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
                self.rights_events.add(RightsEvent::Deployed, std::mem::take(&mut node.deployed));
                self.leave_front(front, leaving);
            }
        }
        for client in 0..self.clients.len() {
            if !self.healing && self.random.chance(self.habits.batch) {
                continue;
            }
            self.make_busy(ClientIndex(client));
            self.settle_client(ClientIndex(client));
        }
        self.begin_syncs();
    }

    pub(super) fn settle_client(&mut self, client: ClientIndex) {
        let (now, moment) = (self.now_of_client(client), self.moment);
        let node = &mut self.clients[client.0];
        if node.is_busy(moment) {
            return self.settle_tabs(client);
        }
        node.go_on(now, &mut self.history);
        let leaving = node.settle(moment, &mut self.history, &mut self.occasions);
        node.will_take(None);
        if let Some(until) = node.busy_until(moment) {
            self.events.add(until, Event::Server(ServerEvent::GoesOn));
        }
        leaving.into_iter().for_each(|output| self.take_from_client(client, output));
        self.settle_tabs(client);
    }

    /// Now and then the first closure that a client has to run takes long.
    fn make_busy(&mut self, client: ClientIndex) {
        if self.healing || self.clients[client.0].is_busy(self.moment) || !self.random.chance(self.habits.busy) {
            return;
        }
        let [least, most] = if self.random.chance(300) { BUSY_LONG } else { [MILLISECOND, BUSY_MOSTLY] };
        let takes = self.random.between(least, most);
        self.clients[client.0].will_take(Some(takes));
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
