//! A store as tracking sees it: serial, with versions of its rows. It decides at once; what is late is said late by the world around it.
//!
//! Invariants: a transaction takes effect once, whatever is asked again; it commits only if what it read is as it was; nothing commits at or below a timestamp that
//! was said to be resolved.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use iolite_store::{
    Commit, CommitReply, Completion, CompletionDecision, ReadLimit, ReadReply, Refusal, Reply, RowAt, TooOld, Validity,
};
use iolite_values::{
    ClientId, CoordinatorId, Counter, Decision, Interest, Operation, Read, Row, RowKey, StoreIncarnation, TableId,
    Timestamp, Transaction, TransactionId, Write, disturbs,
};

pub struct Store {
    pub id: StoreIncarnation,
    versions: BTreeMap<(TableId, RowKey), Vec<(Timestamp, Row)>>,
    commits: Vec<Commit>,
    outcomes: BTreeMap<TransactionId, Completion>,
    acknowledged: BTreeMap<ClientId, Counter>,
    /// Transactions that were told that they conflict.
    refused: BTreeSet<TransactionId>,
    /// The highest timestamp of a commit, or that was said to be resolved.
    last: Timestamp,
    /// Rows that have changed, for who watches them.
    changed: Vec<Changed>,
}

/// A row that a commit has changed.
#[derive(Clone, Debug)]
pub struct Changed {
    pub table: TableId,
    pub key: RowKey,
    pub after: Row,
    /// The row was made anew.
    pub is_created: bool,
}

impl Store {
    pub fn new(id: StoreIncarnation) -> Store {
        Store {
            id,
            versions: BTreeMap::new(),
            commits: Vec::new(),
            outcomes: BTreeMap::new(),
            acknowledged: BTreeMap::new(),
            refused: BTreeSet::new(),
            last: Timestamp::ZERO,
            changed: Vec::new(),
        }
    }

    /// Another store, with the rows of some tables as they were then.
    pub fn restored(&self, id: StoreIncarnation, tables: &[TableId], at: Timestamp) -> Store {
        let mut store = Store { last: self.last, ..Store::new(id) };
        for ((table, key), versions) in &self.versions {
            if let Some(row) = version(versions, at).filter(|_| tables.contains(table)) {
                store.versions.insert((*table, key.clone()), vec![(self.last, row.clone())]);
                let changed = Changed { table: *table, key: key.clone(), after: row.clone(), is_created: true };
                store.changed.push(changed);
            }
        }
        store
    }

    pub fn take_changed(&mut self) -> Vec<Changed> {
        std::mem::take(&mut self.changed)
    }

    /// Everything at or below this timestamp is decided.
    pub fn resolve(&mut self, micros: u64) -> Timestamp {
        self.last = self.last.max(Timestamp::end_of(micros));
        self.last
    }

    pub fn commits_after(&self, after: Timestamp) -> Vec<Commit> {
        let from = self.commits.partition_point(|commit| commit.at <= after);
        self.commits[from..].to_vec()
    }

    /// A row as it is now.
    pub fn row(&self, table: TableId, key: &RowKey) -> Option<&Row> {
        let versions = self.versions.get(&(table, key.clone()))?;
        version(versions, Timestamp::MAX)
    }

    pub fn read(&self, interest: &Interest, at: Timestamp, limit: ReadLimit, oldest: Timestamp) -> Reply {
        let Interest::Range { table, range } = interest else { panic!("tracking reads ranges") };
        if at > self.last {
            return Reply::Refused(Refusal::NotResolved { asked: at, resolved: self.last });
        }
        if at < oldest {
            return Reply::ReadAt(Err(TooOld { low_watermark: oldest }));
        }
        let is_in = |(own, key): &(TableId, RowKey)| own == table && range.contains(key);
        let there = self.versions.iter().filter(|(place, _)| is_in(place));
        let rows = there.filter_map(|((table, key), versions)| {
            let row = version(versions, at)?.clone();
            Some(RowAt { table: *table, key: key.clone(), row })
        });
        Reply::ReadAt(Ok(ReadReply::through_limit(at, rows, limit)))
    }

