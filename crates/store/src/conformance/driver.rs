//! Drives a store through a behaviour, and checks the feed on the way.

use std::collections::BTreeMap;

use iolite_values::{
    Attempt, Author, Cell, CellState, ClientId, ColumnId, Counter, Decision, Edit, Element, Id, Insertion, Interest,
    KeyRange, Level, Operation, Read, RowKey, TableId, Timestamp, Transaction, TransactionId, Unit, Value, Write,
};

use crate::{
    Commit, CommitReply, Completion, CompletionDecision, Event, ReadLimit, ReadReply, Reply, Request, RequestId,
    Segment, Store, Validity,
};

pub const TABLE: TableId = TableId(7);
pub const COLUMN: ColumnId = ColumnId(1);
pub const CLIENT: ClientId = ClientId(Id::from_u128(1));
const ANOTHER_CLIENT: ClientId = ClientId(Id::from_u128(1 << 100));

pub struct Driver {
    behaviour: &'static str,
    store: Box<dyn Store>,
    last_request: u64,
    last_counter: Counter,
    replies: BTreeMap<RequestId, Reply>,
    resolved: Timestamp,
    segments: Vec<Segment>,
    /// What was told to have committed.
    committed: BTreeMap<Timestamp, TransactionId>,
}

impl Driver {
    pub fn new(behaviour: &'static str, mut store: Box<dyn Store>) -> Driver {
        let first = store.next_event();
        let Some(Event::Ready { resolved, .. }) = first else {
            panic!("{behaviour}: the first event is Ready, not {first:?}");
        };
        let mut driver = Driver {
            behaviour,
            store,
            last_request: 0,
            last_counter: Counter(0),
            replies: BTreeMap::new(),
            resolved,
            segments: Vec::new(),
            committed: BTreeMap::new(),
        };
        driver.leave_the_beginning();
        driver
    }

    /// A store that nothing was written to may be resolved through the beginning of time only, and a transaction that read there has read too long ago.
    /// No behaviour sees what is written here.
    fn leave_the_beginning(&mut self) {
        let id = TransactionId { client: ANOTHER_CLIENT, counter: Counter(1) };
        let elsewhere = Cell { table: TableId(TABLE.0 + 1), ..cell(0) };
        let decision = Decision::Commit(vec![Write { cell: elsewhere, operation: Operation::Add(1) }]);
        self.commit_of(&Transaction { id, ..transaction(self.resolved, decision) });
        self.take_events();
        self.segments.clear();
        self.committed.clear();
    }

    /// What the feed has reached.
    pub fn resolved(&mut self) -> Timestamp {
        self.take_events();
        self.resolved
    }

    pub fn segments(&mut self) -> &[Segment] {
        self.take_events();
        &self.segments
    }

    /// Begins a request without waiting.
    pub fn begin(&mut self, request: Request) -> RequestId {
        self.last_request += 1;
        let id = RequestId(self.last_request);
        self.store.request(id, request);
        id
    }

    pub fn reply(&mut self, id: RequestId) -> Reply {
        self.take_events();
        let reply = self.replies.remove(&id);
        let reply = reply.unwrap_or_else(|| panic!("{}: {id:?} has no reply", self.behaviour));
        if let Reply::Commit(CommitReply::Completed(Completion {
            at, decision: CompletionDecision::Committed, ..
        })) = &reply
        {
            self.committed.entry(*at).or_default();
        }
        reply
    }

    pub fn ask(&mut self, request: Request) -> Reply {
        let id = self.begin(request);
        self.reply(id)
    }

    /// A new transaction of the one client, on what is resolved.
    pub fn transaction(&mut self, reads: Vec<Read>, decision: Decision) -> Transaction {
        self.last_counter = self.last_counter.next();
        let id = TransactionId { client: CLIENT, counter: self.last_counter };
        Transaction { id, reads, ..transaction(self.resolved(), decision) }
    }

    pub fn submit(&mut self, transaction: &Transaction) -> CommitReply {
        let request = Request::Commit { transaction: transaction.clone(), floor: Timestamp::ZERO, within: None };
        match self.ask(request) {
            Reply::Commit(reply) => reply,
            other => panic!("{}: a commit was answered with {other:?}", self.behaviour),
        }
    }

    /// The answer to a `Validate` with which nothing else meets.
    pub fn validate(&mut self, question: Request) -> Validity {
        match self.ask(question) {
            Reply::Validated(validity) => validity,
            other => panic!("{}: a validation was answered with {other:?}", self.behaviour),
        }
    }

    /// Commits, and waits until the feed has it.
    pub fn commit(&mut self, writes: Vec<Write>) -> Timestamp {
        let transaction = self.transaction(Vec::new(), Decision::Commit(writes));
        let at = self.commit_of(&transaction);
        assert!(self.resolved() >= at, "{}: the feed does not reach a commit", self.behaviour);
        at
    }

