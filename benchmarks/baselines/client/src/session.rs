//! One client's transactions, one at a time: what it has read, what it is about to write.
//!
//! Invariant: a transaction that is given up leaves no lock behind, if the node that has it is still there.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, SystemTime};

use iolite_host::random_seed;
use tokio::time::Instant;

use crate::cluster::{Cluster, Control, ShardNumber};
use crate::messages::{Ask, Get, Load, Look, Pair, Read, Refused, Tell, TransactionId, Value, Values};
use crate::wire::{Exchange, Unreachable, Wire};

/// Why a read of a transaction has no answer. The transaction has no effect then.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Stopped {
    #[error("the transaction is in conflict with another one: run it again")]
    Aborted,
    #[error(transparent)]
    Unreachable(#[from] Unreachable),
}

/// How a commit ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    Committed,
    /// Without any effect.
    Aborted,
    /// It may have been committed, or may yet be.
    Unknown(Unreachable),
}

/// One client. Asks each shard over one link, to the node that leads it.
#[derive(Debug)]
pub struct Session {
    pub(crate) wire: Wire,
    pub(crate) control: Control,
    pub(crate) current: Transaction,
    client: u64,
    number: u64,
    /// When the first of the attempts that failed since the last commit began.
    first_attempt: Option<u64>,
}

/// What the running transaction has done.
#[derive(Debug, Default)]
pub(crate) struct Transaction {
    pub id: TransactionId,
    pub age: u64,
    pub reads: BTreeMap<Vec<u8>, Value>,
    pub writes: BTreeMap<Vec<u8>, Vec<u8>>,
    /// Shards that may hold locks for it.
    pub locked: BTreeSet<ShardNumber>,
}

/// Before a key is looked at again that a transaction is about to write.
const LOOKS_AGAIN_AFTER: Duration = Duration::from_millis(20);
/// How long one look may take in all.
const LOOKS_WITHIN: Duration = Duration::from_secs(30);

impl Session {
    /// A client of a store. It connects when it first asks.
    ///
    /// # Panics
    /// Outside of a runtime, and when the cluster has no shards.
    pub fn new(cluster: Cluster, control: Control) -> Session {
        assert!(!cluster.shards.is_empty(), "a store has shards");
        let current = Transaction::default();
        Session { wire: Wire::new(cluster), control, current, client: random_seed(), number: 0, first_attempt: None }
    }

    /// Begins a transaction, and gives up one that has not ended.
    pub fn begin(&mut self) {
        self.give_up();
        self.number += 1;
        let age = *self.first_attempt.get_or_insert_with(now_us);
        let id = TransactionId { client: self.client, number: self.number };
        self.current = Transaction { id, age, ..Transaction::default() };
    }

    /// What is at a key.
    ///
    /// # Errors
    /// When the transaction cannot go on.
    pub async fn get(&mut self, key: &[u8]) -> Result<Option<Vec<u8>>, Stopped> {
        if let Some(read) = self.current.reads.get(key) {
            return Ok(read.value.clone());
        }
        let shard = self.wire.cluster().shard_of(key);
        let Transaction { id: transaction, age, .. } = self.current;
        let ask = Ask::Get(Get { transaction, age, key: key.to_vec() });
        let answer = match self.control {
            Control::Optimistic => self.wire.ask_again(shard, ask).await,
            Control::Locking => {
                self.current.locked.insert(shard);
                self.wire.ask(shard, ask).await
            }
        };
        match answer {
            Ok(Tell::Value(value)) => {
                self.current.reads.insert(key.to_vec(), value.clone());
                Ok(value.value)
            }
            Ok(Tell::Refused(refused)) => {
                self.settle_blocker(refused).await;
                Err(Stopped::Aborted)
            }
            // The locks are gone with the node that had them.
            Ok(_) => Err(Stopped::Aborted),
            Err(unreachable) => Err(unreachable.into()),
        }
    }

    /// Seen by nobody before the commit, not even by this transaction.
    pub fn put(&mut self, key: &[u8], value: &[u8]) {
        self.current.writes.insert(key.to_vec(), value.to_vec());
    }

