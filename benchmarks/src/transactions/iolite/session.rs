//! One client of Iolite's store, through the coordinator that all share.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use iolite_cluster::Split;
use iolite_host::random_id;
use iolite_node::StoreClient;
use iolite_store::{CommitReply, CompletionDecision, ReadLimit, Reply, Request, Validity};
use iolite_values::{
    Attempt, Cell, CellState, ClientId, ColumnId, Counter, Decision, Element, Id, Interest, Level, Operation, Read,
    RowKey, TableId, Timestamp, Transaction, TransactionId, Value as Stored, Write,
};

use crate::transactions::system::{Interrupted, Outcome, Session};
use crate::transactions::workload::{KeyNumber, Mode, Value};

#[derive(Debug)]
pub struct IoliteSession {
    store: StoreClient,
    client: ClientId,
    counter: Counter,
    mode: Mode,
    /// Of the transaction that is open, from its first read on.
    snapshot: Option<Timestamp>,
    /// What was validated when it was read.
    valid: Vec<Read>,
    /// What is validated at the end.
    reads: Vec<Read>,
    writes: Vec<Write>,
    /// How long the last read took.
    read_took: Duration,
    /// The last attempt conflicted, so this one is the same transaction again.
    has_conflicted: bool,
    acknowledged: Counter,
    /// Its last commit. A snapshot may be older: what it shows is validated.
    committed: Timestamp,
    /// Something that was read has changed up to there: an older snapshot would conflict again.
    at_least: Timestamp,
}

enum Got {
    Value(Value),
    /// What is at the snapshot is not true any more.
    Changed,
}

const TABLE: &str = "keys";
/// Completion records are let go after so many commits.
const ACKNOWLEDGED_EACH: u64 = 64;
/// Where a read takes so long, what only reads has each read validated while it is made, as after a conflict: more messages, in place of a round
/// trip at the end and of conflicts that are found there.
const FAR: Duration = Duration::from_millis(10);

/// Where shards begin, such that each has as many keys.
pub fn splits(shards: u16) -> anyhow::Result<Vec<Split>> {
    // Names are 16 hexadecimal digits, evenly spread.
    let place = |number: u16| format!("{TABLE}:x{:016x}", (u128::from(number) << 64) / u128::from(shards));
    (1..shards).map(|number| place(number).parse().map_err(anyhow::Error::msg)).collect()
}

fn cell(key: KeyNumber) -> Cell {
    // A letter first: what consists of digits would be a number where shards begin.
    let row = RowKey::new(&[Stored::from(format!("x{}", key.name()).as_str())]).expect("it is short");
    Cell { table: TableId::of(TABLE), row, column: ColumnId::of("value") }
}

fn read_of(key: KeyNumber) -> Read {
    Read::Cell { cell: cell(key), element: Element::Whole }
}

fn put(key: KeyNumber, value: Value) -> Write {
    Write { cell: cell(key), operation: Operation::Put(Stored::Bytes(Arc::from(value.bytes()))) }
}

impl IoliteSession {
    pub fn new(store: StoreClient) -> IoliteSession {
        IoliteSession {
            store,
            client: ClientId(Id::from_u128(random_id())),
            counter: Counter(0),
            mode: Mode::ReadWrite,
            snapshot: None,
            valid: Vec::new(),
            reads: Vec::new(),
            writes: Vec::new(),
            read_took: Duration::ZERO,
            has_conflicted: false,
            acknowledged: Counter(0),
            committed: Timestamp::ZERO,
            at_least: Timestamp::ZERO,
        }
    }

    /// Where the transaction reads.
    async fn snapshot(&mut self) -> anyhow::Result<Timestamp> {
        if let Some(snapshot) = self.snapshot {
            return Ok(snapshot);
        }
        let standing = self.store.resolved_through(self.at_least).await?;
        self.snapshot = Some(standing.resolved);
        Ok(standing.resolved)
    }

    async fn try_get(&mut self, key: KeyNumber) -> anyhow::Result<Got> {
        let begun = Instant::now();
        let got = match self.mode {
            Mode::ReadOnly if self.has_conflicted || self.read_took >= FAR => self.get_valid(key).await?,
            Mode::ReadOnly | Mode::ReadWrite => {
                let at = self.snapshot().await?;
                self.reads.push(read_of(key));
                Got::Value(read_at(&self.store, cell(key), at).await?)
            }
        };
        self.read_took = begun.elapsed();
        Ok(got)
    }

    /// Reads and validates in one round trip.
    async fn get_valid(&mut self, key: KeyNumber) -> anyhow::Result<Got> {
        loop {
            let at = self.snapshot().await?;
            let store = self.store.clone();
            let (value, is_valid) =
                tokio::try_join!(read_at(&store, cell(key), at), self.validate(at, vec![read_of(key)]))?;
            if is_valid {
                self.valid.push(read_of(key));
                return Ok(Got::Value(value));
            }
            if !self.move_snapshot(at).await? {
                return Ok(Got::Changed);
            }
        }
    }

    /// What was read last has changed above the snapshot. If nothing else has, that is true at a later one as well.
    async fn move_snapshot(&mut self, at: Timestamp) -> anyhow::Result<bool> {
        self.snapshot = None;
        // First, so that the answer tells of all that is in it.
        self.snapshot().await?;
        self.valid.append(&mut self.reads);
        Ok(self.valid.is_empty() || self.validate(at, self.valid.clone()).await?)
    }

    fn next_id(&mut self) -> TransactionId {
        self.counter = self.counter.next();
        TransactionId { client: self.client, counter: self.counter }
    }