    pub fn validate(&self, reads: &[Read], snapshot: Timestamp, oldest: Timestamp) -> Validity {
        let is_valid = snapshot >= oldest && self.holds(reads, snapshot);
        if is_valid { Validity::Valid } else { Validity::Changed { at_least: self.last } }
    }

    fn holds(&self, reads: &[Read], snapshot: Timestamp) -> bool {
        let since = self.commits.iter().rev().take_while(|commit| commit.at > snapshot);
        since.into_iter().all(|commit| !reads.iter().any(|read| disturbs(&commit.writes, read)))
    }

    pub fn commit(&mut self, transaction: &Transaction, micros: u64, oldest: Timestamp) -> CommitReply {
        let id = transaction.id;
        if let Some(completion) = self.outcomes.get(&id) {
            return CommitReply::Completed(completion.clone());
        }
        if self.acknowledged.get(&id.client).is_some_and(|through| id.counter <= *through) {
            return CommitReply::Forgotten;
        }
        let is_old = transaction.snapshot < oldest || self.refused.contains(&id);
        if is_old || !self.holds(&transaction.reads, transaction.snapshot) || self.creates_twice(transaction.writes()) {
            return self.refuse(id);
        }
        self.last = Timestamp::end_of(micros).max(self.last).next_for(CoordinatorId::default());
        let at = self.last;
        let completion = Completion { attempt: transaction.attempt, at, decision: decided(&transaction.decision) };
        self.outcomes.insert(id, completion.clone());
        self.apply(at, transaction.writes());
        self.commits.push(Commit { at, transaction: id, writes: Arc::from(transaction.writes()) });
        CommitReply::Completed(completion)
    }

    /// The attempt takes no effect any more.
    pub fn refuse(&mut self, id: TransactionId) -> CommitReply {
        self.refused.insert(id);
        CommitReply::Conflict { at_least: self.last }
    }

    pub fn is_decided(&self, id: TransactionId) -> bool {
        self.outcomes.contains_key(&id)
    }

    pub fn acknowledge(&mut self, client: ClientId, through: Counter) {
        self.acknowledged.insert(client, through);
        self.outcomes.retain(|id, _| id.client != client || id.counter > through);
    }

    /// A row is created that is there.
    fn creates_twice(&self, writes: &[Write]) -> bool {
        let is_deleted =
            |write: &Write| writes.iter().any(|other| other.cell == write.cell && other.operation == Operation::Delete);
        let is_there = |write: &Write| self.row(write.cell.table, &write.cell.row).is_some_and(Row::exists);
        let mut created = writes.iter().filter(|write| write.operation == Operation::Create);
        created.any(|write| is_there(write) && !is_deleted(write))
    }

    fn apply(&mut self, at: Timestamp, writes: &[Write]) {
        let mut rows: BTreeMap<(TableId, RowKey), (Row, bool)> = BTreeMap::new();
        for write in writes {
            let place = (write.cell.table, write.cell.row.clone());
            let before = || (self.row(place.0, &place.1).cloned().unwrap_or_default(), false);
            let (row, is_created) = rows.entry(place.clone()).or_insert_with(before);
            row.apply(write.cell.column, &write.operation).expect("tracking writes what fits");
            *is_created |= write.operation == Operation::Create;
        }
        for ((table, key), (after, is_created)) in rows {
            self.versions.entry((table, key.clone())).or_default().push((at, after.clone()));
            self.changed.push(Changed { table, key, after, is_created });
        }
    }
}

fn version(versions: &[(Timestamp, Row)], at: Timestamp) -> Option<&Row> {
    let through = versions.partition_point(|(of, _)| *of <= at);
    through.checked_sub(1).map(|last| &versions[last].1).filter(|row| !row.is_empty())
}

fn decided(decision: &Decision) -> CompletionDecision {
    match decision {
        Decision::Commit(_) => CompletionDecision::Committed,
        Decision::Abort(_) => CompletionDecision::Aborted,
    }
}
