//! A coordinator on a bench: requests and answers in, outputs out.

use std::sync::Arc;

use iolite_machine::{Instant, Machine, Now, WallTime};
use iolite_store::{Completion, CompletionDecision, Event, Request, RequestId};
use iolite_values::{
    Attempt, ClientId, CoordinatorId, Counter, Decision, Id, StoreIncarnation, Timestamp, Transaction, TransactionId,
};

use crate::coordinator::{Coordinator, CoordinatorInput, CoordinatorOutput, CoordinatorSettings};
use crate::messages::{Answer, Ask, Boot, Closed, FromReplica, Life, MessageId, Prepared};

pub const STORE: StoreIncarnation = StoreIncarnation(Id::from_u128(5));
pub const START_MICROS: u64 = 1_000_000_000;
const LIFE: Life = Life(3);

/// What a coordinator said, without what every message carries.
#[derive(Debug, PartialEq)]
pub enum Said {
    Event(Event),
    Asks(u64, Ask),
}

pub struct Bench {
    pub coordinator: Coordinator,
    pub now: Now,
    pub boot: Boot,
    pub store: StoreIncarnation,
    pub highest: Timestamp,
    pub limit: Timestamp,
}

pub fn own_id() -> CoordinatorId {
    CoordinatorId::new(9).unwrap()
}

impl Bench {
    pub fn new() -> Bench {
        let now = Now { instant: Instant::from_nanos(0), wall: WallTime::from_micros(START_MICROS) };
        Bench {
            coordinator: Coordinator::new(now, CoordinatorSettings::new(own_id(), LIFE)),
            now,
            boot: Boot(1),
            store: STORE,
            highest: Timestamp::ZERO,
            limit: at(60_000),
        }
    }

    /// With the store open, empty and resolved at zero.
    pub fn open() -> Bench {
        let mut bench = Bench::new();
        bench.said();
        bench.answer(1, Answer::Opened { resolved: Timestamp::ZERO });
        bench
    }

    pub fn said(&mut self) -> Vec<Said> {
        self.coordinator.validate();
        std::iter::from_fn(|| self.coordinator.poll())
            .map(|output| match output {
                CoordinatorOutput::Event(event) => Said::Event(event),
                CoordinatorOutput::ToReplica(message) => {
                    assert_eq!((message.from, message.id.life), (own_id(), LIFE));
                    Said::Asks(message.id.number, message.ask)
                }
            })
            .collect()
    }

    pub fn request(&mut self, id: u64, request: Request) -> Vec<Said> {
        self.coordinator.handle(self.now, CoordinatorInput::Request(RequestId(id), request));
        self.said()
    }

    pub fn answer(&mut self, number: u64, answer: Answer) -> Vec<Said> {
        let id = MessageId { life: LIFE, number };
        self.message(own_id(), id, answer)
    }

    pub fn message(&mut self, to: CoordinatorId, id: MessageId, answer: Answer) -> Vec<Said> {
        let (boot, store, highest, limit) = (self.boot, self.store, self.highest, self.limit);
        let message = FromReplica { to, id, boot, store, highest, limit, answer };
        self.coordinator.handle(self.now, CoordinatorInput::FromReplica(message));
        self.said()
    }

    /// Lets time go by up to the deadline. Says how much that was, in milliseconds.
    pub fn wait(&mut self) -> (u64, Vec<Said>) {
        let deadline = self.coordinator.deadline().expect("it waits for something");
        let time = deadline.since(self.now.instant);
        self.now.instant = deadline;
        self.now.wall = WallTime::from_micros(self.now.wall.as_micros() + time.as_micros() as u64);
        self.coordinator.on_deadline(self.now);
        (time.as_millis() as u64, self.said())
    }
}

/// The coordinator's own timestamp that many milliseconds after the start.
pub fn at(millis: u64) -> Timestamp {
    Timestamp::new(START_MICROS + millis * 1_000, own_id())
}

pub fn transaction(counter: u64) -> Transaction {
    Transaction {
        id: TransactionId { client: ClientId(Id::from_u128(1)), counter: Counter(counter) },
        attempt: Attempt(1),
        snapshot: Timestamp::ZERO,
        reads: Vec::new(),
        decision: Decision::Commit(Vec::new()),
    }
}

pub fn commit(counter: u64) -> Request {
    Request::Commit { transaction: transaction(counter), floor: Timestamp::ZERO }
}

pub fn prepare(counter: u64, at: Timestamp) -> Ask {
    Ask::Prepare { transaction: Arc::new(transaction(counter)), at }
}

pub fn completion(at: Timestamp) -> Completion {
    Completion { attempt: Attempt(1), at, decision: CompletionDecision::Committed }
}

pub fn completed(at: Timestamp) -> Answer {
    Answer::Prepared(Prepared::Completed(completion(at)))
}

pub fn closed(through: Timestamp) -> Answer {
    Answer::Closed(Ok(Closed { through, resolved: through, commits: Vec::new() }))
}
