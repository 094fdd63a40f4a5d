//! What the apps of a run do: call mutations, take them back, come and go.

use iolite_client::{CallStatus, Refused};
use iolite_values::Counter;

use super::events::Event;
use super::{World, add_watchers, watch_chairs};
use crate::app::{Call, KEYS};
use crate::habits::Calls;
use crate::history::{ClientIndex, Moment};
use crate::occasions::Occasion;

const MILLISECOND: Moment = 1_000_000;

impl World {
    /// The app calls a mutation, mostly; sometimes it goes offline and back, takes something back, or watches something else.
    pub(super) fn work(&mut self, client: ClientIndex) {
        if self.healing {
            return;
        }
        if let Calls::Game { players } = self.habits.calls {
            self.take_turn(client, players);
            return self.work_later(client);
        }
        if self.clients[client.0].is_busy(self.moment) {
            return self.work_later(client);
        }
        let now = self.now_of_client(client);
        self.clients[client.0].go_on(now, &mut self.history);
        if self.habits.calls == Calls::Rows {
            self.work_on_rows(client);
            return self.work_later(client);
        }
        if self.habits.calls == Calls::Rights {
            self.work_on_rooms(client);
            return self.work_later(client);
        }
        if matches!(self.habits.calls, Calls::Centres { .. }) {
            self.work_on_centres(client);
            return self.work_later(client);
        }
        let left = self.calls_left[client.0];
        let node = &mut self.clients[client.0];
        match self.random.below(100) {
            0 => node.go_offline(),
            1..=8 => node.go_online(now.instant),
            9 => {
                node.stop_one_watcher(&mut self.random);
                node.renew_failed();
            }
            10 => {
                let calls = self.habits.calls;
                add_watchers(&mut |watcher, view| node.watch(watcher, view), calls, &mut self.random);
                watch_chairs(node, self.habits.watches_chairs, &mut self.random);
            }
            _ if left > 0 && node.client.pending().count() < self.habits.pending_max => self.act(client),
            _ => {}
        }
        self.work_later(client);
    }

    fn work_later(&mut self, client: ClientIndex) {
        if self.calls_left[client.0] > 0 {
            let wait = self.random.between(1, self.habits.pause_ms) * MILLISECOND;
            self.events.add(self.moment + wait, Event::Work(client));
        }
    }

    /// Every client calls a mutation, whose end is waited for. Where texts are edited everybody shows all of them by now.
    pub fn call_once_more(&mut self) {
        if self.habits.calls.edit() {
            self.watch_all_pages();
        }
        for client in (0..self.clients.len()).map(ClientIndex) {
            let now = self.now_of_client(client);
            let key = self.random.below(KEYS as u64) as i64;
            self.clients[client.0].call(now, self.moment, Call::Hit { key, amount: 1 }, &mut self.history);
        }
    }

    fn act(&mut self, client: ClientIndex) {
        let (take_back, dismiss, closure) = (self.habits.take_back, self.habits.dismiss, self.habits.closure);
        let draw = self.random.below(1000);
        if draw < take_back {
            return self.take_back(client);
        }
        if draw < take_back + dismiss {
            return self.dismiss(client);
        }
        if let Calls::Everything { edits: edits @ 1.., .. } = self.habits.calls
            && self.random.chance(edits)
        {
            return self.edit(client);
        }
        self.next_element += 1;
        let version = self.clients[client.0].version;
        let call = match self.habits.calls {
            Calls::Everything { keys, .. } => Call::random(&mut self.random, keys, self.next_element, version),
            Calls::Bank => Call::of_bank(&mut self.random),
            Calls::Shelves => Call::of_shelves(&mut self.random),
            Calls::Game { .. } | Calls::Rows | Calls::Centres { .. } | Calls::Rights => {
                unreachable!("players take turns, and the other apps have calls of their own")
            }
        };
        self.calls_left[client.0] -= 1;
        if draw < take_back + dismiss + closure {
            let now = self.now_of_client(client);
            return self.clients[client.0].transact(now, self.moment, call, &mut self.history);
        }
        self.call(client, call);
    }

    /// A call in one of the client's tabs.
    pub(super) fn call(&mut self, client: ClientIndex, call: Call) {
        let now = self.now_of_client(client);
        let node = &mut self.clients[client.0];
        let place = self.random.below(node.tabs.len() as u64 + 1) as usize;
        match node.tabs.values_mut().nth(place) {
            Some(tab) if tab.frozen_until <= self.moment => {
                tab.call(now, self.moment, call, &mut self.random, &mut self.history);
            }
            Some(_) | None => node.call(now, self.moment, call, &mut self.history),
        }
    }

    /// One of the tabs takes a pending mutation back, of whichever tab.
    fn take_back(&mut self, client: ClientIndex) {
        let node = &mut self.clients[client.0];
        let place = self.random.below(node.tabs.len() as u64 + 1) as usize;
        if let Some(tab) = node.tabs.values_mut().nth(place) {
            let own: Vec<_> = tab.follower.calls().map(|(ticket, status)| (ticket, status.clone())).collect();
            if let Some((ticket, CallStatus::Called | CallStatus::Stored | CallStatus::Queued(..))) = own.last() {
                tab.follower.take_back(*ticket);
                self.history.tickets.get_mut(ticket).expect("it was called").asked_back = true;
            }
            return;
        }
        let pending: Vec<Counter> = node.client.pending().map(|pending| pending.counter).collect();
        if pending.is_empty() {
            return;
        }
        // The last one is the least likely to be sent already.
        let counter = if self.random.chance(500) {
            pending[pending.len() - 1]
        } else {
            pending[self.random.below(pending.len() as u64) as usize]
        };
        if node.take_back(counter, &mut self.history) {
            self.occasions.add(Occasion::TakenBack, 1);
        }
    }

    /// The app forgets a mutation that ended without effect.
    pub(super) fn dismiss(&mut self, client: ClientIndex) {
        let node = &mut self.clients[client.0];
        let refused: Vec<Counter> = node.client.refused().map(|refused: &Refused| refused.counter).collect();
        if refused.is_empty() {
            return;
        }
        let counter = refused[self.random.below(refused.len() as u64) as usize];
        self.occasions.add(Occasion::Dismissed, 1);
        // Its end may be on its way to the disk, and is told when nobody asks any more.
        node.forget_dismissed(counter);
        let place = self.random.below(node.tabs.len() as u64 + 1) as usize;
        match node.tabs.values_mut().nth(place) {
            Some(tab) => tab.follower.dismiss(counter),
            None => node.client.dismiss(counter),
        }
    }
}
