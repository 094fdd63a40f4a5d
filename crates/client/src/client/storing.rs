//! What the client stores, and what follows once it is stored.
//!
//! Invariants: a batch holds the confirmed rows, their timestamp and the queue as they are together; at most one batch of rows is on its way,
//! so a slow disk gets fewer and larger ones; a mutation that was just called does not wait for them. Where there is no room the cache gives way
//! to the queue.

use std::collections::{BTreeSet, VecDeque};
use std::time::Duration;

use iolite_machine::{Now, PersistId};
use iolite_values::{Counter, Interest, set_of};
use iolite_wire::client_storage::StoredMeta;

use super::{Client, Disk};
use crate::cache::RowId;
use crate::interface::Output;
use crate::storage::PendingChanges;

impl Disk {
    /// Of a storage that has these interests, and these rows in vain.
    pub(super) fn opened(stored_interests: BTreeSet<Interest>, unused: BTreeSet<RowId>, stores_cache: bool) -> Disk {
        Disk {
            changes: PendingChanges::default(),
            last: PersistId::START,
            done: PersistId::START,
            unstored: VecDeque::new(),
            removal: None,
            due: false,
            ended: VecDeque::new(),
            untold: VecDeque::new(),
            ends_before_history: PersistId::START,
            changed_rows: unused,
            changed_logs: BTreeSet::new(),
            stored_interests,
            stores_cache,
        }
    }
}

impl Client {
    /// Counters that are reserved at once.
    pub(super) const RESERVE: u64 = 1024;
    /// How long an acknowledgement waits for a submission that can carry it.
    const ACKNOWLEDGE_WITHIN: Duration = Duration::from_millis(200);

    pub(super) fn reserve_counters(&mut self) {
        self.counters.reserved = Counter(self.counters.last.0 + Self::RESERVE);
        self.disk.due = true;
    }

    pub(super) fn note_rows(&mut self, rows: Vec<RowId>) {
        self.leader.note_rows(&rows);
        if self.disk.stores_cache {
            self.disk.changed_rows.extend(rows.iter().cloned());
        }
        self.changed.add(rows);
    }

    /// Hands the host what is to be stored, unless only rows are and a batch is on its way already.
    pub(super) fn store_changes(&mut self) -> bool {
        let idle = self.disk.done == self.disk.last;
        let awaited = std::mem::take(&mut self.disk.due);
        if !(awaited || idle && (self.cache_has_changed() || !self.disk.changes.is_empty())) {
            return false;
        }
        if self.disk.stores_cache {
            self.collect_cache();
        }
        self.disk.last = self.disk.last.next();
        self.disk.unstored.push_back((self.disk.last, self.disk.changes.without_cache()));
        self.disk.changes.meta(&self.meta());
        self.disk.ended.push_back((self.disk.last, self.ended_through()));
        self.outputs.push_back(Output::Persist { id: self.disk.last, changes: self.disk.changes.take(), awaited });
        true
    }

    /// Since it was stored, if it is.
    fn cache_has_changed(&self) -> bool {
        let nothing = self.disk.changed_rows.is_empty() && self.disk.changed_logs.is_empty();
        self.disk.stores_cache && !(nothing && self.cache.interests.turned().is_empty())
    }

    fn collect_cache(&mut self) {
        let changes = &mut self.disk.changes;
        let mut changed = self.disk.changed_rows.iter();
        if changed.try_for_each(|id| changes.row(id, self.cache.row(id.0, &id.1))).is_err() {
            return self.give_up_cache();
        }
        self.disk.changed_rows.clear();
        self.collect_logs();
        for interest in self.cache.interests.take_turned() {
            let held = self.cache.interests.holds_itself(&interest);
            self.disk.changes.interest(&interest, held);
            if held {
                self.disk.stored_interests.insert(interest);
            } else {
                self.disk.stored_interests.remove(&interest);
            }
        }
    }

    /// From now on the cache is in memory only, and gives its place on the disk back. The next life of the app stores it again.
    fn give_up_cache(&mut self) {
        self.disk.stores_cache = false;
        self.forget_stored_logs();
        let gone = std::mem::take(&mut self.disk.changed_rows);
        gone.iter().chain(self.cache.row_ids()).for_each(|id| self.disk.changes.forget_row(id));
        for interest in std::mem::take(&mut self.disk.stored_interests) {
            self.disk.changes.interest(&interest, false);
        }
    }

