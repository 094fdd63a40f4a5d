//! Changes that wait for the host to store them.
//!
//! Invariants: of what does not fit into storage (a row of tens of megabytes) nothing is kept, and it says so; of each key only the last change is kept, so what waits is bounded by what is stored.

use std::collections::BTreeMap;

use iolite_values::{Counter, Interest, LogId, Row, RowKey};
use iolite_wire::EncodeError;
use iolite_wire::client_storage::{StoredEnd, StoredInterest, StoredLog, StoredMeta, StoredMutation, StoredRow};

use super::{StorageChange, kind};
use crate::cache::RowId;
use crate::tabs::Ticket;

#[derive(Clone, Debug, Default)]
pub(crate) struct PendingChanges {
    changes: BTreeMap<Vec<u8>, Option<Vec<u8>>>,
}

impl PendingChanges {
    pub(crate) fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    pub(crate) fn take(&mut self) -> Vec<StorageChange> {
        let changes = std::mem::take(&mut self.changes).into_iter();
        let change = |(key, value)| match value {
            Some(value) => StorageChange::Put { key, value },
            None => StorageChange::Delete { key },
        };
        changes.map(change).collect()
    }

    /// The same, with rows and interests removed. The head is left out, as it is made anew for each batch.
    pub(crate) fn without_cache(&self) -> PendingChanges {
        let changes = self.changes.iter().filter(|(key, _)| kind_of(key) != kind::META);
        let change =
            |(key, value): (&Vec<u8>, &Option<Vec<u8>>)| (key.clone(), value.clone().filter(|_| !is_of_cache(key)));
        PendingChanges { changes: changes.map(change).collect() }
    }

    /// Takes the rows and interests out.
    pub(crate) fn split_off_cache(&mut self) -> PendingChanges {
        let (of_cache, others) = std::mem::take(&mut self.changes).into_iter().partition(|(key, _)| is_of_cache(key));
        self.changes = others;
        PendingChanges { changes: of_cache }
    }

    /// Adds changes that are made after these.
    pub(crate) fn extend(&mut self, later: PendingChanges) {
        self.changes.extend(later.changes);
    }

    pub(crate) fn meta(&mut self, meta: &StoredMeta) {
        self.changes.insert(vec![kind::META], Some(fitting(meta.encode())));
    }

    /// # Errors
    /// [`EncodeError`] when the row is too large to store.
    pub(crate) fn row(&mut self, id: &RowId, row: Option<&Row>) -> Result<(), EncodeError> {
        let stored = row.map(|row| StoredRow::encode_of(id.0, &id.1, row));
        self.changes.insert(row_key(id), stored.transpose()?);
        Ok(())
    }

    pub(crate) fn forget_row(&mut self, id: &RowId) {
        self.changes.insert(row_key(id), None);
    }

    pub(crate) fn interest(&mut self, interest: &Interest, held: bool) {
        let encoded = fitting(StoredInterest { interest: interest.clone() }.encode());
        let key = [&[kind::INTEREST], encoded.as_slice()].concat();
        self.changes.insert(key, held.then_some(encoded));
    }

    pub(crate) fn mutation(&mut self, mutation: &StoredMutation) {
        self.changes.insert(counter_key(kind::MUTATION, mutation.counter), Some(fitting(mutation.encode())));
    }

    pub(crate) fn forget_mutation(&mut self, counter: Counter) {
        self.changes.insert(counter_key(kind::MUTATION, counter), None);
    }

    pub(crate) fn forget_call(&mut self, ticket: Ticket) {
        self.changes.insert(ticket.outbox_key(), None);
    }

    pub(crate) fn end(&mut self, counter: Counter, end: Option<&StoredEnd>) {
        self.changes.insert(counter_key(kind::END, counter), end.map(|end| fitting(end.encode())));
    }

    pub(crate) fn log(&mut self, stored: &StoredLog) {
        let key = log_key(&stored.log, &stored.instance);
        self.changes.insert(key, Some(fitting(stored.encode())));
    }

    pub(crate) fn forget_log(&mut self, log: &LogId) {
        self.changes.insert(log_key(&log.name, &log.instance), None);
    }

    /// An entry of kept calls.
    pub(crate) fn kept(&mut self, change: iolite_rowsync::StorageChange) {
        self.changes.insert(change.key, change.value);
    }

    pub(crate) fn refused(&mut self, mutation: &StoredMutation) {
        self.changes.insert(counter_key(kind::REFUSED, mutation.counter), Some(fitting(mutation.encode())));
    }

    pub(crate) fn forget_refused(&mut self, counter: Counter) {
        self.changes.insert(counter_key(kind::REFUSED, counter), None);
    }
}

/// Calls, reasons and keys are limited far below what storage takes.
fn fitting(encoded: Result<Vec<u8>, EncodeError>) -> Vec<u8> {
    encoded.expect("what is stored was limited when it was made")
}

fn kind_of(key: &[u8]) -> u8 {
    *key.first().expect("a key begins with its kind")
}

fn is_of_cache(key: &[u8]) -> bool {
    matches!(kind_of(key), kind::ROW | kind::INTEREST | kind::LOG)
}

fn counter_key(kind: u8, counter: Counter) -> Vec<u8> {
    [&[kind], counter.0.to_be_bytes().as_slice()].concat()
}

fn log_key(name: &str, instance: &RowKey) -> Vec<u8> {
    [&[kind::LOG], name.as_bytes(), &[0], instance.as_bytes()].concat()
}

fn row_key(id: &RowId) -> Vec<u8> {
    [&[kind::ROW], id.0.0.to_be_bytes().as_slice(), id.1.as_bytes()].concat()
}
