//! The store of a data centre, as a stand-in: atomic, in one order, and durable with every step.
//!
//! Invariant: a commit, its reply and its place in the feed are one step.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;

use iolite_store::{
    Commit, CommitReply, Completion, CompletionDecision, Event, ReadReply, Reply, Request, RequestId, RowAt, Segment,
};
use iolite_values::{
    Cell, CellState, ClientId, ColumnId, CoordinatorId, Counter, Direction, Id, Interest, ListOrder, Operation, Read,
    Row, RowKey, StoreIncarnation, TableId, Timestamp, Transaction, TransactionId, Value,
};
use iolite_wire::centres::{CentreName, OutboxEntry};

use super::plan::Centre;

#[derive(Clone)]
pub struct Store {
    pub incarnation: StoreIncarnation,
    micros: u64,
    pub resolved: Timestamp,
    /// The outbox, in order.
    pub entries: Vec<(Timestamp, OutboxEntry)>,
    rows: BTreeMap<(TableId, RowKey), Row>,
    /// When each cell was written last that anybody reads.
    written: BTreeMap<Cell, Timestamp>,
    completions: BTreeMap<TransactionId, Completion>,
    acknowledged: BTreeMap<ClientId, Counter>,
    /// Commits that are on their way. They happen in any order.
    pub pending: BTreeMap<RequestId, Transaction>,
    pub events: VecDeque<Event>,
}

/// Names of data centres begin here; those of clients are below.
pub const FIRST_OWN: u128 = 1000;

impl Store {
    pub fn new(centre: Centre) -> Store {
        Store {
            incarnation: StoreIncarnation(Id::from_u128(100 + centre as u128)),
            micros: 1,
            resolved: Timestamp::end_of(1),
            entries: Vec::new(),
            rows: BTreeMap::new(),
            written: BTreeMap::new(),
            completions: BTreeMap::new(),
            acknowledged: BTreeMap::new(),
            pending: BTreeMap::new(),
            events: VecDeque::new(),
        }
    }

    /// A process comes to it, the first one or after a restart. What had not happened yet never does.
    pub fn open(&mut self) {
        self.pending.clear();
        self.events = [Event::Ready { store: self.incarnation, resolved: self.resolved }].into();
    }

    /// A commit of effects waits for its time. All else happens at once.
    pub fn request(&mut self, id: RequestId, request: Request) {
        let reply = match request {
            Request::Commit { transaction, .. } if is_of_clients(&transaction) => {
                self.pending.insert(id, transaction);
                return;
            }
            Request::Commit { transaction, .. } => return self.commit(id, &transaction),
            Request::ReadAt { interest, at, limit } => {
                assert_eq!(at, self.resolved, "nobody reads old states here");
                let mut rows = self.rows(&interest);
                if limit.direction == Direction::Descending {
                    rows.reverse();
                }
                Reply::ReadAt(Ok(ReadReply::through_limit(at, rows, limit)))
            }
            Request::Acknowledge { client, through } => {
                let own = self.acknowledged.entry(client).or_default();
                *own = through.max(*own);
                self.completions.retain(|id, _| id.client != client || id.counter > through);
                Reply::Acknowledged
            }
            other => panic!("nobody asks {other:?}"),
        };
        self.events.push_back(Event::Reply(id, reply));
    }

    /// A commit that waited happens, or conflicts with something that is not in this world.
    pub fn perform(&mut self, id: RequestId, conflicts: bool) {
        let Some(transaction) = self.pending.remove(&id) else { return };
        if conflicts {
            let reply = Reply::Commit(CommitReply::Conflict { at_least: self.resolved });
            return self.events.push_back(Event::Reply(id, reply));
        }
        self.commit(id, &transaction);
    }