    /// What can give way is the cache, which is in memory, and which the server has. Everything else that is not stored yet makes one batch.
    pub(super) fn on_storage_full(&mut self) {
        let later = std::mem::take(&mut self.disk.changes);
        self.disk.due |= self.disk.stores_cache || !self.disk.unstored.is_empty();
        if self.disk.stores_cache {
            self.give_up_cache();
        }
        for (_, dropped) in std::mem::take(&mut self.disk.unstored) {
            self.disk.changes.extend(dropped);
        }
        self.disk.changes.extend(later);
        self.make_room();
    }

    /// What only removes needs no room, so the cache goes first by itself, as often as it takes.
    fn make_room(&mut self) {
        let mut gone = self.disk.changes.split_off_cache();
        if gone.is_empty() {
            return;
        }
        let next = self.disk.last.next();
        // Nothing behind it is tried before it is stored, so it keeps its position when it is put out again.
        let id = *self.disk.removal.get_or_insert(next);
        self.disk.last = self.disk.last.max(id);
        self.disk.unstored.push_back((id, gone.clone()));
        self.outputs.push_back(Output::Persist { id, changes: gone.take(), awaited: true });
    }

    /// Whatever is held otherwise than it is stored is known to be stored yet.
    pub(super) fn validate_stored(&self) {
        if !self.disk.stores_cache {
            return;
        }
        let interests = &self.cache.interests;
        let turned = interests.turned();
        let stored = |interest: &Interest| self.disk.stored_interests.contains(interest);
        let live: BTreeSet<&Interest> = set_of(interests.live().map(|(_, interest)| interest));
        let new = live.iter().filter(|interest| !stored(interest)).count();
        let gone = self.disk.stored_interests.iter().filter(|interest| !live.contains(interest)).count();
        let known = turned.iter().filter(|interest| live.contains(interest) != stored(interest)).count();
        assert!(
            known == turned.len() && new + gone == known,
            "the interests that are stored, but for those that are known to have turned, are those that are held"
        );
    }

    fn meta(&self) -> StoredMeta {
        StoredMeta {
            device: self.identity.device,
            next_counter: self.counters.reserved,
            store: self.store.filter(|_| self.disk.stores_cache),
            at: self.cache.at(),
            acknowledged: self.ended_through(),
            user: self.user.clone(),
            schema: self.schema_hash,
            secret: Some(self.identity.secret),
            others_know_client: self.identity.others_know_device(),
            unsent_after: self.causal.unsent_after(),
            centre_token: self.moving.token.clone(),
            bound: self.identity.bound,
            rights: self.rights,
        }
    }

    /// Every mutation up to here has ended.
    pub(super) fn ended_through(&self) -> Counter {
        let first = self.queue.first_open().map(|entry| Counter(entry.counter().0 - 1));
        let ended = first.unwrap_or(self.counters.last);
        // What an open set carries is not known to be committed before that is stored.
        self.rows.first_open_set().map_or(ended, |set| ended.min(Counter(set.0 - 1)))
    }

    pub(super) fn on_persisted(&mut self, now: Now, id: PersistId) {
        if self.disk.removal == Some(id) {
            // What was to be stored before it may have been dropped, and come behind it.
            return self.disk.unstored.retain(|(position, _)| *position != id);
        }
        self.disk.done = self.disk.done.max(id.min(self.disk.last));
        self.disk.unstored.retain(|(position, _)| *position > self.disk.done);
        while let Some((position, through)) = self.disk.ended.front().copied() {
            if position > self.disk.done {
                break;
            }
            self.disk.ended.pop_front();
            self.acknowledgement.noted = self.acknowledgement.noted.max(through);
        }
        if self.acknowledgement.noted > self.acknowledgement.told && self.acknowledgement.due.is_none() {
            self.acknowledgement.due = Some(now.instant + Self::ACKNOWLEDGE_WITHIN);
        }
        self.tell_stored_ends();
        self.note_saved();
        self.leader.forget_taken_out(self.disk.done);
    }

    fn note_saved(&mut self) {
        self.note_kept_saved();
        let done = self.disk.done;
        for counter in self.queue.save_through(done) {
            self.report(counter);
            self.compare_due = true;
        }
    }
}
