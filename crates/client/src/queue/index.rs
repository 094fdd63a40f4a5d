//! The rows that pending mutations write and have read, so that what becomes of one touches those that it concerns.
//!
//! Invariant: it says of each entry what the entry's last run says.

use std::collections::{BTreeMap, BTreeSet};

use iolite_values::{Counter, KeyRange, Read, RowKey, TableId};

use crate::cache::RowId;

use super::{Entry, RunState};

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Index {
    writers: BTreeMap<RowId, BTreeSet<Counter>>,
    /// Mutations that looked at a row by its name.
    readers: BTreeMap<RowId, BTreeSet<Counter>>,
    /// Mutations that looked at ranges, or asked queries.
    wide: BTreeSet<Counter>,
    /// Mutations whose last run missed something.
    missing: BTreeSet<Counter>,
}

impl Index {
    pub(super) fn add(&mut self, entry: &Entry) {
        let counter = entry.counter();
        for id in entry.rows() {
            self.writers.entry(id).or_default().insert(counter);
        }
        for read in entry.looked_at() {
            match row_of(read) {
                Some(id) => drop(self.readers.entry(id).or_default().insert(counter)),
                None => drop(self.wide.insert(counter)),
            }
        }
        if matches!(entry.state, RunState::Missing(_)) {
            self.missing.insert(counter);
        }
    }

    pub(super) fn remove(&mut self, entry: &Entry) {
        let counter = entry.counter();
        for id in entry.rows() {
            take(&mut self.writers, &id, counter);
        }
        for id in entry.looked_at().filter_map(row_of) {
            take(&mut self.readers, &id, counter);
        }
        self.wide.remove(&counter);
        self.missing.remove(&counter);
    }

    pub(super) fn anything_missing(&self) -> bool {
        !self.missing.is_empty()
    }

    pub(super) fn is_written(&self, id: &RowId) -> bool {
        self.writers.contains_key(id)
    }

    /// Whether an entry before this one writes what was read.
    pub(super) fn is_written_before(&self, counter: Counter, read: &Read) -> bool {
        let is_before = |writers: &BTreeSet<Counter>| writers.first().is_some_and(|first| *first < counter);
        match read {
            Read::Cell { cell, element: _ } => self.writers.get(&(cell.table, cell.row.clone())).is_some_and(is_before),
            Read::Range { table, range } => self.writers_in(*table, range).any(is_before),
            Read::Query(query) => self.writers_in(query.table, &query.keys).any(is_before),
        }
    }

    fn writers_in<'a>(&'a self, table: TableId, range: &'a KeyRange) -> impl Iterator<Item = &'a BTreeSet<Counter>> {
        let from = self.writers.range((table, RowKey::bound(&range.lower))..);
        from.take_while(move |((own, key), _)| *own == table && range.contains(key)).map(|(_, writers)| writers)
    }

    /// The entries that may have looked at a row.
    pub(super) fn may_have_read(&self, id: &RowId) -> impl Iterator<Item = Counter> {
        self.readers.get(id).into_iter().flatten().chain(&self.wide).copied()
    }
}

/// The row that a read is about, if it is about one.
fn row_of(read: &Read) -> Option<RowId> {
    match read {
        Read::Cell { cell, element: _ } => Some((cell.table, cell.row.clone())),
        Read::Range { table, range } => {
            let key = RowKey::bound(&range.lower);
            (KeyRange::one(&key) == *range).then_some((*table, key))
        }
        Read::Query(_) => None,
    }
}

fn take(counters: &mut BTreeMap<RowId, BTreeSet<Counter>>, id: &RowId, counter: Counter) {
    let Some(own) = counters.get_mut(id) else { return };
    own.remove(&counter);
    if own.is_empty() {
        counters.remove(id);
    }
}
