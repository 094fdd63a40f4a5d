//! The app of tables that merge, and its clients: some are online mostly, some are away for long.

use iolite_values::Counter;

use super::World;
use crate::app::Call;
use crate::centres::app::STAYING;
use crate::centres::{CentreEvent, Name, Named, OfCentres};
use crate::history::{Called, ClientIndex};

/// How often a client that is away comes back when its app does something, in thousandths: the first client, the second, and so on.
const COMES_BACK: [u64; 4] = [300, 60, 10, 120];

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
        let what = OfCentres::random(&mut self.random);
        self.count_away(client);
        self.call_named(client, what);
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
    }
}
