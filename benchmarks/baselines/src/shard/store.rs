//! What the log of a shard amounts to: the same on every node that has applied as much of it.
//!
//! Invariants: a transaction has one outcome; what is prepared has none yet.

use std::collections::BTreeMap;

use iolite_baseline_client::{Outcome, Pair, TransactionId, Value};

use super::locks::Key;
use crate::command::{Change, Prepared};

/// The place of an entry in the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LogIndex(pub u64);

#[derive(Debug, Default)]
pub struct Store {
    values: BTreeMap<Key, (LogIndex, Vec<u8>)>,
    prepared: BTreeMap<TransactionId, Prepared>,
    /// Kept for as long as the log, which is for good.
    decided: BTreeMap<TransactionId, Decision>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    Committed,
    Aborted,
}

impl Store {
    pub fn value(&self, key: &[u8]) -> Value {
        match self.values.get(key) {
            Some((version, value)) => Value { value: Some(value.clone()), version: version.0 },
            None => Value { value: None, version: 0 },
        }
    }

    pub fn version(&self, key: &[u8]) -> u64 {
        self.values.get(key).map_or(0, |(version, _)| version.0)
    }

    pub fn prepared(&self, transaction: TransactionId) -> Option<&Prepared> {
        self.prepared.get(&transaction)
    }

    pub fn all_prepared(&self) -> impl Iterator<Item = &Prepared> {
        self.prepared.values()
    }

    pub fn decided(&self, transaction: TransactionId) -> Option<Decision> {
        self.decided.get(&transaction).copied()
    }

    /// What is known of a transaction.
    pub fn outcome(&self, transaction: TransactionId) -> Option<Outcome> {
        match self.decided(transaction) {
            Some(Decision::Committed) => Some(Outcome::Committed),
            Some(Decision::Aborted) => Some(Outcome::Aborted),
            None => self.prepared.contains_key(&transaction).then_some(Outcome::Prepared),
        }
    }

    /// Applies an entry of the log.
    ///
    /// # Panics
    /// When a transaction is both committed and aborted, or committed without having been prepared.
    pub fn apply(&mut self, index: LogIndex, change: Change) {
        match change {
            Change::Load(loaded) => self.write(index, loaded.pairs),
            Change::Prepare(prepared) => {
                if self.decided(prepared.transaction).is_none() {
                    self.prepared.insert(prepared.transaction, prepared);
                }
            }
            Change::Commit(transaction) => {
                if let Some(prepared) = self.prepared.remove(&transaction) {
                    self.write(index, prepared.writes);
                    self.decided.insert(transaction, Decision::Committed);
                }
                let decided = self.decided(transaction);
                assert_eq!(decided, Some(Decision::Committed), "{transaction:?} is committed, being prepared");
            }
            Change::Abort(transaction) => {
                self.prepared.remove(&transaction);
                let decided = *self.decided.entry(transaction).or_insert(Decision::Aborted);
                assert_eq!(decided, Decision::Aborted, "{transaction:?} is aborted");
            }
        }
    }

    fn write(&mut self, index: LogIndex, pairs: Vec<Pair>) {
        self.values.extend(pairs.into_iter().map(|Pair { key, value }| (key, (index, value))));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: TransactionId = TransactionId { client: 0, number: 1 };

    fn prepare() -> Change {
        let writes = vec![Pair { key: b"key".to_vec(), value: b"new".to_vec() }];
        Change::Prepare(Prepared { transaction: ONE, reads: Vec::new(), writes, participants: vec![0] })
    }

    #[test]
    fn a_write_is_seen_from_its_commit_on() {
        let mut store = Store::default();
        store.apply(LogIndex(4), prepare());
        assert_eq!((store.value(b"key").value, store.outcome(ONE)), (None, Some(Outcome::Prepared)));
        store.apply(LogIndex(5), Change::Commit(ONE));
        assert_eq!(store.value(b"key"), Value { value: Some(b"new".to_vec()), version: 5 });
        store.apply(LogIndex(6), Change::Commit(ONE));
        assert_eq!(store.version(b"key"), 5, "whoever finishes it too changes nothing");
    }

    #[test]
    fn what_was_aborted_before_it_came_is_never_prepared() {
        let mut store = Store::default();
        store.apply(LogIndex(1), Change::Abort(ONE));
        store.apply(LogIndex(2), prepare());
        assert_eq!(store.outcome(ONE), Some(Outcome::Aborted));
        assert_eq!(store.all_prepared().count(), 0);
    }

    #[test]
    #[should_panic(expected = "is committed")]
    fn a_commit_of_what_was_aborted_is_a_bug() {
        let mut store = Store::default();
        store.apply(LogIndex(1), Change::Abort(ONE));
        store.apply(LogIndex(2), Change::Commit(ONE));
    }
}
