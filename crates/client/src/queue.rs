//! Pending mutations: run, made durable, submitted in order, rebased until the confirmed state contains them.
//!
//! Invariants:
//! - a mutation leaves when the confirmed state contains it, or its end is final: not when a reply arrives;
//! - entries take effect in the order of their counters, whatever lanes they are of;
//! - the overlay holds exactly the writes of the entries up to `settled`, each run on what lies below it;
//! - what becomes of one mutation costs by what it touches, and not by how many are pending: a queue of an offline day drains as fast as a short one.
//!
//! Source: Hercules' rebase (Lebeck 2020, chapter 3); Diamond's transaction log (Zhang 2017, section 3.2.2).

mod entry;
mod index;
mod lane;
mod lanes;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use iolite_machine::PersistId;
use iolite_values::{Cell, Counter, Domain, LaneNumber, Read, Row, Timestamp, Write, set_of};

use iolite_wire::message::{Outcome, SubscriptionId};

use crate::cache::{Cache, Demand, RowId};
use crate::interface::Broken;
use crate::tabs::Ticket;
use crate::view::{Changed, Overlay, Reader};

pub(crate) use entry::{
    Copies, Entry, Frozen, GivenUp, KeptRows, OfflineCheck, Ran, RunResult, RunState, Stage, Stale, Trail,
};
pub use entry::{LogCall, Mutation, MutationKind};
use index::Index;
pub(crate) use lane::{Ahead, Decided};
use lanes::Lanes;
pub(crate) use lanes::Windows;

#[derive(Debug, Default)]
pub(crate) struct Queue {
    entries: BTreeMap<Counter, Entry>,
    index: Index,
    lanes: Lanes,
    windows: Windows,
    /// Strong ones whose commit the confirmed state does not contain yet.
    committed: BTreeSet<Counter>,
    /// Mutations that a restart of the client would not find.
    undurable: BTreeSet<Counter>,
    /// Mutations that are on their way to the disk once more. They may not be sent.
    resaving: BTreeMap<Counter, PersistId>,
    /// The bytes of their calls.
    bytes: usize,
    /// Confirmed state as the settled entries leave it.
    overlay: Overlay,
    /// Entries up to this counter are in the overlay.
    settled: Counter,
    /// What may have changed below the entries since all of them were last settled.
    changed: Changed,
    /// Rows whose optimistic state may have changed since this was last taken.
    touched: BTreeSet<RowId>,
    pub(crate) broken: Broken,
}

/// Rows as the first entries leave them on the confirmed state, if nothing else changes them before.
#[derive(Debug)]
pub(crate) struct Foreseen {
    /// In order.
    pub(crate) of: Vec<Counter>,
    rows: BTreeMap<RowId, Row>,
    /// The queries that brought them: entries behind it may hold them by nothing else.
    queries: BTreeMap<RowId, BTreeSet<SubscriptionId>>,
    /// Those of which all was known: only such a row is an answer of what entries behind it query.
    whole: BTreeSet<RowId>,
}

impl Foreseen {
    /// Whether it is the row that entries behind it saw, and they hold it still.
    pub(crate) fn is_as_foreseen(&self, id: &RowId, cache: &Cache) -> bool {
        let queries = cache.interests.queries_with(id);
        if self.queries.get(id).is_some_and(|own| !own.is_subset(&queries)) {
            return false;
        }
        if cache.interests.holds_row(id) && !self.whole.contains(id) {
            return false;
        }
        let held = cache.row(id.0, &id.1);
        // An empty row is held as none.
        self.rows.get(id).is_some_and(|row| held.map_or(row.is_empty(), |held| held == row))
    }
}

/// What the queue needs next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// The closure of this mutation has to run, on the overlay as it is.
    Run(Counter),
    /// Every entry is settled.
    Settled,
}

impl Queue {
    pub(crate) fn new(windows: Windows) -> Queue {
        Queue { windows, ..Queue::default() }
    }

