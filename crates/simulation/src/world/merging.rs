//! The app of tables that merge, and its clients: some are online mostly, some are away for long.

use iolite_gateway::DeploymentId;
use iolite_values::Counter;

use super::events::Event;
use super::server::End;
use super::{Process, World};
use crate::app::Call;
use crate::centres::app::STAYING;
use crate::centres::guests::{self, OfGuests};
use crate::centres::{CentreEvent, Name, Named, OfCentres};
use crate::habits::Calls;
use crate::history::{Called, ClientIndex, EndedAs, Moment};
use crate::rights::Speaker;

/// How often a client that is away comes back when its app does something, in thousandths: the first client, the second, and so on.
const COMES_BACK: [u64; 4] = [300, 60, 10, 120];

/// How many calls of an operator, and of users, are about guests, in thousandths.
const GUESTS_OF_OPERATOR: u64 = 700;
const GUESTS_OF_USERS: u64 = 500;
/// Between two deployments, of which the later ones change nothing.
const DEPLOY_AGAIN: Moment = 1_000_000_000;

impl World {
    /// The app calls a mutation, mostly; sometimes it goes offline and back.
    pub(super) fn work_on_centres(&mut self, client: ClientIndex) {
        let now = self.now_of_client(client);
        let comes_back = self.random.chance(COMES_BACK[client.0 % COMES_BACK.len()]);
        let node = &mut self.clients[client.0];
        if node.is_paused && comes_back {
            return node.go_online(now.instant);
        }
        match self.random.below(100) {
            0..=3 => node.go_offline(),
            4..=10 => self.dismiss(client),
            _ => self.call_on_centres(client),
        }
    }

    fn call_on_centres(&mut self, client: ClientIndex) {
        let node = &self.clients[client.0];
        if self.calls_left[client.0] == 0 || node.client.pending().count() >= self.habits.pending_max {
            return;
        }
        self.calls_left[client.0] -= 1;
        let what = self.next_call(client);
        self.count_away(client);
        self.call_named(client, what);
    }

    fn next_call(&mut self, client: ClientIndex) -> OfCentres {
        let speaker = Speaker::of(client);
        let of_guests = if speaker == Speaker::Operator { GUESTS_OF_OPERATOR } else { GUESTS_OF_USERS };
        let has_guests = self.habits.calls == Calls::Centres { guests: true };
        if has_guests && self.random.chance(of_guests) {
            let users = self.clients.len() as u64 - 1;
            return OfCentres::Guests(OfGuests::random(&mut self.random, speaker, users));
        }
        OfCentres::random(&mut self.random)
    }

    /// Where users have rights, these come into effect at each data centre.
    pub(super) fn open_to_guests(&mut self) {
        if self.habits.calls == (Calls::Centres { guests: true }) {
            self.history.rights.is_on = true;
            self.events.add(0, Event::Deploy);
        }
    }

    /// The same again: a data centre may have been down.
    pub(super) fn deploy_for_guests(&mut self) {
        self.events.add(self.moment + DEPLOY_AGAIN, Event::Deploy);
        for front in 0..self.fronts.len() {
            self.deployments += 1;
            let (now, id) = (self.now_of_front(front), DeploymentId(self.deployments));
            let is_still = self.is_still(End::Front(front));
            if let (Process::Up(node), false) = (&mut self.fronts[front], is_still) {
                node.deploy(now, id, guests::deployment());
            }
        }
    }

    fn count_away(&mut self, client: ClientIndex) {
        let is_away = !self.clients[client.0].is_online();
        self.centre_events.add(CentreEvent::CalledOffline, u64::from(is_away));
    }

    /// The name of the next call.
    pub fn next_name(&self) -> Name {
        self.next_element
    }

    pub fn call_named(&mut self, client: ClientIndex, what: OfCentres) {
        let name = self.next_element;
        self.next_element += 1;
        let now = self.now_of_client(client);
        self.history.centres.note_called(client, name);
        self.clients[client.0].call(now, self.moment, Call::Centres(Named { name, what }), &mut self.history);
    }

    /// Every client visits somebody.
    pub fn visit_once_more(&mut self) {
        for client in (0..self.clients.len()).map(ClientIndex) {
            let of = self.random.below(STAYING as u64) as i64;
            self.call_named(client, OfCentres::Visit { of, amount: 1 });
        }
    }

    /// A client's process is about to end.
    pub(super) fn count_taken_place(&mut self, client: ClientIndex) {
        let node = &self.clients[client.0];
        let own = |counter: &Counter| match self.history.calls.get(&(client, *counter)) {
            Some(Called { call: Call::Centres(_), durable: true, .. }) => true,
            Some(_) | None => false,
        };
        let held = || node.client.pending().filter(|pending| own(&pending.counter));
        self.centre_events.add(CentreEvent::RestartedHolding, u64::from(held().next().is_some()));
        self.centre_events.add(CentreEvent::RestartedSent, u64::from(held().any(|pending| pending.status.sent)));
    }

    /// Deeds of the calls of this world.
    pub fn count_calls(&mut self) {
        for did in self.history.centres.calls.values().filter_map(|call| call.did.as_ref()) {
            CentreEvent::of_call(did).for_each(|event| self.centre_events.add(event, 1));
        }
        let of_guests = self.history.calls.values().filter(|called| called.is_of_guests());
        let ends: Vec<&EndedAs> = of_guests.flat_map(|called| called.ends.values()).map(|end| &end.how).collect();
        let count = |is_so: fn(&EndedAs) -> bool| ends.iter().filter(|how| is_so(how)).count() as u64;
        self.centre_events.add(CentreEvent::Denied, count(|how| matches!(how, EndedAs::Quarantined(_))));
        self.centre_events.add(CentreEvent::Allowed, count(|how| matches!(how, EndedAs::Confirmed(_))));
    }
}
