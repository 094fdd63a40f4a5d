//! A replica on a bench: questions in, outputs out, records kept.

use std::time::Duration;

use iolite_machine::{Instant, Machine, Now, PersistId, WallTime};
use iolite_store::{Completion, CompletionDecision, Refusal};
use iolite_values::{
    Attempt, Cell, ClientId, ColumnId, CoordinatorId, Counter, Decision, Element, Id, Level, Operation, Read, RowKey,
    StoreIncarnation, TableId, Timestamp, Transaction, TransactionId, Value, Write,
};

use crate::journal::JournalRecord;
use crate::node::{
    Answer, Ask, Ballot, Boot, Detail, Life, MessageId, Objection, Outcome, ShardId, Term, ToReplica, View, Vote, Voted,
};
use crate::replica::{Replica, ReplicaInput, ReplicaOutput, ReplicaSettings};
use crate::tapir::split;
use crate::{Retention, ShardMap};

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
    /// The records of the first group, and by which the coordinator registered, are not counted.
    begun: u64,
}

/// What an answer to Prepare means to a coordinator, if this is the whole group.
#[derive(Debug, PartialEq)]
pub enum Prepared {
    Completed(Completion),
    Retry { above: Timestamp },
    Conflict { at_least: Timestamp },
    Forgotten,
    Refused(Refusal),
}

pub fn settings(boot: u64) -> ReplicaSettings {
    let retention = Retention { age: Duration::from_secs(1), operations_max: 100_000 };
    ReplicaSettings::alone(STORE, Boot(boot), retention)
}

impl Bench {
    pub fn new() -> Bench {
        let now = Now { instant: Instant::from_nanos(0), wall: WallTime::from_micros(START_MICROS) };
        let mut bench =
            Bench { replica: Replica::new(settings(1)), now, records: Vec::new(), asked: 0, boot: 1, begun: 0 };
        bench.ask(Ask::Begin);
        bench.begun = 2;
        bench
    }

    /// No more than so many, however young they are.
    pub fn keeping(operations_max: usize) -> Bench {
        let mut bench = Bench::new();
        bench.replica.settings.retention.operations_max = operations_max;
        bench
    }

    pub fn ask(&mut self, ask: Ask) -> Vec<Said> {
        self.ask_of(Some(STORE), ask)
    }

    pub fn ask_of(&mut self, store: Option<StoreIncarnation>, ask: Ask) -> Vec<Said> {
        self.ask_in(store, Term(1), Life(1), ask)
    }

    /// As that life of the coordinator.
    pub fn ask_in(&mut self, store: Option<StoreIncarnation>, term: Term, life: Life, ask: Ask) -> Vec<Said> {
        self.asked += 1;
        let id = MessageId { life, number: self.asked };
        let (from, shard, view) = (CoordinatorId::default(), ShardId::default(), View::default());
        let message = ToReplica { from, term, id, store, shard, view, ask };
        self.replica.handle(self.now, ReplicaInput::FromCoordinator(message));
        if self.replica.deadline().is_some_and(|at| at <= self.now.instant) {
            self.replica.on_deadline(self.now);
        }
        self.replica.validate();
        std::iter::from_fn(|| self.replica.poll())
            .map(|output| match output {
                ReplicaOutput::Persist { id, record } => {
                    let decoded = JournalRecord::decode(&record).unwrap();
                    self.records.push(record);
                    Said::Record(PersistId(id.0 - self.begun), decoded)
                }
                ReplicaOutput::Reply { after, message } => {
                    assert_eq!((message.boot, message.store), (Boot(self.boot), STORE));
                    let is_news = matches!(message.answer, Answer::Stirred { .. });
                    assert!(message.id.number == self.asked || is_news && message.id.number < self.asked);
                    Said::Answer(PersistId(after.0.saturating_sub(self.begun)), message.answer)
                }
                ReplicaOutput::ToPeer { message, .. } => panic!("it is alone: {message:?}"),
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
        let Answer::Voted(voted) = self.answer(prepare(transaction, at)) else { panic!("it is a vote") };
        let decision = match transaction.decision {
            Decision::Commit(_) => CompletionDecision::Committed,
            Decision::Abort(_) => CompletionDecision::Aborted,
        };
        match (voted.vote, voted.outcome, voted.objection) {
            (Vote::Ok, Some(Outcome::Committed), None) => {
                Prepared::Completed(Completion { attempt: transaction.attempt, at, decision })
            }
            (Vote::No, None, Some(Objection::Completed(completion))) => Prepared::Completed(completion),
            (Vote::No, None, Some(Objection::Retry { above })) => Prepared::Retry { above },
            (Vote::No, None, Some(Objection::Conflict { at_least })) => Prepared::Conflict { at_least },
            (Vote::No, None, Some(Objection::Forgotten)) => Prepared::Forgotten,
            (Vote::No, None, Some(Objection::Refused(refusal))) => Prepared::Refused(refusal),
            other => panic!("{other:?}"),
        }
    }

    pub fn commit(&mut self, transaction: &Transaction, at: Timestamp) {
        assert_eq!(self.prepare(transaction, at), committed(transaction.attempt.0, at));
    }

    pub fn close(&mut self, through: Timestamp) {
        self.answer(close(through, through));
        // The next one tells that this much is settled everywhere, so that it may be forgotten.
        self.answer(close(through, through));
    }

    pub fn restart(&mut self, chunks: &[Vec<u8>], records: &[Vec<u8>]) {
        self.boot += 1;
        self.begun = 0;
        self.replica = Replica::recover(settings(self.boot), chunks, records).unwrap();
        self.replica.validate();
    }
}

pub fn prepare(transaction: &Transaction, at: Timestamp) -> Ask {
    let (_, proposal) = split(&ShardMap::alone(), transaction, at).pop_first().unwrap();
    Ask::Prepare { proposal, after: None }
}

pub fn close(through: Timestamp, cursor: Timestamp) -> Ask {
    Ask::Close { through, cursor, settled: cursor, detail: Detail::Whole }
}

/// The answer to a proposal that was decided just now.
pub fn accepted() -> Answer {
    voted(Vote::Ok, Some(Outcome::Committed), None)
}

pub fn objected(objection: Objection) -> Answer {
    voted(Vote::No, None, Some(objection))
}

fn voted(vote: Vote, outcome: Option<Outcome>, objection: Option<Objection>) -> Answer {
    let (view, promised) = (View::default(), Ballot::FIRST);
    Answer::Voted(Voted { view, vote, finalised: None, promised, outcome, objection, proposal: None })
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
    Transaction {
        id: id(counter),
        attempt: Attempt(1),
        snapshot,
        reads,
        decision: Decision::Commit(writes),
        level: Level::Strict,
    }
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
