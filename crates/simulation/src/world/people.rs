//! The app whose tables sync, and the people before it: some decide conflicts at once, some wait long.

use std::collections::BTreeSet;

use iolite_client::{Cells, Choice, Conflict, ConflictError, Keep, PendingMutation};
use iolite_machine::Now;
use iolite_values::{ColumnId, Counter, Value};

use super::World;
use super::client_node::ClientNode;
use crate::app::Call;
use crate::history::{Called, CalledAs, ClientIndex, EndedAs, History, Moment};
use crate::random::Random;
use crate::rows::app::COLUMNS;
use crate::rows::{OfRows, RowEvent, Synced};

/// How often a person who comes by decides, in thousandths: of the first client, the second, and so on.
const PATIENCE: [u64; 3] = [900, 20, 300];
/// Values of a call. No other call has one of them.
const VALUES_OF_A_CALL: i64 = 4;

impl World {
    /// The app calls a mutation, mostly; sometimes it goes offline and back, takes something back, or a person decides conflicts.
    pub(super) fn work_on_rows(&mut self, client: ClientIndex) {
        let now = self.now_of_client(client);
        let node = &mut self.clients[client.0];
        match self.random.below(100) {
            0..=4 => node.go_offline(),
            5..=18 => node.go_online(now.instant),
            19..=29 if self.random.chance(PATIENCE[client.0 % PATIENCE.len()]) => self.decide(client),
            19..=29 => {}
            30..=32 => self.take_back_kept(client),
            33 => {
                node.stop_one_watcher(&mut self.random);
                let calls = self.habits.calls;
                super::add_watchers(&mut |watcher, view| node.watch(watcher, view), calls, &mut self.random);
            }
            _ => self.call_on_rows(client),
        }
    }

    fn call_on_rows(&mut self, client: ClientIndex) {
        let node = &mut self.clients[client.0];
        if self.calls_left[client.0] == 0 || node.client.pending().count() >= self.habits.pending_max {
            return;
        }
        self.calls_left[client.0] -= 1;
        self.next_element += VALUES_OF_A_CALL;
        let call = OfRows::random(&mut self.random, self.next_element);
        let is_offline = !self.clients[client.0].is_online();
        self.row_events.add(RowEvent::KeptOffline, u64::from(call.is_kept() && is_offline));
        let now = self.now_of_client(client);
        self.clients[client.0].call(now, self.moment, Call::Rows(call), &mut self.history);
    }

    fn take_back_kept(&mut self, client: ClientIndex) {
        let node = &mut self.clients[client.0];
        let pending = node.pending_counters();
        let place = self.random.below(2 * pending.len().max(1) as u64) as usize;
        let Some(counter) = pending.iter().nth(place).or(pending.last()).copied() else { return };
        // What a person decided stays decided.
        let is_decision =
            self.history.calls.get(&(client, counter)).is_some_and(|own| own.call == Call::Rows(OfRows::Decide));
        let stays = is_decision || self.history.rows.is_decided((client, counter));
        if !stays && node.take_back(counter, &mut self.history) {
            self.row_events.add(RowEvent::TakenBack, 1);
            self.history.rows.note_taken_back((client, counter), &pending);
        }
    }

    /// A person decides some of the conflicts that a client lists.
    fn decide(&mut self, client: ClientIndex) {
        let listed = self.clients[client.0].conflicts();
        let some: Vec<Conflict> = listed.into_iter().filter(|_| self.random.chance(700)).collect();
        self.decide_these(client, some);
    }

    /// Everybody decides everything.
    pub fn decide_all(&mut self) {
        for client in (0..self.clients.len()).map(ClientIndex) {
            let listed = self.clients[client.0].conflicts();
            self.decide_these(client, listed);
        }
    }

    fn decide_these(&mut self, client: ClientIndex, conflicts: Vec<Conflict>) {
        if conflicts.is_empty() {
            return;
        }
        self.next_element += VALUES_OF_A_CALL;
        let value = self.next_element;
        let chosen: Vec<(Conflict, Keep)> = conflicts
            .into_iter()
            .enumerate()
            .map(|(place, conflict)| (conflict, keep(&mut self.random, value + place as i64)))
            .collect();
        let now = self.now_of_client(client);
        if self.clients[client.0].decide(now, self.moment, &chosen, &mut self.history) {
            for (_, keep) in &chosen {
                let event = match keep {
                    Keep::Local => RowEvent::KeptLocal,
                    Keep::Server => RowEvent::KeptServer,
                    Keep::Values(_) => RowEvent::KeptValues,
                };
                self.row_events.add(event, 1);
            }
        }
    }

