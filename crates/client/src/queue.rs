//! Pending mutations: run, made durable, submitted in order, rebased until the confirmed state contains them.
//!
//! Invariants:
//! - a mutation leaves when the confirmed state contains it, or its end is final: not when a reply arrives;
//! - entries take effect in the order of their counters, whatever lanes they are of;
//! - the overlay holds exactly the writes of the entries up to `settled`, each run on what lies below it.
//!
//! Source: Hercules' rebase (Lebeck 2020, chapter 3); Diamond's transaction log (Zhang 2017, section 3.2.2).

mod entry;
mod lane;
mod lanes;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use iolite_values::{Cell, Counter, LaneNumber, Read, Row};

use iolite_wire::message::{Outcome, SubscriptionId};

use crate::cache::{Cache, Demand, RowId};
use crate::tabs::Ticket;
use crate::view::{Changed, Overlay, Reader};

pub(crate) use entry::{Copies, Entry, GivenUp, OfflineCheck, Ran, RunResult, RunState, Stage, Stale, Trail};
pub use entry::{LogCall, Mutation, MutationKind};
pub(crate) use lane::{Ahead, Decided};
use lanes::{Lanes, Windows};

#[derive(Debug, Default)]
pub(crate) struct Queue {
    entries: BTreeMap<Counter, Entry>,
    lanes: Lanes,
    windows: Windows,
    /// Of their calls.
    bytes: usize,
    /// Confirmed state as the settled entries leave it.
    overlay: Overlay,
    /// Entries up to this counter are in the overlay.
    settled: Counter,
    /// What may have changed below the entries since all of them were last settled.
    changed: Changed,
    /// Rows whose optimistic state may have changed since this was last taken.
    touched: BTreeSet<RowId>,
}

/// Rows as an entry leaves them on the confirmed state, if nothing else changes them before.
#[derive(Debug)]
pub(crate) struct Foreseen {
    pub(crate) of: Counter,
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
    pub(crate) fn push(&mut self, entry: Entry) {
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
        if self.entries.values().all(Entry::is_durable) {
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
        let rows: BTreeSet<RowId> = entry.rows().collect();
        self.touched.extend(rows.iter().cloned());
        if !rows.is_empty() {
            self.unsettle(rows);
        }
        Some(entry)
    }

    /// Rows below the pending mutations changed: the mutations are put on top of them anew, and those that read one of them are looked at.
    pub(crate) fn unsettle(&mut self, rows: impl IntoIterator<Item = RowId>) {
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

    /// The first entry's rows as it leaves them on the confirmed state, which one of the outcomes may be about to contain it in.
    pub(crate) fn foresee(&self, outcomes: &[Outcome], cache: &Cache) -> Option<Foreseen> {
        let first = self.entries.values().next().filter(|first| first.counter() <= self.settled)?;
        let decided = matches!(first.stage, Stage::Committed { .. });
        if !decided && outcomes.iter().all(|outcome| outcome.counter != first.counter()) {
            return None;
        }
        let mut alone = Overlay::default();
        put_on(&mut alone, first, cache);
        let rows = first.rows().filter_map(|id| alone.row(id.0, &id.1).cloned().map(|row| (id, row)));
        let queries = first.rows().map(|id| (id.clone(), cache.interests.queries_with(&id)));
        let whole = first.rows().filter(|id| cache.interests.holds_row(id) || alone.made(id));
        Some(Foreseen { of: first.counter(), rows: rows.collect(), queries: queries.collect(), whole: whole.collect() })
    }

    /// Takes out the first entry, which the confirmed state contains. If its rows are as they were foreseen, nothing is different for the
    /// entries behind it.
    pub(crate) fn sink(&mut self, foreseen: &Foreseen, cache: &Cache) -> Option<Entry> {
        let entry = self.take(foreseen.of)?;
        self.overlay.sink(entry.writes());
        let is_other =
            |id: &&RowId| !foreseen.is_as_foreseen(id, cache) || self.rested_on_the_making_of(&entry, id, cache);
        let other: Vec<RowId> = foreseen.rows.keys().filter(is_other).cloned().collect();
        if !other.is_empty() {
            self.touched.extend(other.iter().cloned());
            // Of thousands that were made offline, each leaves the others as they are.
            if self.any_stands_on(&other) {
                self.unsettle(other);
            }
        }
        Some(entry)
    }

    /// Takes out a settled operation that is replayed, with the effect that it had when it ran: nothing is different for those behind it.
    pub(crate) fn sink_replayed(&mut self, counter: Counter) -> Option<Entry> {
        let entry = self.take(counter)?;
        self.overlay.sink(entry.writes());
        Some(entry)
    }

    /// Whether an entry behind one that is gone knew a row only because that one made it.
    fn rested_on_the_making_of(&self, gone: &Entry, id: &RowId, cache: &Cache) -> bool {
        let life = Cell::row(id.0, id.1.clone());
        if gone.writes().iter().all(|write| write.cell != life) {
            return false;
        }
        let row = Changed::Rows([id.clone()].into());
        let held =
            |entry: &Entry, read: &Read| cache.interests.holds_for(Demand::Mutation(entry.counter()), &read.interest());
        self.entries.values().any(|entry| entry.reads().any(|read| row.concerns(read) && !held(entry, read)))
    }

    /// Whether any entry writes or has read one of these rows.
    fn any_stands_on(&self, rows: &[RowId]) -> bool {
        let changed = Changed::Rows(rows.iter().cloned().collect());
        rows.iter().any(|(table, key)| self.overlay.row(*table, key).is_some())
            || self.entries.values().any(|entry| entry.looked_at().any(|read| changed.concerns(read)))
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
    pub(crate) fn settle(&mut self, cache: &Cache) -> Step {
        for (counter, entry) in self.entries.range_mut((Bound::Excluded(self.settled), Bound::Unbounded)) {
            let reader = Reader::new(cache, Some(&self.overlay), None);
            if let Some(stale) = entry.staleness(reader, &self.changed) {
                match stale {
                    Stale::HasCome => {}
                    Stale::IsAnother => entry.misses = 0,
                }
                // What it wrote is gone, whatever its next run writes.
                let rows: Vec<RowId> = entry.rows().collect();
                self.touched.extend(rows.iter().cloned());
                self.changed.add(rows);
                entry.state = RunState::Due;
            }
            match entry.state {
                RunState::Due => return Step::Run(*counter),
                RunState::Missing(_) => {}
                RunState::Done(_) => put_on(&mut self.overlay, entry, cache),
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
            entry.state = state;
            let rows: BTreeSet<RowId> = before.into_iter().chain(entry.rows()).collect();
            self.touched.extend(rows.iter().cloned());
            // The entries behind it stand on other rows now.
            self.changed.add(rows);
        }
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
            let stands = *counter > self.settled || entry.reads().all(|read| reader.tells_of(demand, read));
            assert!(stands, "what a settled mutation read is held or made here, or nobody would tell that it changed");
        }
        self.lanes.validate(self.entries.iter().map(|(counter, entry)| (entry.lane, counter)));
        self.validate_windows();
    }
}

fn put_on(overlay: &mut Overlay, entry: &Entry, cache: &Cache) {
    let applied = overlay.apply_all(entry.writes(), cache);
    applied.expect("the run checked its writes against the schema, as the gateway checks what the cache holds");
}
