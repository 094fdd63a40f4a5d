//! Locks on keys, for reading and for writing.
//!
//! Invariants:
//! - a key is locked by one writer, or by any number of readers;
//! - who waits is served by age, and never overtakes an older one that it would hold up.

use std::collections::BTreeMap;

use iolite_baseline_client::TransactionId;

pub type Key = Vec<u8>;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mode {
    Read,
    Write,
}

/// Who goes first: the one that began first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Seniority {
    pub age: u64,
    pub transaction: TransactionId,
}

#[derive(Debug, Default)]
pub struct Locks {
    keys: BTreeMap<Key, Lock>,
    /// What each transaction holds or waits for.
    of: BTreeMap<TransactionId, Vec<Key>>,
}

#[derive(Debug, Default)]
struct Lock {
    holders: BTreeMap<TransactionId, Mode>,
    waiting: BTreeMap<Seniority, Mode>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request {
    Granted,
    Queued,
}

impl Mode {
    fn excludes(self, other: Mode) -> bool {
        self == Mode::Write || other == Mode::Write
    }
}

impl Locks {
    pub fn holds(&self, transaction: TransactionId, key: &[u8], mode: Mode) -> bool {
        self.keys.get(key).and_then(|lock| lock.holders.get(&transaction)).is_some_and(|held| *held >= mode)
    }

    /// Who holds a key so that another one cannot have it.
    pub fn in_the_way(&self, transaction: TransactionId, key: &[u8], mode: Mode) -> Vec<TransactionId> {
        self.keys.get(key).map(|lock| lock.in_the_way(transaction, mode)).unwrap_or_default()
    }

    /// Locks a key if nobody is in the way, and waits for nothing.
    pub fn try_lock(&mut self, transaction: TransactionId, key: &[u8], mode: Mode) -> Result<(), TransactionId> {
        match self.in_the_way(transaction, key, mode).first() {
            Some(holder) => Err(*holder),
            None => {
                self.keys.entry(key.to_vec()).or_default().grant(transaction, mode);
                self.note(transaction, key);
                Ok(())
            }
        }
    }

    /// Locks a key, or waits for it.
    pub fn request(&mut self, seniority: Seniority, key: &[u8], mode: Mode) -> Request {
        let lock = self.keys.entry(key.to_vec()).or_default();
        lock.waiting.insert(seniority, mode);
        let granted = lock.grant_next().contains(&seniority.transaction);
        self.note(seniority.transaction, key);
        if granted { Request::Granted } else { Request::Queued }
    }

    /// Gives up all that a transaction holds or waits for. Returns those that have got what they waited for.
    pub fn release(&mut self, transaction: TransactionId) -> Vec<TransactionId> {
        let mut granted = Vec::new();
        for key in self.of.remove(&transaction).unwrap_or_default() {
            let Some(lock) = self.keys.get_mut(&key) else { continue };
            lock.holders.remove(&transaction);
            lock.waiting.retain(|waiter, _| waiter.transaction != transaction);
            granted.extend(lock.grant_next());
            if lock.holders.is_empty() && lock.waiting.is_empty() {
                self.keys.remove(&key);
            }
        }
        granted
    }

    fn note(&mut self, transaction: TransactionId, key: &[u8]) {
        let keys = self.of.entry(transaction).or_default();
        if !keys.iter().any(|noted| noted == key) {
            keys.push(key.to_vec());
        }
    }

    /// # Panics
    /// When the invariant is broken.
    pub fn validate(&self) {
        for lock in self.keys.values() {
            let writers = lock.holders.values().filter(|mode| **mode == Mode::Write).count();
            assert!(writers == 0 || lock.holders.len() == 1, "a writer is alone: {lock:?}");
            assert!(!lock.holders.is_empty(), "whoever waits, waits for somebody: {lock:?}");
        }
    }
}

impl Lock {
    fn in_the_way(&self, transaction: TransactionId, mode: Mode) -> Vec<TransactionId> {
        let others = self.holders.iter().filter(|(holder, held)| **holder != transaction && mode.excludes(**held));
        others.map(|(holder, _)| *holder).collect()
    }

    fn grant(&mut self, transaction: TransactionId, mode: Mode) {
        let held = self.holders.entry(transaction).or_insert(mode);
        *held = mode.max(*held);
    }

    /// Serves the oldest, and so on until one has to wait.
    fn grant_next(&mut self) -> Vec<TransactionId> {
        let mut granted = Vec::new();
        while let Some((next, mode)) = self.waiting.first_key_value().map(|(next, mode)| (*next, *mode)) {
            if !self.in_the_way(next.transaction, mode).is_empty() {
                break;
            }
            self.waiting.remove(&next);
            self.grant(next.transaction, mode);
            granted.push(next.transaction);
        }
        granted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(number: u64) -> TransactionId {
        TransactionId { client: 0, number }
    }

    /// The smaller its number, the older it is.
    fn request(locks: &mut Locks, number: u64, mode: Mode) -> Request {
        locks.validate();
        locks.request(Seniority { age: number, transaction: of(number) }, b"key", mode)
    }

    #[test]
    fn readers_share_and_a_writer_is_alone() {
        let mut locks = Locks::default();
        assert_eq!(request(&mut locks, 1, Mode::Read), Request::Granted);
        assert_eq!(request(&mut locks, 2, Mode::Read), Request::Granted);
        assert_eq!(request(&mut locks, 3, Mode::Write), Request::Queued);
        assert_eq!(locks.in_the_way(of(3), b"key", Mode::Write), [of(1), of(2)]);
        assert_eq!(locks.release(of(1)), []);
        assert_eq!(locks.release(of(2)), [of(3)]);
        assert!(locks.holds(of(3), b"key", Mode::Write));
        locks.validate();
    }

    #[test]
    fn a_reader_waits_behind_an_older_writer_and_passes_a_younger_one() {
        let mut locks = Locks::default();
        assert_eq!(request(&mut locks, 1, Mode::Read), Request::Granted);
        assert_eq!(request(&mut locks, 5, Mode::Write), Request::Queued);
        assert_eq!(request(&mut locks, 6, Mode::Read), Request::Queued, "or writers would starve");
        assert_eq!(request(&mut locks, 2, Mode::Read), Request::Granted);
        assert_eq!(locks.release(of(5)), [of(6)]);
    }

    #[test]
    fn the_only_reader_becomes_the_writer() {
        let mut locks = Locks::default();
        assert_eq!(request(&mut locks, 1, Mode::Read), Request::Granted);
        assert_eq!(locks.try_lock(of(2), b"key", Mode::Write), Err(of(1)));
        assert_eq!(request(&mut locks, 1, Mode::Write), Request::Granted);
        assert_eq!(locks.try_lock(of(2), b"key", Mode::Read), Err(of(1)));
        assert_eq!(locks.release(of(1)), []);
        assert_eq!(locks.try_lock(of(2), b"key", Mode::Write), Ok(()));
    }
}
