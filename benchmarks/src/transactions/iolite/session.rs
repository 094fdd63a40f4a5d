//! One client of Iolite's store, through the coordinator that all share.

use std::sync::Arc;

use anyhow::{Context, anyhow, bail, ensure};
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
    reads: Vec<Read>,
    writes: Vec<Write>,
    /// Its last commit. A snapshot may be older: what it shows is validated.
    committed: Timestamp,
    /// Something that was read has changed up to there: an older snapshot would conflict again.
    at_least: Timestamp,
}

const TABLE: &str = "keys";
/// Completion records are let go after so many commits.
const ACKNOWLEDGED_EACH: u64 = 64;

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
            reads: Vec::new(),
            writes: Vec::new(),
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

    async fn try_get(&mut self, key: KeyNumber) -> anyhow::Result<Option<Value>> {
        let at = self.snapshot().await?;
        let cell = cell(key);
        let found = read_at(&self.store, cell.clone(), at).await?;
        self.reads.push(Read::Cell { cell, element: Element::Whole });
        Ok(found)
    }

    fn transaction(&mut self, snapshot: Timestamp) -> Transaction {
        self.counter = self.counter.next();
        Transaction {
            id: TransactionId { client: self.client, counter: self.counter },
            attempt: Attempt(1),
            snapshot,
            reads: std::mem::take(&mut self.reads),
            level: Level::Strict,
            decision: Decision::Commit(std::mem::take(&mut self.writes)),
        }
    }

    async fn try_commit(&mut self) -> anyhow::Result<Outcome> {
        let snapshot = self.snapshot().await?;
        let transaction = self.transaction(snapshot);
        let floor = self.committed;
        let request = match self.mode {
            Mode::ReadWrite => Request::Commit { transaction, floor, within: None },
            Mode::ReadOnly => {
                let Transaction { id, attempt, reads, .. } = transaction;
                Request::Validate { transaction: id, attempt, snapshot, reads: reads.into(), floor }
            }
        };
        let reply = self.store.request(request).await?;
        let outcome = match reply {
            Reply::Commit(CommitReply::Completed(completion)) => {
                ensure!(completion.decision == CompletionDecision::Committed, "nobody aborts");
                self.committed = completion.at;
                Outcome::Committed
            }
            Reply::Validated(Validity::Valid) => Outcome::Committed,
            Reply::Commit(CommitReply::Conflict { at_least }) | Reply::Validated(Validity::Changed { at_least }) => {
                self.at_least = self.at_least.max(at_least);
                Outcome::Aborted
            }
            other => bail!("a commit was answered with {other:?}"),
        };
        self.acknowledge();
        Ok(outcome)
    }

    /// Lets go of what tells how earlier transactions ended.
    fn acknowledge(&self) {
        if self.counter.0.is_multiple_of(ACKNOWLEDGED_EACH) {
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

async fn read_at(store: &StoreClient, cell: Cell, at: Timestamp) -> anyhow::Result<Option<Value>> {
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
            tokio::spawn(async move { read_at(&store, cell, at).await })
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
        self.reads.clear();
        self.writes.clear();
    }

    async fn get(&mut self, key: KeyNumber) -> Result<Value, Interrupted> {
        let found = self.try_get(key).await.map_err(Interrupted::Broken)?;
        found.ok_or_else(|| Interrupted::Broken(anyhow!("no value at a key that was loaded")))
    }

    fn put(&mut self, key: KeyNumber, value: Value) {
        self.writes.push(put(key, value));
    }

    async fn commit(&mut self) -> Outcome {
        self.try_commit().await.unwrap_or_else(Outcome::Unknown)
    }
}