    /// A client's process is about to end.
    pub(super) fn count_kept(&mut self, client: ClientIndex) {
        let node = &self.clients[client.0];
        let is_kept = |counter: &Counter| self.history.calls.get(&(client, *counter)).is_some_and(Called::is_kept);
        let kept = || node.client.pending().filter(|pending| is_kept(&pending.counter));
        self.row_events.add(RowEvent::RestartedKeeping, u64::from(kept().next().is_some()));
        self.row_events.add(RowEvent::RestartedSending, u64::from(kept().any(|pending| pending.status.sent)));
    }

    /// How kept calls ended.
    pub fn count_ends(&mut self) {
        for (call, keeps) in &self.history.rows.calls {
            let of_notes = keeps.effects.iter().any(|effect| effect.table == Synced::Notes);
            let Some(called) = self.history.calls.get(call) else { continue };
            for end in called.ends.values() {
                match (&end.how, of_notes) {
                    (EndedAs::Overruled, _) => self.row_events.add(RowEvent::Overruled, 1),
                    (EndedAs::Rejected(_), true) => self.row_events.add(RowEvent::Refused, 1),
                    (EndedAs::Rejected(_), false) => self.row_events.add(RowEvent::Gone, 1),
                    (EndedAs::Confirmed(_) | EndedAs::Quarantined(_) | EndedAs::Cancelled(_), _) => {}
                }
            }
        }
    }

    /// No work goes on any more but calls that share rows with a conflict.
    pub fn waits_for_people(&self) -> bool {
        self.clients.iter().all(|node| node.waits_for_people(&self.history))
    }
}

fn keep(random: &mut Random, value: i64) -> Keep {
    match random.below(3) {
        0 => Keep::Local,
        1 => Keep::Server,
        _ => {
            let [own, other] = COLUMNS.map(ColumnId::of);
            Keep::Values(Cells::from([(own, Value::Int(value)), (other, Value::Int(0))]))
        }
    }
}

impl ClientNode {
    pub fn conflicts(&self) -> Vec<Conflict> {
        self.client.conflicts(Synced::Notes.name()).expect("notes are causal")
    }

    /// The pending calls, without calls that run again before they are kept.
    pub fn pending_counters(&self) -> BTreeSet<Counter> {
        let runs_again = |pending: &PendingMutation| pending.status.would_reject.is_some();
        self.client.pending().filter(|pending| !runs_again(pending)).map(|pending| pending.counter).collect()
    }

    /// The client told that it has other conflicts than before.
    pub(super) fn note_conflicts(&mut self, history: &mut History) {
        let at = (self.store, self.client.at());
        history.rows.note_conflicts(self.index, at, self.conflicts(), &self.pending_counters());
    }

    /// False if the client does not take a call now.
    fn decide(&mut self, now: Now, moment: Moment, chosen: &[(Conflict, Keep)], history: &mut History) -> bool {
        let choices: Vec<Choice> = chosen
            .iter()
            .map(|(conflict, keep)| Choice {
                key: conflict.key.clone(),
                server: conflict.server_version,
                keep: keep.clone(),
            })
            .collect();
        match self.client.resolve(now.wall, Synced::Notes.name(), &choices) {
            Ok(by) => {
                history.rows.note_decision(self.index, by, chosen);
                let called = Called::new(Call::Rows(OfRows::Decide), CalledAs::Named, moment, self.life);
                self.note_call(by, called, history);
                true
            }
            Err(ConflictError::Call(_)) => false,
            Err(error @ (ConflictError::NoConflicts { .. } | ConflictError::Resolve(_))) => {
                history.rows.wrong.push(format!("{:?} lists {chosen:?}, and does not resolve it: {error}", self.index));
                false
            }
        }
    }

    fn waits_for_people(&self, history: &History) -> bool {
        let pending = self.pending_counters();
        let mut rows: BTreeSet<_> = self.conflicts().into_iter().map(|conflict| conflict.key).collect();
        let mut joined: BTreeSet<Counter> = BTreeSet::new();
        let of = |counter: &Counter| {
            let keeps = history.rows.calls.get(&(self.index, *counter));
            keeps.into_iter().flat_map(|keeps| keeps.rests.keys())
        };
        let is_note = |(table, key): &(Synced, _)| (*table == Synced::Notes).then_some(key).cloned();
        for _ in 0..=pending.len() {
            joined = pending
                .iter()
                .filter(|call| of(call).filter_map(is_note).any(|key| rows.contains(&key)))
                .copied()
                .collect();
            rows.extend(joined.iter().flat_map(&of).filter_map(is_note));
        }
        joined == pending
            && joined.len() == self.client.pending().count()
            && self.device.is_idle()
            && self.tabs.is_empty()
    }
}
