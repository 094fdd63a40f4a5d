//! The leader's pending mutations, as a follower has them: they never run here, so their writes are what the leader's run wrote.
//!
//! Invariants: the overlays hold the writes of all that are pending, in the order of their counters, on top of the confirmed rows; `by_ticket` names
//! those that were called by ticket.

use std::collections::{BTreeMap, BTreeSet};

use iolite_machine::WallTime;
use iolite_values::{Counter, Write};
use iolite_wire::tabs::TabMutation;

use super::Ticket;
use super::call::kind_of;
use crate::cache::{Cache, RowId};
use crate::interface::{Pending, PendingMutation};
use crate::queue::MutationKind;
use crate::view::Overlay;

#[derive(Debug, Default)]
pub(super) struct Mirror {
    entries: BTreeMap<Counter, Mirrored>,
    by_ticket: BTreeMap<Ticket, Counter>,
    optimistic: Overlay,
    durable: Overlay,
}

#[derive(Debug)]
struct Mirrored {
    pending: PendingMutation,
    writes: Vec<Write>,
}

impl Mirror {
    pub(super) fn put(&mut self, mutation: TabMutation) -> BTreeSet<RowId> {
        let (name, arguments) = match kind_of(mutation.name.as_deref(), &mutation.arguments) {
            MutationKind::Named { name, arguments } => (Some(name), Some(arguments)),
            MutationKind::Closure | MutationKind::ChangeSet => (None, None),
        };
        let status = Pending {
            durable: mutation.durable,
            sent: mutation.sent,
            would_reject: mutation.would_reject,
            waits_for_data: mutation.waits_for_data,
            in_conflict: mutation.in_conflict,
            centres: mutation.centres,
        };
        let pending = PendingMutation {
            counter: mutation.counter,
            name,
            arguments,
            called_at: WallTime::from_micros(mutation.called_at_micros),
            ticket: mutation.ticket.map(Ticket),
            status,
        };
        let mut touched = self.remove(mutation.counter);
        touched.extend(rows(&mutation.writes));
        self.by_ticket.extend(pending.ticket.map(|ticket| (ticket, mutation.counter)));
        self.entries.insert(mutation.counter, Mirrored { pending, writes: mutation.writes });
        touched
    }

    pub(super) fn remove(&mut self, counter: Counter) -> BTreeSet<RowId> {
        let Some(gone) = self.entries.remove(&counter) else { return BTreeSet::new() };
        if let Some(ticket) = gone.pending.ticket {
            self.by_ticket.remove(&ticket);
        }
        rows(&gone.writes).collect()
    }

    /// Forgets everything, and gives the rows that look different for it.
    pub(super) fn clear(&mut self) -> BTreeSet<RowId> {
        std::mem::take(self).entries.values().flat_map(|entry| rows(&entry.writes)).collect()
    }

    /// Makes the overlays anew, after the mutations or what lies below them changed.
    pub(super) fn settle(&mut self, cache: &Cache) {
        (self.optimistic, self.durable) = (Overlay::default(), Overlay::default());
        for entry in self.entries.values() {
            // The leader checked its writes. If this app's schema knew better, the row would be shown as confirmed.
            let _ = self.optimistic.apply_all(&entry.writes, cache);
            if entry.pending.status.durable {
                let _ = self.durable.apply_all(&entry.writes, cache);
            }
        }
    }

    pub(super) fn optimistic(&self) -> &Overlay {
        &self.optimistic
    }

    pub(super) fn durable(&self) -> &Overlay {
        &self.durable
    }

    pub(super) fn pending(&self) -> impl Iterator<Item = &PendingMutation> {
        self.entries.values().map(|entry| &entry.pending)
    }

    pub(super) fn get(&self, counter: Counter) -> Option<&PendingMutation> {
        self.entries.get(&counter).map(|entry| &entry.pending)
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(super) fn of_ticket(&self, ticket: Ticket) -> Option<&PendingMutation> {
        self.get(*self.by_ticket.get(&ticket)?)
    }
}

fn rows(writes: &[Write]) -> impl Iterator<Item = RowId> {
    writes.iter().map(|write| (write.cell.table, write.cell.row.clone()))
}