    /// Whether nothing has changed these reads.
    async fn validate(&mut self, snapshot: Timestamp, reads: Vec<Read>) -> anyhow::Result<bool> {
        // A transaction of its own each time: what cannot be told otherwise is committed.
        let (transaction, floor) = (self.next_id(), self.committed);
        let request = Request::Validate { transaction, attempt: Attempt(1), snapshot, reads: reads.into(), floor };
        let reply = self.store.request(request).await?;
        self.has_effect(reply)
    }

    async fn try_commit(&mut self) -> anyhow::Result<Outcome> {
        let snapshot = self.snapshot().await?;
        let reads = std::mem::take(&mut self.reads);
        let has_effect = match self.mode {
            Mode::ReadOnly => reads.is_empty() || self.validate(snapshot, reads).await?,
            Mode::ReadWrite => {
                let decision = Decision::Commit(std::mem::take(&mut self.writes));
                let (id, floor) = (self.next_id(), self.committed);
                let transaction =
                    Transaction { id, attempt: Attempt(1), snapshot, reads, level: Level::Strict, decision };
                let reply = self.store.request(Request::Commit { transaction, floor, within: None }).await?;
                self.has_effect(reply)?
            }
        };
        self.has_conflicted = !has_effect;
        self.acknowledge();
        Ok(if has_effect { Outcome::Committed } else { Outcome::Aborted })
    }

    fn has_effect(&mut self, reply: Reply) -> anyhow::Result<bool> {
        match reply {
            Reply::Commit(CommitReply::Completed(completion)) => {
                ensure!(completion.decision == CompletionDecision::Committed, "nobody aborts");
                self.committed = completion.at;
                Ok(true)
            }
            Reply::Validated(Validity::Valid) => Ok(true),
            Reply::Commit(CommitReply::Conflict { at_least }) | Reply::Validated(Validity::Changed { at_least }) => {
                self.at_least = self.at_least.max(at_least);
                Ok(false)
            }
            other => bail!("a commit was answered with {other:?}"),
        }
    }

    /// Lets go of what tells how earlier transactions ended.
    fn acknowledge(&mut self) {
        if self.counter.0 >= self.acknowledged.0 + ACKNOWLEDGED_EACH {
            self.acknowledged = self.counter;
            let (store, client, through) = (self.store.clone(), self.client, self.counter);
            // Whether it arrives does not matter.
            drop(tokio::spawn(async move { store.request(Request::Acknowledge { client, through }).await }));
        }
    }
}

/// A resolved timestamp with everything that was acknowledged to anyone: on one machine that has a timestamp below its clock by now.
pub async fn everything_until_now(store: &StoreClient) -> anyhow::Result<Timestamp> {
    let now = std::time::SystemTime::now().duration_since(std::time::SystemTime::UNIX_EPOCH)?;
    let now = Timestamp::new(u64::try_from(now.as_micros())?, store.id());
    Ok(store.resolved_through(now).await?.resolved)
}

async fn read_at(store: &StoreClient, cell: Cell, at: Timestamp) -> anyhow::Result<Value> {
    find_at(store, cell, at).await?.context("no value at a key that was loaded")
}

async fn find_at(store: &StoreClient, cell: Cell, at: Timestamp) -> anyhow::Result<Option<Value>> {
    let column = cell.column;
    let request = Request::ReadAt { interest: Interest::Cell(cell), at, limit: ReadLimit::NONE };
    match store.request(request).await? {
        Reply::ReadAt(Ok(found)) => match found.rows.first().and_then(|row| row.row.cell(column)) {
            Some(CellState::Scalar(Stored::Bytes(bytes))) => {
                Value::read(bytes).map(Some).context("a value that no client writes")
            }
            Some(other) => bail!("a key holds {other:?}"),
            None => Ok(None),
        },
        other => bail!("a read was answered with {other:?}"),
    }
}

impl Session for IoliteSession {
    async fn load(&mut self, keys: &[KeyNumber], value: Value) -> anyhow::Result<()> {
        self.begin(Mode::ReadWrite);
        self.writes = keys.iter().map(|key| put(*key, value)).collect();
        match self.try_commit().await? {
            Outcome::Committed => Ok(()),
            other => bail!("a load ended as {other:?}"),
        }
    }

    async fn read(&mut self, keys: &[KeyNumber]) -> anyhow::Result<Vec<Option<Value>>> {
        let at = everything_until_now(&self.store).await?;
        let reads = keys.iter().map(|key| {
            let (store, cell) = (self.store.clone(), cell(*key));
            tokio::spawn(async move { find_at(&store, cell, at).await })
        });
        let mut found = Vec::new();
        for read in reads.collect::<Vec<_>>() {
            found.push(read.await??);
        }
        Ok(found)
    }

    fn begin(&mut self, mode: Mode) {
        self.mode = mode;
        self.snapshot = None;
        self.valid.clear();
        self.reads.clear();
        self.writes.clear();
    }

    async fn get(&mut self, key: KeyNumber) -> Result<Value, Interrupted> {
        match self.try_get(key).await.map_err(Interrupted::Broken)? {
            Got::Value(value) => Ok(value),
            Got::Changed => {
                self.has_conflicted = true;
                Err(Interrupted::Aborted)
            }
        }
    }

    fn put(&mut self, key: KeyNumber, value: Value) {
        self.writes.push(put(key, value));
    }

    async fn commit(&mut self) -> Outcome {
        self.try_commit().await.unwrap_or_else(Outcome::Unknown)
    }
}
