//! A replica on a bench: questions in, outputs out, records kept.

use std::sync::Arc;
use std::time::Duration;

use iolite_machine::{Instant, Machine, Now, PersistId, WallTime};
use iolite_store::{Completion, CompletionDecision};
use iolite_values::{
    Attempt, Cell, ClientId, ColumnId, CoordinatorId, Counter, Decision, Element, Id, Operation, Read, RowKey,
    StoreIncarnation, TableId, Timestamp, Transaction, TransactionId, Value, Write,
};

use crate::journal::JournalRecord;
use crate::messages::{Answer, Ask, Boot, Life, MessageId, Prepared, ToReplica};
use crate::replica::{Replica, ReplicaOutput, ReplicaSettings};
use crate::{Broken, Retention};

pub const STORE: StoreIncarnation = StoreIncarnation(Id::from_u128(5));
pub const START_MICROS: u64 = 1_000_000_000;

/// What a replica said, without what every answer carries.
#[derive(Debug, PartialEq)]
pub enum Said {
    Record(PersistId, JournalRecord),
    Answer(PersistId, Answer),
}

pub struct Bench {
    pub replica: Replica,
    pub now: Now,
    pub records: Vec<Vec<u8>>,
    asked: u64,
    boot: u64,
}

pub fn settings(boot: u64) -> ReplicaSettings {
    let retention = Retention { age: Duration::from_secs(1), operations_max: 100_000 };
    ReplicaSettings { store: STORE, boot: Boot(boot), retention, broken: Broken::Nothing }
}

impl Bench {
    pub fn new() -> Bench {
        let now = Now { instant: Instant::from_nanos(0), wall: WallTime::from_micros(START_MICROS) };
        Bench { replica: Replica::new(settings(1)), now, records: Vec::new(), asked: 0, boot: 1 }
    }

    pub fn keeping(operations_max: usize) -> Bench {
        let mut bench = Bench::new();
        bench.replica.settings.retention.operations_max = operations_max;
        bench
    }

    pub fn ask(&mut self, ask: Ask) -> Vec<Said> {
        self.ask_of(Some(STORE), ask)
    }

    pub fn ask_of(&mut self, store: Option<StoreIncarnation>, ask: Ask) -> Vec<Said> {
        self.asked += 1;
        let id = MessageId { life: Life(1), number: self.asked };
        self.replica.handle(self.now, ToReplica { from: CoordinatorId::default(), id, store, ask });
        self.replica.validate();
        std::iter::from_fn(|| self.replica.poll())
            .map(|output| match output {
                ReplicaOutput::Persist { id, record } => {
                    let decoded = JournalRecord::decode(&record).unwrap();
                    self.records.push(record);
                    Said::Record(id, decoded)
                }
                ReplicaOutput::Reply { after, message } => {
                    assert_eq!((message.id.number, message.boot, message.store), (self.asked, Boot(self.boot), STORE));
                    Said::Answer(after, message.answer)
                }
            })
            .collect()
    }

    /// Only the answer.
    pub fn answer(&mut self, ask: Ask) -> Answer {
        match self.ask(ask).pop() {
            Some(Said::Answer(_, answer)) => answer,
            other => panic!("no answer: {other:?}"),
        }
    }

    pub fn prepare(&mut self, transaction: &Transaction, at: Timestamp) -> Prepared {
        match self.answer(Ask::Prepare { transaction: Arc::new(transaction.clone()), at }) {
            Answer::Prepared(prepared) => prepared,
            other => panic!("not prepared: {other:?}"),
        }
    }

    pub fn commit(&mut self, transaction: &Transaction, at: Timestamp) {
        assert_eq!(self.prepare(transaction, at), committed(transaction.attempt.0, at));
    }

    pub fn close(&mut self, through: Timestamp) {
        self.answer(Ask::Close { through, cursor: through });
    }

    pub fn restart(&mut self, chunks: &[Vec<u8>], records: &[Vec<u8>]) {
        self.boot += 1;
        self.replica = Replica::recover(settings(self.boot), chunks, records).unwrap();
        self.replica.validate();
    }
}

/// The timestamp that many milliseconds after the start.
pub fn at(millis: u64) -> Timestamp {
    Timestamp::new(START_MICROS + millis * 1_000, CoordinatorId::default())
}

pub fn id(counter: u64) -> TransactionId {
    TransactionId { client: ClientId(Id::from_u128(1)), counter: Counter(counter) }
}

pub fn cell(row: i64) -> Cell {
    Cell { table: TableId(1), row: RowKey::new(&[Value::Int(row)]).unwrap(), column: ColumnId(1) }
}

pub fn read(row: i64) -> Read {
    Read::Cell { cell: cell(row), element: Element::Whole }
}

pub fn write(row: i64, operation: Operation) -> Write {
    Write { cell: cell(row), operation }
}

/// A transaction without reads.
pub fn blind(counter: u64, writes: Vec<Write>) -> Transaction {
    reading(counter, Timestamp::ZERO, Vec::new(), writes)
}

pub fn reading(counter: u64, snapshot: Timestamp, reads: Vec<Read>, writes: Vec<Write>) -> Transaction {
    Transaction { id: id(counter), attempt: Attempt(1), snapshot, reads, decision: Decision::Commit(writes) }
}

pub fn put(counter: u64, row: i64) -> Transaction {
    blind(counter, vec![write(row, Operation::Put(Value::Int(counter as i64)))])
}

pub fn add(counter: u64, row: i64) -> Transaction {
    blind(counter, vec![write(row, Operation::Add(1))])
}

pub fn committed(attempt: u32, at: Timestamp) -> Prepared {
    Prepared::Completed(completion(attempt, at, CompletionDecision::Committed))
}

pub fn completion(attempt: u32, at: Timestamp, decision: CompletionDecision) -> Completion {
    Completion { attempt: Attempt(attempt), at, decision }
}
