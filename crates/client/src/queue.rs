//! Pending mutations: run, made durable, submitted in order, rebased until the confirmed state contains them.
//!
//! Invariants:
//! - a mutation leaves when the confirmed state contains it, or its end is final: not when a reply arrives;
//! - entries take effect in the order of their counters (one lane: every strong table is of one domain);
//! - the overlay holds exactly the writes of the entries up to `settled`, each run on what lies below it.
//!
//! Source: Hercules' rebase (Lebeck 2020, chapter 3); Diamond's transaction log (Zhang 2017, section 3.2.2).

mod entry;
mod lane;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use iolite_values::Counter;

use crate::cache::{Cache, RowId};
use crate::tabs::Ticket;
use crate::view::{Overlay, Reader};

pub(crate) use entry::{Entry, GivenUp, Ran, RunResult, RunState, Stage, Trail};
pub use entry::{Mutation, MutationKind};
pub(crate) use lane::Decided;

#[derive(Debug, Default)]
pub(crate) struct Queue {
    entries: BTreeMap<Counter, Entry>,
    /// Confirmed state as the settled entries leave it.
    overlay: Overlay,
    /// Entries up to this counter are in the overlay.
    settled: Counter,
    /// Rows whose optimistic state may have changed since this was last taken.
    touched: BTreeSet<RowId>,
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
        self.entries.insert(entry.counter(), entry);
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

    pub(crate) fn overlay(&self) -> &Overlay {
        &self.overlay
    }

    /// The mutation that came by a ticket, while it is pending.
    pub(crate) fn of_ticket(&self, ticket: Ticket) -> Option<Counter> {
        let of_ticket = |entry: &&Entry| entry.mutation.ticket == Some(ticket);
        self.entries.values().find(of_ticket).map(Entry::counter)
    }

    /// The writes of the entries that are durable, on top of the confirmed state.
    pub(crate) fn durable_overlay(&self, cache: &Cache) -> Overlay {
        let mut overlay = Overlay::default();
        for entry in self.entries.values().filter(|entry| entry.is_durable()) {
            put_on(&mut overlay, entry, cache);
        }
        overlay
    }

    pub(crate) fn remove(&mut self, counter: Counter) -> Option<Entry> {
        self.unsettle();
        self.entries.remove(&counter)
    }

    /// The state below the pending mutations changed, or one of them did: all are to be put on top of it anew.
    pub(crate) fn unsettle(&mut self) {
        for entry in self.entries.values() {
            self.touched.extend(entry.rows());
        }
        self.overlay.clear();
        self.settled = Counter(0);
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
            match entry.check(reader) {
                RunState::Due => return Step::Run(*counter),
                RunState::Missing(_) => {}
                RunState::Done(_) => {
                    put_on(&mut self.overlay, entry, cache);
                    self.touched.extend(entry.rows());
                }
            }
            self.settled = *counter;
        }
        Step::Settled
    }

    /// Takes what came of the run that `settle` asked for.
    pub(crate) fn ran(&mut self, counter: Counter, state: RunState) {
        if let Some(entry) = self.entries.get_mut(&counter) {
            self.touched.extend(entry.rows());
            entry.state = state;
        }
    }

    pub(crate) fn take_touched(&mut self) -> BTreeSet<RowId> {
        std::mem::take(&mut self.touched)
    }

    pub(crate) fn validate(&self) {
        for (counter, entry) in &self.entries {
            assert_eq!(*counter, entry.counter());
        }
        let sent = |entry: &&Entry| matches!(entry.stage, Stage::Submitted(_) | Stage::Unanswered(_));
        assert!(self.entries.values().filter(sent).count() <= 1, "a lane submits one mutation at a time");
    }
}

fn put_on(overlay: &mut Overlay, entry: &Entry, cache: &Cache) {
    let applied = overlay.apply_all(entry.writes(), cache);
    applied.expect("the run checked its writes against the schema, as the gateway checks what the cache holds");
}
