//! The rows of this data centre about its peers: how far it has taken their outboxes, and how far they have its own.
//!
//! Invariants:
//! - a place in a row only rises, whichever gateway of the data centre writes it;
//! - one write of a peer's row is on its way at a time, and it says the latest.

use std::collections::BTreeMap;

use iolite_store::{Commit, RowAt};
use iolite_values::{CellState, ColumnId, Id, Operation, Row, StoreIncarnation, Timestamp, Value, Write};
use iolite_wire::centres::{CentreName, Place};

use crate::tables::{self, applied_column, store_column, taken_column};

/// The rows of all peers, as the feed has them.
#[derive(Clone, Debug, Default)]
pub struct Rows {
    rows: BTreeMap<CentreName, Row>,
    /// Places that are to be stored, where they are above what is.
    wanted: BTreeMap<(CentreName, Column), Wanted>,
}

/// A place of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Column {
    Taken,
    Applied,
}

#[derive(Clone, Copy, Debug)]
struct Wanted {
    place: Place,
    /// The store that the place is in, of a place that was taken.
    store: Option<StoreIncarnation>,
    state: Writing,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Writing {
    Due,
    Asked,
    /// The feed has to come so far before it is looked at again.
    Until(Timestamp),
}

/// A write that is due.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DueWrite {
    pub peer: CentreName,
    pub column: Column,
    pub reads: Vec<iolite_values::Cell>,
    pub writes: Vec<Write>,
}

impl Column {
    fn id(self) -> ColumnId {
        match self {
            Column::Taken => taken_column(),
            Column::Applied => applied_column(),
        }
    }
}

impl Rows {
    pub fn of(rows: Vec<RowAt>) -> Rows {
        let named = rows.into_iter().filter_map(|row| Some((tables::centre_name(&row.key)?, row.row)));
        Rows { rows: named.collect(), wanted: BTreeMap::new() }
    }

    /// Takes a commit of the feed. Returns whether it concerns peers.
    pub fn fold(&mut self, commit: &Commit) -> bool {
        let mut concerns = false;
        for write in commit.writes.iter().filter(|write| write.cell.table == tables::centres()) {
            let Some(name) = tables::centre_name(&write.cell.row) else { continue };
            // What does not fit changes nothing, here as in the store.
            let _ = self.rows.entry(name).or_default().apply(write.cell.column, &write.operation);
            concerns = true;
        }
        concerns
    }

    /// The place that is stored.
    pub fn place(&self, peer: &CentreName, column: Column) -> Place {
        match self.rows.get(peer).and_then(|row| row.cell(column.id())) {
            Some(CellState::Scalar(Value::Int(place))) => Place(u64::try_from(*place).unwrap_or_default()),
            _ => Place::START,
        }
    }

    /// The store whose outbox was taken.
    pub fn store(&self, peer: &CentreName) -> Option<StoreIncarnation> {
        match self.rows.get(peer).and_then(|row| row.cell(store_column())) {
            Some(CellState::Scalar(Value::Bytes(bytes))) => {
                Some(StoreIncarnation(Id::from_bytes(bytes.as_ref().try_into().ok()?)))
            }
            _ => None,
        }
    }

    /// This place is to be stored. `store`: whose outbox was taken.
    pub fn want(&mut self, peer: &CentreName, column: Column, place: Place, store: Option<StoreIncarnation>) {
        if place <= self.place(peer, column) && store == self.store(peer).filter(|_| store.is_some()) {
            return;
        }
        let wanted = Wanted { place, store, state: Writing::Due };
        let own = self.wanted.entry((peer.clone(), column)).or_insert(wanted);
        own.place = own.place.max(place);
        own.store = store.or(own.store);
    }

    /// Writes that can be committed now, with what they read at `position`. Each is then on its way.
    pub fn due(&mut self, position: Timestamp) -> Vec<DueWrite> {
        let stored = self.wanted.iter().filter(|((peer, column), wanted)| self.is_stored(peer, *column, wanted));
        let stored: Vec<_> = stored.map(|(key, _)| key.clone()).collect();
        for key in stored {
            self.wanted.remove(&key);
        }
        let mut due = Vec::new();
        for ((peer, column), wanted) in &mut self.wanted {
            let can_begin = match wanted.state {
                Writing::Due => true,
                Writing::Until(at) => at <= position,
                Writing::Asked => false,
            };
            if can_begin {
                wanted.state = Writing::Asked;
                due.push(write(peer, *column, wanted, !self.rows.contains_key(peer)));
            }
        }
        due
    }

    /// A write has come to an end, which the feed shows at `at`.
    pub fn ended(&mut self, peer: &CentreName, column: Column, at: Timestamp) {
        if let Some(wanted) = self.wanted.get_mut(&(peer.clone(), column)) {
            wanted.state = Writing::Until(at);
        }
    }

    fn is_stored(&self, peer: &CentreName, column: Column, wanted: &Wanted) -> bool {
        let has_store = wanted.store.is_none() || wanted.store == self.store(peer);
        wanted.state != Writing::Asked && wanted.place <= self.place(peer, column) && has_store
    }
}

fn write(peer: &CentreName, column: Column, wanted: &Wanted, is_new: bool) -> DueWrite {
    let put = |column, value| Write { cell: tables::cell(peer, column), operation: Operation::Put(value) };
    let mut writes = Vec::new();
    if is_new {
        let life = iolite_values::Cell::row(tables::centres(), tables::centre(peer));
        writes.push(Write { cell: life, operation: Operation::Create });
    }
    writes.push(put(column.id(), Value::Int(wanted.place.0 as i64)));
    if let Some(store) = wanted.store {
        writes.push(put(store_column(), Value::Bytes(store.0.to_bytes().as_slice().into())));
    }
    let reads = vec![tables::cell(peer, column.id())];
    DueWrite { peer: peer.clone(), column, reads, writes }
}