    /// Ends the transaction.
    pub async fn commit(&mut self) -> Ended {
        let ended = if self.current.writes.is_empty() { self.validate().await } else { self.two_phases().await };
        match ended {
            Ended::Committed => {
                self.first_attempt = None;
                self.current = Transaction::default();
            }
            Ended::Aborted => self.give_up(),
            Ended::Unknown(_) => self.current = Transaction::default(),
        }
        ended
    }

    /// Writes values outside of any transaction.
    ///
    /// # Errors
    /// When a shard does not answer.
    pub async fn load(&mut self, pairs: Vec<(Vec<u8>, Vec<u8>)>) -> Result<(), Unreachable> {
        let mut of_shards: BTreeMap<ShardNumber, Vec<Pair>> = BTreeMap::new();
        for (key, value) in pairs {
            of_shards.entry(self.wire.cluster().shard_of(&key)).or_default().push(Pair { key, value });
        }
        for (shard, pairs) in of_shards {
            match self.wire.ask_again(shard, Ask::Load(Load { pairs })).await? {
                Tell::Done(()) => {}
                _ => return Err(Unreachable { shard }),
            }
        }
        Ok(())
    }

    /// What is at keys, outside of any transaction. Finishes transactions that stand in the way and whose clients are gone.
    ///
    /// # Errors
    /// When a shard does not answer.
    pub async fn look(&mut self, keys: &[Vec<u8>]) -> Result<Vec<Option<Vec<u8>>>, Unreachable> {
        let mut of_shards: BTreeMap<ShardNumber, Vec<usize>> = BTreeMap::new();
        for (place, key) in keys.iter().enumerate() {
            of_shards.entry(self.wire.cluster().shard_of(key)).or_default().push(place);
        }
        let mut found = vec![None; keys.len()];
        for (shard, places) in of_shards {
            let keys = places.iter().map(|place| keys[*place].clone()).collect();
            let values = self.look_at(shard, Look { keys }).await?;
            places.into_iter().zip(values).for_each(|(place, value)| found[place] = value.value);
        }
        Ok(found)
    }

    /// What was exchanged with every node since the last call.
    pub fn take_exchanges(&mut self) -> Vec<Exchange> {
        self.wire.take_exchanges()
    }

    async fn look_at(&mut self, shard: ShardNumber, look: Look) -> Result<Vec<Value>, Unreachable> {
        let deadline = Instant::now() + LOOKS_WITHIN;
        while Instant::now() < deadline {
            match self.wire.ask_again(shard, Ask::Look(look.clone())).await? {
                Tell::Values(Values { values }) if values.len() == look.keys.len() => return Ok(values),
                Tell::Refused(refused) => {
                    self.settle_blocker(refused).await;
                    tokio::time::sleep(LOOKS_AGAIN_AFTER).await;
                }
                _ => break,
            }
        }
        Err(Unreachable { shard })
    }

    async fn settle_blocker(&mut self, refused: Refused) {
        if let Some(blocker) = refused.blocker {
            // If it cannot be settled now, whoever meets it next tries again.
            let _ = self.settle(blocker.transaction, &blocker.participants).await;
        }
    }

    fn give_up(&mut self) {
        let given_up = std::mem::take(&mut self.current);
        given_up.locked.iter().for_each(|shard| self.wire.send(*shard, Ask::Abort(given_up.id)));
    }
}

impl Transaction {
    /// What each shard has to do with it.
    pub fn reads_of(&self, shard_of: impl Fn(&[u8]) -> ShardNumber) -> BTreeMap<ShardNumber, Vec<Read>> {
        let mut of_shards: BTreeMap<ShardNumber, Vec<Read>> = BTreeMap::new();
        for (key, Value { version, .. }) in &self.reads {
            of_shards.entry(shard_of(key)).or_default().push(Read { key: key.clone(), version: *version });
        }
        of_shards
    }

    pub fn writes_of(&self, shard_of: impl Fn(&[u8]) -> ShardNumber) -> BTreeMap<ShardNumber, Vec<Pair>> {
        let mut of_shards: BTreeMap<ShardNumber, Vec<Pair>> = BTreeMap::new();
        for (key, value) in &self.writes {
            of_shards.entry(shard_of(key)).or_default().push(Pair { key: key.clone(), value: value.clone() });
        }
        of_shards
    }
}

fn now_us() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
}