    /// Submits a transaction that may not be able to commit.
    pub fn try_commit(&mut self, writes: Vec<Write>) -> CommitReply {
        let transaction = self.transaction(Vec::new(), Decision::Commit(writes));
        self.submit(&transaction)
    }

    pub fn commit_of(&mut self, transaction: &Transaction) -> Timestamp {
        match self.submit(transaction) {
            CommitReply::Completed(Completion { at, decision: CompletionDecision::Committed, .. }) => {
                self.committed.insert(at, transaction.id);
                at
            }
            other => panic!("{}: {transaction:?} was answered with {other:?}", self.behaviour),
        }
    }

    pub fn read_at(&mut self, interest: Interest, at: Timestamp) -> ReadReply {
        self.read_some(interest, at, ReadLimit::NONE)
    }

    pub fn read_some(&mut self, interest: Interest, at: Timestamp, limit: ReadLimit) -> ReadReply {
        match self.ask(Request::ReadAt { interest, at, limit }) {
            Reply::ReadAt(Ok(reply)) => reply,
            other => panic!("{}: a read was answered with {other:?}", self.behaviour),
        }
    }

    /// The state of the cell, now.
    pub fn cell(&mut self, row: i64) -> Option<CellState> {
        let at = self.resolved();
        self.cell_at(row, at)
    }

    pub fn cell_at(&mut self, row: i64, at: Timestamp) -> Option<CellState> {
        let reply = self.read_at(Interest::Cell(cell(row)), at);
        reply.rows.first().and_then(|row| row.row.cell(COLUMN).cloned())
    }

    /// All commits that the feed has told.
    pub fn told(&mut self) -> Vec<Commit> {
        self.segments().iter().flat_map(|segment| segment.commits.clone()).collect()
    }

    fn take_events(&mut self) {
        while let Some(event) = self.store.next_event() {
            match event {
                Event::Ready { .. } => panic!("{}: the feed lost its place", self.behaviour),
                Event::Reply(id, reply) => {
                    let before = self.replies.insert(id, reply);
                    assert_eq!(before, None, "{}: {id:?} was answered twice", self.behaviour);
                }
                Event::Feed(segment) => self.take_segment(segment),
            }
        }
    }

    fn take_segment(&mut self, segment: Segment) {
        let name = self.behaviour;
        assert_eq!(segment.from, self.resolved, "{name}: a segment does not begin where the last one ended");
        assert!(segment.to > segment.from, "{name}: a segment without a stretch");
        let mut before = segment.from;
        for commit in &segment.commits {
            assert!(commit.at > before && commit.at <= segment.to, "{name}: {commit:?} is out of place");
            before = commit.at;
        }
        self.resolved = segment.to;
        self.segments.push(segment);
    }

    /// What holds at the end of every behaviour: the feed told every commit, once.
    pub fn finish(mut self) {
        let told: Vec<Timestamp> = self.told().iter().map(|commit| commit.at).collect();
        let resolved = self.resolved;
        let committed: Vec<Timestamp> = self.committed.keys().copied().filter(|at| *at <= resolved).collect();
        assert_eq!(told, committed, "{}: the feed and the replies differ", self.behaviour);
        let unresolved = self.committed.keys().next_back().filter(|at| **at > resolved);
        assert_eq!(unresolved, None, "{}: the feed does not reach the last commit", self.behaviour);
        assert!(self.replies.is_empty(), "{}: replies to nobody: {:?}", self.behaviour, self.replies);
    }
}

fn transaction(snapshot: Timestamp, decision: Decision) -> Transaction {
    let id = TransactionId { client: CLIENT, counter: Counter(1) };
    Transaction { id, attempt: Attempt(1), snapshot, reads: Vec::new(), decision, level: Level::Strict }
}

pub fn key(row: i64) -> RowKey {
    RowKey::new(&[Value::Int(row)]).expect("an int is a key")
}

pub fn cell(row: i64) -> Cell {
    Cell { table: TABLE, row: key(row), column: COLUMN }
}

pub fn typed(author: u64, number: u32, text: &str) -> Operation {
    let inserted = Insertion { first: Unit::new(Author(author), number), left: None, right: None, text: text.into() };
    Operation::Edit(Edit { inserted: Some(inserted), removed: Vec::new() }.into())
}

pub fn write(row: i64, operation: Operation) -> Write {
    Write { cell: cell(row), operation }
}

pub fn life(row: i64, operation: Operation) -> Write {
    Write { cell: Cell::row(TABLE, key(row)), operation }
}

pub fn read(row: i64) -> Read {
    Read::Cell { cell: cell(row), element: Element::Whole }
}

pub fn read_element(row: i64, element: Element) -> Read {
    Read::Cell { cell: cell(row), element }
}

/// Rows from `first` to before `end`.
pub fn range(first: i64, end: i64) -> KeyRange {
    let upper = KeyRange::one(&key(end)).lower;
    KeyRange { lower: KeyRange::one(&key(first)).lower, upper: Some(upper) }
}
