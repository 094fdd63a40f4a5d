//! Lock-Store: two-phase locking. Reads lock at once, writes when the transaction prepares; locks go when its outcome is applied.
//!
//! Against deadlocks, an older transaction takes its locks from younger ones ("wound-wait"), unless they are prepared, which it waits for.
//!
//! Invariant: whoever waits, waits for older ones or for what is prepared; so what waits at one shard only never waits for itself.
//! Source: Corbett et al., "Spanner" (OSDI 2012) 4.2.1; Rosenkrantz et al., "System level concurrency control" (1978), for wound-wait.

use std::collections::VecDeque;

use iolite_baseline_client::{Get, Prepare, Tell, TransactionId, Validate};
use iolite_machine::Instant;

use super::leading::{Active, Asker, Leading, Outputs, State, Then, Waiting, refused};
use super::locks::{Key, Mode, Request, Seniority};
use super::store::Store;
use crate::command::Prepared;

impl Leading {
    pub(super) fn get_locked(&mut self, now: Instant, store: &Store, asker: Asker, get: Get, outputs: &mut Outputs) {
        let Get { transaction, age, key } = get;
        let is_over = store.decided(transaction).is_some();
        let active = Active { age, link: asker.link, state: State::Running };
        match self.active.entry(transaction).or_insert(active).state {
            State::Running if !is_over => {
                let wants = vec![(key.clone(), Mode::Read)];
                self.wait(store, transaction, Waiting { asker, since: now, wants, then: Then::Tell(key) }, outputs);
            }
            State::Running | State::Waiting(_) | State::Wounded | State::Proposed | State::Prepared { .. } => {
                self.end_one(store, transaction, outputs);
                outputs.push_back(asker.told(refused(None)));
            }
        }
    }

    pub(super) fn prepare_locked(
        &mut self,
        now: Instant,
        store: &Store,
        asker: Asker,
        prepare: Prepare,
        outputs: &mut Outputs,
    ) {
        let Prepare { transaction, age, reads, writes, participants } = prepare;
        let reads: Vec<Key> = reads.into_iter().map(|read| read.key).collect();
        let active = Active { age, link: asker.link, state: State::Running };
        let state = &self.active.entry(transaction).or_insert(active).state;
        let may = matches!(state, State::Running);
        if !may || !reads.iter().all(|key| self.locks.holds(transaction, key, Mode::Read)) {
            self.end_one(store, transaction, outputs);
            return outputs.push_back(asker.told(refused(None)));
        }
        let wants = writes.iter().map(|pair| (pair.key.clone(), Mode::Write)).collect();
        let then = Then::Propose(Prepared { transaction, reads, writes, participants });
        self.wait(store, transaction, Waiting { asker, since: now, wants, then }, outputs);
    }

    /// A transaction that wrote nothing ran at any time at which it held all its locks: now.
    pub(super) fn confirm_locked(&mut self, store: &Store, asker: Asker, validate: Validate, outputs: &mut Outputs) {
        let Validate { transaction, reads } = validate;
        if reads.iter().all(|read| self.locks.holds(transaction, &read.key, Mode::Read)) {
            self.tell_confirmed(asker, Tell::Done(()), outputs);
        } else {
            outputs.push_back(asker.told(refused(None)));
        }
        self.end_one(store, transaction, outputs);
    }

    pub(super) fn give_up_waiting(
        &mut self,
        now: Instant,
        store: &Store,
        transaction: TransactionId,
        outputs: &mut Outputs,
    ) {
        let Some(State::Waiting(waiting)) = self.active.get(&transaction).map(|active| &active.state) else { return };
        let in_the_way = waiting.wants.iter().flat_map(|(key, mode)| self.locks.in_the_way(transaction, key, *mode));
        let blocker = in_the_way.into_iter().find_map(|holder| self.abandoned(now, store, holder));
        outputs.push_back(waiting.asker.told(refused(blocker)));
        self.end_one(store, transaction, outputs);
    }

    /// Goes on with transactions that have got a lock that they waited for.
    pub(super) fn go_on(&mut self, store: &Store, granted: Vec<TransactionId>, outputs: &mut Outputs) {
        let mut granted = VecDeque::from(granted);
        while let Some(next) = granted.pop_front() {
            granted.extend(self.advance(store, next, outputs));
        }
    }

    fn wait(&mut self, store: &Store, transaction: TransactionId, waiting: Waiting, outputs: &mut Outputs) {
        if let Some(active) = self.active.get_mut(&transaction) {
            active.state = State::Waiting(waiting);
        }
        self.go_on(store, vec![transaction], outputs);
    }

    /// Takes a transaction as far as its locks allow. Returns those that go on because younger ones were wounded.
    fn advance(&mut self, store: &Store, transaction: TransactionId, outputs: &mut Outputs) -> Vec<TransactionId> {
        let Some(Active { age, state: State::Waiting(waiting), .. }) = self.active.get(&transaction) else {
            return Vec::new();
        };
        let (seniority, wants) = (Seniority { age: *age, transaction }, waiting.wants.clone());
        let mut others = Vec::new();
        for (key, mode) in wants {
            if self.locks.holds(transaction, &key, mode)
                || self.locks.request(seniority, &key, mode) == Request::Granted
            {
                continue;
            }
            others.extend(self.wound_younger(seniority, &key, mode, outputs));
            if !self.locks.holds(transaction, &key, mode) {
                return others;
            }
        }
        self.has_all(store, transaction, outputs);
        others
    }

    fn has_all(&mut self, store: &Store, transaction: TransactionId, outputs: &mut Outputs) {
        let Some(active) = self.active.get_mut(&transaction) else { return };
        let age = active.age;
        match std::mem::replace(&mut active.state, State::Running) {
            State::Waiting(Waiting { asker, then: Then::Tell(key), .. }) => {
                outputs.push_back(asker.told(Tell::Value(store.value(&key))));
            }
            State::Waiting(Waiting { asker, then: Then::Propose(prepared), .. }) => {
                self.propose_prepared(asker, age, prepared, outputs);
            }
            other @ (State::Running | State::Wounded | State::Proposed | State::Prepared { .. }) => {
                active.state = other
            }
        }
    }

    /// Takes the locks of younger ones that are in the way and not prepared. Returns those that have got a lock by that.
    fn wound_younger(&mut self, elder: Seniority, key: &[u8], mode: Mode, outputs: &mut Outputs) -> Vec<TransactionId> {
        let mut granted = Vec::new();
        for holder in self.locks.in_the_way(elder.transaction, key, mode) {
            let Some(active) = self.active.get_mut(&holder) else { continue };
            let is_younger = elder < Seniority { age: active.age, transaction: holder };
            if !is_younger || active.state.is_in_log() {
                continue;
            }
            match std::mem::replace(&mut active.state, State::Wounded) {
                State::Waiting(waiting) => {
                    self.active.remove(&holder);
                    outputs.push_back(waiting.asker.told(refused(None)));
                }
                State::Running | State::Wounded | State::Proposed | State::Prepared { .. } => {}
            }
            granted.extend(self.locks.release(holder));
        }
        granted.retain(|other| *other != elder.transaction);
        granted
    }
}
