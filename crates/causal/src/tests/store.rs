//! A store for tests: it keeps every commit, and answers at once.

use std::collections::{BTreeMap, VecDeque};

use iolite_store::{
    Commit, CommitReply, Completion, CompletionDecision, Event, ReadReply, Reply, Request, RequestId, RowAt, Segment,
};
use iolite_values::{
    Cell, ClientId, CoordinatorId, Counter, Id, Interest, Operation, Read, Row, StoreIncarnation, TableId, Timestamp,
    Transaction, TransactionId,
};

#[derive(Clone, Debug)]
pub struct FakeStore {
    pub incarnation: StoreIncarnation,
    micros: u64,
    resolved: Timestamp,
    pub commits: Vec<Commit>,
    completions: BTreeMap<TransactionId, Completion>,
    acknowledged: BTreeMap<ClientId, Counter>,
    events: VecDeque<Event>,
    /// Each commit is told to have conflicted once more.
    pub conflicts: usize,
}

impl FakeStore {
    pub fn new(number: u128) -> FakeStore {
        FakeStore {
            incarnation: StoreIncarnation(Id::from_u128(number)),
            micros: 1,
            resolved: Timestamp::ZERO,
            commits: Vec::new(),
            completions: BTreeMap::new(),
            acknowledged: BTreeMap::new(),
            events: VecDeque::new(),
            conflicts: 0,
        }
    }

    /// The event that comes first, and again after a restart.
    pub fn open(&mut self) {
        self.events.clear();
        self.resolve();
        self.events = [Event::Ready { store: self.incarnation, resolved: self.resolved }].into();
    }

    pub fn poll(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// The feed comes as far as the store is.
    pub fn resolve(&mut self) {
        self.micros += 1;
        let (from, to) = (self.resolved, Timestamp::end_of(self.micros));
        let commits = self.commits.iter().filter(|commit| commit.at > from).cloned().collect();
        self.resolved = to;
        self.events.push_back(Event::Feed(Segment { from, to, commits }));
    }

    pub fn has_news(&self) -> bool {
        self.commits.last().is_some_and(|commit| commit.at > self.resolved)
    }

    pub fn request(&mut self, id: RequestId, request: Request) {
        let reply = match request {
            Request::Commit { transaction, floor, within: _ } => Reply::Commit(self.commit(transaction, floor)),
            Request::ReadAt { interest, at, limit } => {
                assert!(at <= self.resolved);
                let rows = self.rows(&interest, at);
                let rows: Vec<RowAt> = match limit.direction {
                    iolite_values::Direction::Ascending => rows,
                    iolite_values::Direction::Descending => rows.into_iter().rev().collect(),
                };
                Reply::ReadAt(Ok(ReadReply::through_limit(at, rows, limit)))
            }
            Request::Acknowledge { client, through } => {
                self.acknowledged.insert(client, through);
                self.completions.retain(|id, _| id.client != client || id.counter > through);
                Reply::Acknowledged
            }
            other => panic!("nobody asks {other:?}"),
        };
        self.events.push_back(Event::Reply(id, reply));
    }

    /// The number of completion records.
    pub fn records(&self) -> usize {
        self.completions.len()
    }

    fn commit(&mut self, transaction: Transaction, floor: Timestamp) -> CommitReply {
        let id = transaction.id;
        if let Some(completion) = self.completions.get(&id) {
            return CommitReply::Completed(completion.clone());
        }
        if self.acknowledged.get(&id.client).is_some_and(|through| id.counter <= *through) {
            return CommitReply::Forgotten;
        }
        let changed = self.commits.iter().rev().find(|commit| {
            commit.at > transaction.snapshot && transaction.reads.iter().any(|read| is_written(read, commit))
        });
        if let Some(commit) = changed {
            return CommitReply::Conflict { at_least: commit.at };
        }
        if self.conflicts > 0 {
            self.conflicts -= 1;
            return CommitReply::Conflict { at_least: self.resolved };
        }
        self.micros = self.micros.max(floor.micros()) + 1;
        let at = Timestamp::new(self.micros, CoordinatorId::default());
        let completion = Completion { attempt: transaction.attempt, at, decision: CompletionDecision::Committed };
        self.completions.insert(id, completion.clone());
        self.commits.push(Commit { at, transaction: id, writes: transaction.writes().into() });
        CommitReply::Completed(completion)
    }

    /// All rows of an interest.
    pub fn rows(&self, interest: &Interest, at: Timestamp) -> Vec<RowAt> {
        let Interest::Range { table, range } = interest else { panic!("nobody reads {interest:?}") };
        let mut rows: BTreeMap<_, Row> = BTreeMap::new();
        for write in self.commits.iter().filter(|commit| commit.at <= at).flat_map(|commit| commit.writes.iter()) {
            if write.cell.table == *table && range.contains(&write.cell.row) {
                rows.entry(write.cell.row.clone())
                    .or_default()
                    .apply(write.cell.column, &write.operation)
                    .expect("fits");
            }
        }
        let there = rows.into_iter().filter(|(_, row)| row.exists());
        there.map(|(key, row)| RowAt { table: *table, key, row }).collect()
    }

    /// The ids of the transactions of this table, in the order of their commits.
    pub fn ids(&self, table: TableId) -> Vec<TransactionId> {
        let writes_to = |commit: &&Commit| commit.writes.iter().any(|write| write.cell.table == table);
        self.commits.iter().filter(writes_to).map(|commit| commit.transaction).collect()
    }
}

/// Whether a commit changes what was read. An append in the order of commits changes nothing that anybody reads here.
fn is_written(read: &Read, commit: &Commit) -> bool {
    let Read::Cell { cell, element: _ } = read else { panic!("nobody reads {read:?}") };
    let touches = |own: &Cell, operation: &Operation| own == cell && !matches!(operation, Operation::Append { .. });
    commit.writes.iter().any(|write| touches(&write.cell, &write.operation))
}
