//! An update in messages of a bearable size.
//!
//! Invariant: what belongs to one snapshot stands in parts that follow each other.

use iolite_values::{KeyRange, Row, Write};
use iolite_wire::message::{RowSnapshot, Snapshot, SubscriptionId};
use iolite_wire::tabs::{TabMutation, TabUpdate};

/// Cuts an update into parts while it is made.
#[derive(Debug)]
pub(crate) struct Parts {
    parts: Vec<TabUpdate>,
    /// An update with nothing in its lists.
    empty: TabUpdate,
    bytes_max: usize,
    /// Of the last part, about.
    bytes: usize,
}

impl Parts {
    /// About this much goes into one message, unless its client has another limit.
    pub(crate) const BYTES: usize = 128 * 1024;
    /// What one item takes at least, and what its lists' items do.
    const ITEM: usize = 32;

    pub(crate) fn new(empty: TabUpdate, bytes_max: usize) -> Parts {
        Parts { parts: vec![empty.clone()], empty, bytes_max, bytes: 0 }
    }

    /// The part that takes so many bytes more.
    pub(crate) fn room(&mut self, bytes: usize) -> &mut TabUpdate {
        if self.bytes > 0 && self.bytes + bytes > self.bytes_max {
            self.parts.push(self.empty.clone());
            self.bytes = 0;
        }
        self.bytes += bytes + Self::ITEM;
        self.parts.last_mut().expect("there is a first part")
    }

    pub(crate) fn row(&mut self, row: RowSnapshot) {
        self.room(size(&row.row)).rows.push(row);
    }

    /// All rows of a subscription. Of a query that is given in part: up to where it reaches.
    pub(crate) fn snapshot(&mut self, subscription: SubscriptionId, rows: Vec<RowSnapshot>, reaches: Option<KeyRange>) {
        let first = Snapshot { subscription, rows: Vec::new(), reaches: reaches.map(Box::new) };
        self.room(0).snapshots.push(first);
        for row in rows {
            let part = self.room(size(&row.row));
            match part.snapshots.last_mut() {
                Some(last) if last.subscription == subscription => last.rows.push(row),
                Some(_) | None => part.snapshots.push(Snapshot { subscription, rows: vec![row], reaches: None }),
            }
        }
    }

    pub(crate) fn mutation(&mut self, mutation: TabMutation) {
        let written = |write: &Write| write.operation.size_bytes() + Self::ITEM;
        let bytes = mutation.arguments.len() + mutation.writes.iter().map(written).sum::<usize>();
        self.room(bytes).pending.push(mutation);
    }

    pub(crate) fn finish(mut self) -> Vec<TabUpdate> {
        let last = self.parts.len() - 1;
        for part in &mut self.parts[..last] {
            part.more = true;
        }
        self.parts
    }
}

fn size(row: &Row) -> usize {
    row.size_bytes() + Parts::ITEM
}

/// Puts a part behind those before it.
pub(crate) fn joined(mut so_far: TabUpdate, part: TabUpdate) -> TabUpdate {
    (so_far.number, so_far.more) = (part.number, part.more);
    so_far.rows.extend(part.rows);
    for snapshot in part.snapshots {
        match so_far.snapshots.last_mut() {
            Some(last) if last.subscription == snapshot.subscription => last.rows.extend(snapshot.rows),
            Some(_) | None => so_far.snapshots.push(snapshot),
        }
    }
    so_far.unavailable.extend(part.unavailable);
    so_far.pending.extend(part.pending);
    so_far.ended.extend(part.ended);
    so_far.refused.extend(part.refused);
    so_far.dismissed.extend(part.dismissed);
    so_far.declined.extend(part.declined);
    so_far.withdrawn.extend(part.withdrawn);
    so_far.has_room |= part.has_room;
    so_far
}