    /// Commits that wait: whether each was taken from a peer, and whether its outcome is known already.
    pub fn waiting(&self) -> impl Iterator<Item = (bool, bool)> + '_ {
        self.pending.values().map(|own| (self.is_taken(own), self.knows(own.id)))
    }

    fn is_taken(&self, transaction: &Transaction) -> bool {
        let mut entries = transaction.writes().iter().filter_map(|write| {
            let Operation::Append { value: Value::Bytes(bytes), .. } = &write.operation else { return None };
            OutboxEntry::decode(bytes).ok()
        });
        entries.any(|entry| matches!(entry, OutboxEntry::Transaction(own) if own.taken.is_some()))
    }

    /// Whether the outcome of a transaction is known.
    pub fn knows(&self, id: TransactionId) -> bool {
        self.completions.contains_key(&id) || self.is_forgotten(id)
    }

    pub fn has_record(&self, id: TransactionId) -> bool {
        self.completions.contains_key(&id)
    }

    fn is_forgotten(&self, id: TransactionId) -> bool {
        self.acknowledged.get(&id.client).is_some_and(|through| id.counter <= *through)
    }

    fn commit(&mut self, request: RequestId, transaction: &Transaction) {
        let reply = self.decide(transaction);
        self.events.push_back(Event::Reply(request, Reply::Commit(reply)));
        if self.micros > self.resolved.micros() {
            let (from, to) = (self.resolved, Timestamp::end_of(self.micros));
            let at = Timestamp::new(self.micros, CoordinatorId::default());
            let commit = Commit { at, transaction: transaction.id, writes: transaction.writes().into() };
            self.resolved = to;
            self.events.push_back(Event::Feed(Segment { from, to, commits: vec![commit] }));
        }
    }

    fn decide(&mut self, transaction: &Transaction) -> CommitReply {
        let id = transaction.id;
        if let Some(completion) = self.completions.get(&id) {
            return CommitReply::Completed(completion.clone());
        }
        if self.is_forgotten(id) {
            return CommitReply::Forgotten;
        }
        let changed = transaction.reads.iter().filter_map(|read| self.written.get(cell_of(read))).max();
        if let Some(at) = changed.filter(|at| **at > transaction.snapshot) {
            return CommitReply::Conflict { at_least: *at };
        }
        self.micros += 1;
        let at = Timestamp::new(self.micros, CoordinatorId::default());
        for write in transaction.writes() {
            if let Operation::Append { value: Value::Bytes(bytes), order: ListOrder::Commit } = &write.operation {
                self.entries.push((at, OutboxEntry::decode(bytes).expect("it was encoded here")));
            } else if !matches!(write.operation, Operation::Merge(_)) {
                self.written.insert(write.cell.clone(), at);
            }
            let row = self.rows.entry((write.cell.table, write.cell.row.clone())).or_default();
            row.apply(write.cell.column, &write.operation).expect("it fits");
        }
        let completion = Completion { attempt: transaction.attempt, at, decision: CompletionDecision::Committed };
        self.completions.insert(id, completion.clone());
        CommitReply::Completed(completion)
    }

    /// The place in a column of the row about a peer.
    pub fn place_about(&self, peer: &CentreName, column: &str) -> u64 {
        let key = RowKey::new(&[Value::from(peer.as_str())]).expect("a name is short");
        let row = self.rows.get(&(TableId::of("_centres"), key));
        let state = row.and_then(|row| row.cell(ColumnId::of(column)));
        let Some(CellState::Scalar(Value::Int(place))) = state else { return 0 };
        u64::try_from(*place).unwrap_or_default()
    }

    fn rows(&self, interest: &Interest) -> Vec<RowAt> {
        let Interest::Range { table, range } = interest else { panic!("nobody reads {interest:?}") };
        let own = self.rows.iter().filter(|((own, key), row)| own == table && range.contains(key) && row.exists());
        own.map(|((table, key), row)| RowAt { table: *table, key: key.clone(), row: row.clone() }).collect()
    }
}

/// Records in a data centre's own name are left out: no name is used twice, and nobody asks again.
impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_client = |client: &ClientId| client.0 < Id::from_u128(FIRST_OWN);
        let records = self.completions.iter().filter(|(id, _)| is_client(&id.client));
        let acknowledged = self.acknowledged.iter().filter(|(client, _)| is_client(client));
        let late = self.written.iter().filter(|(_, at)| **at > self.resolved);
        f.debug_struct("Store")
            .field("resolved", &self.resolved)
            .field("rows", &self.rows)
            .field("entries", &self.entries)
            .field("late", &late.collect::<Vec<_>>())
            .field("records", &records.collect::<Vec<_>>())
            .field("acknowledged", &acknowledged.collect::<Vec<_>>())
            .field("pending", &self.pending)
            .field("events", &self.events)
            .finish()
    }
}

fn is_of_clients(transaction: &Transaction) -> bool {
    transaction.writes().iter().any(|write| matches!(write.operation, Operation::Merge(_)))
}

fn cell_of(read: &Read) -> &Cell {
    match read {
        Read::Cell { cell, element: _ } => cell,
        other => panic!("nobody reads {other:?}"),
    }
}