    pub(crate) fn push(&mut self, entry: Entry) {
        self.index.add(&entry);
        if !entry.is_durable() {
            self.undurable.insert(entry.counter());
        }
        self.bytes += entry.mutation.kind.size_bytes();
        self.lanes.insert(entry.lane, entry.counter());
        self.entries.insert(entry.counter(), entry);
    }

    /// Whether an attempt of a mutation may take effect, or has, and the confirmed state does not tell yet.
    pub(crate) fn is_on_its_way(&self, counter: Counter) -> bool {
        self.entries.get(&counter).is_some_and(|entry| match &entry.stage {
            Stage::Called | Stage::Saving(_) | Stage::Saved => false,
            Stage::Submitted(_) | Stage::Unanswered(_) | Stage::Committed { .. } => true,
        })
    }

    /// Bytes of the calls of its entries.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    fn take(&mut self, counter: Counter) -> Option<Entry> {
        let entry = self.entries.remove(&counter)?;
        self.index.remove(&entry);
        self.committed.remove(&counter);
        self.undurable.remove(&counter);
        self.resaving.remove(&counter);
        self.bytes -= entry.mutation.kind.size_bytes();
        self.lanes.remove(entry.lane, counter);
        Some(entry)
    }

    pub(crate) fn entry(&self, counter: Counter) -> Option<&Entry> {
        self.entries.get(&counter)
    }

    pub(crate) fn entry_mut(&mut self, counter: Counter) -> Option<&mut Entry> {
        self.entries.get_mut(&counter)
    }

    pub(crate) fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.entries.values()
    }

    /// The first mutation whose outcome is not known. That of a log's operation is known before it is replayed, and is stored then.
    pub(crate) fn first_open(&self) -> Option<&Entry> {
        self.entries.values().find(|entry| !entry.waits_to_be_replayed())
    }

    /// Those that the overlay does not hold yet.
    pub(crate) fn unsettled(&self) -> impl Iterator<Item = &Entry> {
        self.entries.range((Bound::Excluded(self.settled), Bound::Unbounded)).map(|(_, entry)| entry)
    }

    pub(crate) fn overlay(&self) -> &Overlay {
        &self.overlay
    }

    /// The mutation that came by a ticket, while it is pending.
    pub(crate) fn of_ticket(&self, ticket: Ticket) -> Option<Counter> {
        let of_ticket = |entry: &&Entry| entry.mutation.ticket == Some(ticket);
        self.entries.values().find(of_ticket).map(Entry::counter)
    }

    /// The writes of the entries that are durable, on top of the confirmed state. `None` when all are.
    pub(crate) fn durable_overlay(&self, cache: &Cache) -> Option<Overlay> {
        if self.undurable.is_empty() {
            return None;
        }
        let mut overlay = Overlay::default();
        for entry in self.entries.values().filter(|entry| entry.is_durable()) {
            put_on(&mut overlay, entry, cache);
        }
        Some(overlay)
    }

    pub(crate) fn remove(&mut self, counter: Counter) -> Option<Entry> {
        let entry = self.take(counter)?;
        let rows: BTreeSet<RowId> = set_of(entry.rows());
        self.touched.extend(rows.iter().cloned());
        if !rows.is_empty() {
            self.unsettle(rows);
        }
        Some(entry)
    }

    /// Rows below the pending mutations changed, or something came that one missed: the mutations are put on top of them anew, and those that read one of
    /// them are looked at. Nothing is done if no mutation concerns any of it.
    pub(crate) fn unsettle(&mut self, rows: impl IntoIterator<Item = RowId>) {
        let rows: Vec<RowId> = rows.into_iter().collect();
        if self.index.anything_missing() || self.any_stands_on(&rows) {
            self.changed.add(rows);
            self.begin_anew();
        }
    }

    /// Data came that was not held before: the mutations are put on top of it anew.
    pub(crate) fn look_again(&mut self, rows: impl IntoIterator<Item = RowId>) {
        self.changed.add(rows);
        self.begin_anew();
    }

    /// Anything may have changed, and what was held may be held no more.
    pub(crate) fn unsettle_all(&mut self) {
        for entry in self.entries.values() {
            self.touched.extend(entry.rows());
        }
        self.changed = Changed::Everything;
        self.begin_anew();
    }

    fn begin_anew(&mut self) {
        self.overlay.clear();
        self.settled = Counter(0);
    }

    /// The rows of the first entries as they leave them on the confirmed state, if an advance with these outcomes makes it contain them.
    pub(crate) fn foresee(&self, outcomes: &[Outcome], to: Timestamp, cache: &Cache) -> Option<Foreseen> {
        let contained: BTreeSet<Counter> = set_of(self.about_to_contain(outcomes, to).into_iter().map(|(own, _)| own));
        let is_foreseen = |entry: &&Entry| entry.counter() <= self.settled && contained.contains(&entry.counter());
        let first: Vec<&Entry> = self.entries.values().take_while(is_foreseen).collect();
        if first.is_empty() {
            return None;
        }
        let mut alone = Overlay::default();
        first.iter().for_each(|entry| put_on(&mut alone, entry, cache));
        let written: BTreeSet<RowId> = set_of(first.iter().flat_map(|entry| entry.rows()));
        let rows = written.iter().filter_map(|id| alone.row(id.0, &id.1).cloned().map(|row| (id.clone(), row)));
        let queries = written.iter().map(|id| (id.clone(), cache.interests.queries_with(id)));
        let whole = written.iter().filter(|id| cache.interests.holds_row(id) || alone.made(id)).cloned();
        let (rows, queries, whole) = (rows.collect(), queries.collect(), whole.collect());
        Some(Foreseen { of: first.iter().map(|entry| entry.counter()).collect(), rows, queries, whole })
    }

    /// Takes out the first entries, which the confirmed state contains. If their rows are as they were foreseen, nothing is different for the entries
    /// behind them.
    pub(crate) fn sink(&mut self, foreseen: &Foreseen, cache: &Cache) -> Vec<Entry> {
        let gone: Vec<Entry> = foreseen.of.iter().filter_map(|counter| self.take(*counter)).collect();
        gone.iter().for_each(|entry| self.overlay.sink(entry.writes()));
        let made: BTreeSet<RowId> = set_of(gone.iter().flat_map(made_or_deleted));
        let is_other = |id: &&RowId| {
            let is_as_foreseen = foreseen.is_as_foreseen(id, cache) || self.is_unknown(id, foreseen, cache);
            !is_as_foreseen || (made.contains(*id) && self.rested_on_the_making_of(id, cache))
        };
        let other: Vec<RowId> = foreseen.rows.keys().filter(is_other).cloned().collect();
        self.touched.extend(other.iter().cloned());
        if !other.is_empty() {
            self.unsettle(other);
        }
        gone
    }

    /// Takes out a settled operation that is replayed, with the effect that it had when it ran: nothing is different for those behind it.
    pub(crate) fn sink_replayed(&mut self, counter: Counter) -> Option<Entry> {
        let entry = self.take(counter)?;
        self.overlay.sink(entry.writes());
        Some(entry)
    }

    /// Whether nothing is known of a row, before and after: no entry has read it, and once it is held the queue is put on it anew.
    fn is_unknown(&self, id: &RowId, foreseen: &Foreseen, cache: &Cache) -> bool {
        cache.row(id.0, &id.1).is_none() && !foreseen.whole.contains(id) && !self.is_read(id)
    }

    fn is_read(&self, id: &RowId) -> bool {
        let row = Changed::Rows([id.clone()].into());
        let mut readers = self.index.may_have_read(id).filter_map(|counter| self.entries.get(&counter));
        readers.any(|entry| entry.looked_at().any(|read| row.concerns(read)))
    }

    /// Whether an entry knew a row only because one that is gone made it.
    fn rested_on_the_making_of(&self, id: &RowId, cache: &Cache) -> bool {
        let row = Changed::Rows([id.clone()].into());
        let held =
            |entry: &Entry, read: &Read| cache.interests.holds_for(Demand::Mutation(entry.counter()), &read.interest());
        let readers = self.index.may_have_read(id).filter_map(|counter| self.entries.get(&counter));
        readers.into_iter().any(|entry| entry.reads().any(|read| row.concerns(read) && !held(entry, read)))
    }

    /// Whether any entry writes or has read one of these rows.
    fn any_stands_on(&self, rows: &[RowId]) -> bool {
        let stands_on =
            |id: &RowId| self.index.is_written(id) || self.overlay.row(id.0, &id.1).is_some() || self.is_read(id);
        rows.iter().any(stands_on)
    }

    /// The next mutation of a lane to leave.
    pub(crate) fn first_of(&self, lane: LaneNumber) -> Option<Counter> {
        self.lanes.each_with_number().find(|(number, _)| *number == lane)?.1.front().copied()
    }

    /// The same, if it is settled: what it writes is what it would write on the confirmed state.
    pub(crate) fn first_settled(&self, lane: LaneNumber) -> Option<&Entry> {
        let first = self.first_of(lane)?;
        self.entries.get(&first).filter(|entry| entry.counter() <= self.settled)
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// The rows of an entry may look different in some view.
    pub(crate) fn touch(&mut self, counter: Counter) {
        if let Some(entry) = self.entries.get(&counter) {
            self.touched.extend(entry.rows());
        }
    }

    /// Puts entries on the overlay, up to one whose closure has to run because an answer that it had is another now.
    /// Entries that are not known to be strong see the kept rows, too.
    pub(crate) fn settle(&mut self, cache: &Cache, kept: &Overlay) -> Step {
        for (counter, entry) in self.entries.range_mut((Bound::Excluded(self.settled), Bound::Unbounded)) {
            let reader = Reader::new(cache, Some(&self.overlay), None).over_kept(entry.sees_kept().then_some(kept));
            if let Some(stale) = entry.staleness(reader, &self.changed) {
                match stale {
                    Stale::HasCome => {}
                    Stale::IsAnother => entry.misses = 0,
                }
                // What it wrote is gone, whatever its next run writes.
                let rows: Vec<RowId> = entry.rows().collect();
                self.touched.extend(rows.iter().cloned());
                self.changed.add(rows);
                self.index.remove(entry);
                entry.state = RunState::Due;
            }
            match entry.state {
                RunState::Due => return Step::Run(*counter),
                RunState::Missing(_) | RunState::Frozen(_) => {}
                RunState::Done(_) | RunState::TookPlace(_) => put_on(&mut self.overlay, entry, cache),
            }
            self.settled = *counter;
        }
        self.changed = Changed::default();
        Step::Settled
    }

    /// Takes what came of the run that `settle` asked for.
    pub(crate) fn ran(&mut self, counter: Counter, state: RunState) {
        if let Some(entry) = self.entries.get_mut(&counter) {
            let before: Vec<RowId> = entry.rows().collect();
            self.index.remove(entry);
            entry.state = state;
            self.index.add(entry);
            let rows: BTreeSet<RowId> = set_of(before.into_iter().chain(entry.rows()));
            self.touched.extend(rows.iter().cloned());
            // The entries behind it stand on other rows now.
            self.changed.add(rows);
        }
    }

    /// A call of tables that merge has taken place: from now on it is in their lane, and these are its effects.
    pub(crate) fn take_place(&mut self, counter: Counter, effects: Vec<Write>, lane: LaneNumber) {
        let Some(entry) = self.entries.get_mut(&counter) else { return };
        self.lanes.remove(entry.lane, counter);
        self.lanes.insert(lane, counter);
        (entry.lane, entry.domain) = (lane, Domain::Causal);
        self.ran(counter, RunState::TookPlace(effects));
    }

    /// Changes the effects of a call that has taken place, of which nothing was sent. False if they are as they were.
    pub(crate) fn change_effects(&mut self, counter: Counter, change: impl FnMut(&Write) -> Write) -> bool {
        let Some(entry) = self.entries.get(&counter).filter(|entry| entry.took_place()) else { return false };
        let changed: Vec<Write> = entry.writes().iter().map(change).collect();
        let is_other = changed != entry.writes();
        if is_other {
            self.ran(counter, RunState::TookPlace(changed));
            self.look_again([]);
        }
        is_other
    }

    /// A mutation is on its way to the disk.
    pub(crate) fn note_saving(&mut self, counter: Counter, with: PersistId) {
        if let Some(entry) = self.entries.get_mut(&counter) {
            entry.stage = Stage::Saving(with);
            self.undurable.insert(counter);
            self.resaving.remove(&counter);
        }
    }

    /// A mutation is stored, or on its way to the disk, and is stored otherwise than so. Meanwhile it is as durable as it was, and is not sent.
    pub(crate) fn note_saving_again(&mut self, counter: Counter, with: PersistId) {
        self.resaving.insert(counter, with);
    }

    /// The mutations that were on their way to the disk and are there now.
    pub(crate) fn save_through(&mut self, done: PersistId) -> Vec<Counter> {
        self.resaving.retain(|_, with| *with > done);
        let is_saved = |counter: &&Counter| match self.entries.get(counter).map(|entry| &entry.stage) {
            Some(Stage::Saving(with)) => *with <= done,
            _ => false,
        };
        let saved: Vec<Counter> = self.undurable.iter().filter(is_saved).copied().collect();
        for counter in &saved {
            if let Some(entry) = self.entries.get_mut(counter) {
                entry.stage = Stage::Saved;
            }
            self.undurable.remove(counter);
            self.touch(*counter);
        }
        saved
    }

    pub(crate) fn take_touched(&mut self) -> BTreeSet<RowId> {
        std::mem::take(&mut self.touched)
    }

    pub(crate) fn validate(&self, cache: &Cache) {
        let bytes: usize = self.entries.values().map(|entry| entry.mutation.kind.size_bytes()).sum();
        assert_eq!(self.bytes, bytes, "the bytes of the calls");
        for (counter, entry) in &self.entries {
            assert_eq!(*counter, entry.counter());
            let demand = Demand::Mutation(*counter);
            let reader = Reader::new(cache, Some(&self.overlay), None);
            let is_due = matches!(entry.state, RunState::Due);
            assert!(*counter > self.settled || !is_due, "a mutation that has to run is not settled");
            let stands = *counter > self.settled || entry.reads().all(|read| reader.tells_of(demand, read));
            assert!(stands, "what a settled mutation read is held or made here, or nobody would tell that it changed");
        }
        let mut index = Index::default();
        self.entries.values().for_each(|entry| index.add(entry));
        assert_eq!(self.index, index, "the index says what the entries' last runs say");
        let undurable: BTreeSet<Counter> =
            set_of(self.entries.values().filter(|entry| !entry.is_durable()).map(Entry::counter));
        assert_eq!(self.undurable, undurable, "what is not durable is known");
        assert!(
            self.resaving.keys().all(|counter| self.entries.contains_key(counter)),
            "what is stored again is pending"
        );
        let committed = self.entries.values().filter(|entry| entry.is_committed() && entry.leaves_when_contained());
        assert!(committed.map(Entry::counter).eq(self.committed.iter().copied()), "what is committed is known");
        self.lanes.validate(self.entries.iter().map(|(counter, entry)| (entry.lane, counter)));
        self.validate_windows();
    }
}

/// The rows that an entry creates or deletes.
fn made_or_deleted(entry: &Entry) -> impl Iterator<Item = RowId> {
    let of_life =
        entry.writes().iter().filter(|write| write.cell == Cell::row(write.cell.table, write.cell.row.clone()));
    of_life.map(|write| (write.cell.table, write.cell.row.clone()))
}

fn put_on(overlay: &mut Overlay, entry: &Entry, cache: &Cache) {
    let applied = overlay.apply_all(entry.writes(), cache);
    applied.expect("the run checked its writes against the schema, as the gateway checks what the cache holds");
}
