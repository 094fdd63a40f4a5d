//! What the client stores, and what follows once it is stored.
//!
//! Invariants: a batch holds the confirmed rows, their timestamp and the queue as they are together; at most one batch of rows is on its way,
//! so a slow disk gets fewer and larger ones; a mutation that was just called does not wait for them.

use std::time::Duration;

use iolite_machine::{Now, PersistId};
use iolite_values::Counter;
use iolite_wire::client_storage::StoredMeta;

use super::Client;
use crate::cache::RowId;
use crate::interface::Output;
use crate::queue::Stage;

impl Client {
    /// Counters that are reserved at once.
    pub(super) const RESERVE: u64 = 1024;
    /// How long an acknowledgement waits for a submission that can carry it.
    const ACKNOWLEDGE_WITHIN: Duration = Duration::from_millis(200);

    pub(super) fn reserve_counters(&mut self) {
        self.counters.reserved = Counter(self.counters.last.0 + Self::RESERVE);
        self.persists.due = true;
    }

    pub(super) fn note_rows(&mut self, rows: Vec<RowId>) {
        self.leader.note_rows(&rows);
        self.changed_rows.extend(rows.iter().cloned());
        self.changed.add(rows);
    }

    /// Hands the host what is to be stored, unless only rows are and a batch is on its way already.
    pub(super) fn store_changes(&mut self) -> bool {
        let idle = self.persists.done == self.persists.last;
        let rows = !self.changed_rows.is_empty() || self.interests_changed || !self.changes.is_empty();
        let due = self.persists.due || (rows && idle);
        if !due {
            return false;
        }
        self.persists.due = false;
        self.collect_rows();
        self.changes.meta(&self.meta());
        self.persists.last = self.persists.last.next();
        self.persists.ended.push_back((self.persists.last, self.ended_through()));
        self.outputs.push_back(Output::Persist { id: self.persists.last, changes: self.changes.take() });
        true
    }

    fn collect_rows(&mut self) {
        for id in std::mem::take(&mut self.changed_rows) {
            let stored = self.changes.row(&id, self.cache.row(id.0, &id.1));
            self.cache_is_storable &= stored.is_ok();
        }
        if std::mem::take(&mut self.interests_changed) {
            let live = self.cache.interests.live().map(|(_, interest)| interest.clone()).collect();
            let stored = std::mem::replace(&mut self.stored_interests, live);
            for gone in stored.difference(&self.stored_interests) {
                self.changes.interest(gone, false);
            }
            for new in self.stored_interests.difference(&stored) {
                self.changes.interest(new, true);
            }
        }
    }

    fn meta(&self) -> StoredMeta {
        StoredMeta {
            client: self.identity,
            next_counter: self.counters.reserved,
            store: self.store.filter(|_| self.cache_is_storable),
            at: self.cache.at(),
            acknowledged: self.ended_through(),
            user: self.user.clone(),
            schema: self.schema.hash(),
        }
    }

    /// Every mutation up to here has ended.
    fn ended_through(&self) -> Counter {
        let first = self.queue.entries().next().map(|entry| Counter(entry.counter().0 - 1));
        first.unwrap_or(self.counters.last)
    }

    pub(super) fn on_persisted(&mut self, now: Now, id: PersistId) {
        self.persists.done = self.persists.done.max(id.min(self.persists.last));
        while let Some((position, through)) = self.persists.ended.front().copied() {
            if position > self.persists.done {
                break;
            }
            self.persists.ended.pop_front();
            self.acknowledgement.noted = self.acknowledgement.noted.max(through);
        }
        if self.acknowledgement.noted > self.acknowledgement.told && self.acknowledgement.due.is_none() {
            self.acknowledgement.due = Some(now.instant + Self::ACKNOWLEDGE_WITHIN);
        }
        self.tell_stored_ends();
        self.note_saved();
        self.leader.forget_adopted(self.persists.done);
    }

    fn note_saved(&mut self) {
        let done = self.persists.done;
        for counter in self.queue.save_through(done) {
            self.report(counter);
            self.compare_due = true;
        }
    }
}

impl crate::queue::Queue {
    /// The mutations that were on their way to the disk and are there now.
    fn save_through(&mut self, done: PersistId) -> Vec<Counter> {
        let saving = self.entries().filter(|entry| matches!(entry.stage, Stage::Saving(position) if position <= done));
        let saved: Vec<Counter> = saving.map(|entry| entry.counter()).collect();
        for counter in &saved {
            if let Some(entry) = self.entry_mut(*counter) {
                entry.stage = Stage::Saved;
            }
            self.touch(*counter);
        }
        saved
    }
}
