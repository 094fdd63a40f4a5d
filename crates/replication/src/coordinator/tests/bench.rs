//! A coordinator on a bench: requests and answers in, outputs out.

use iolite_machine::{Instant, Machine, Now, WallTime};
use iolite_store::{Commit, Completion, CompletionDecision, Event, Refusal, Request, RequestId};
use iolite_values::{
    Attempt, ClientId, CoordinatorId, Counter, Decision, Id, Level, StoreIncarnation, Timestamp, Transaction,
    TransactionId,
};

use crate::ShardMap;
use crate::coordinator::{Coordinator, CoordinatorInput, CoordinatorOutput, CoordinatorSettings};
use crate::node::{
    Answer, Ask, Ballot, Boot, Closed, Detail, FromReplica, Life, MessageId, Objection, Opened, Outcome, ProposalId,
    ReplicaId, ShardId, Term, View, Vote, Voted,
};
use crate::tapir::split;

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
    /// The real numbers of the questions that tests see, from 1. Registering the coordinator's life is done here, unseen.
    numbers: Vec<u64>,
}

/// What an answer to Prepare says.
pub enum Prepared {
    Accepted,
    Completed(Completion),
    Retry { above: Timestamp },
    Conflict { at_least: Timestamp },
    Forgotten,
    Refused(Refusal),
}

pub fn prepared(prepared: Prepared) -> Answer {
    let (vote, outcome, objection) = match prepared {
        Prepared::Accepted => (Vote::Ok, Some(Outcome::Committed), None),
        Prepared::Completed(completion) => (Vote::No, None, Some(Objection::Completed(completion))),
        Prepared::Retry { above } => (Vote::No, None, Some(Objection::Retry { above })),
        Prepared::Conflict { at_least } => (Vote::No, None, Some(Objection::Conflict { at_least })),
        Prepared::Forgotten => (Vote::No, None, Some(Objection::Forgotten)),
        Prepared::Refused(refusal) => (Vote::No, None, Some(Objection::Refused(refusal))),
    };
    voted(vote, outcome, objection)
}

pub fn objected(objection: Objection) -> Answer {
    voted(Vote::No, None, Some(objection))
}

fn voted(vote: Vote, outcome: Option<Outcome>, objection: Option<Objection>) -> Answer {
    let (view, promised) = (View::default(), Ballot::FIRST);
    Answer::Voted(Voted { view, vote, finalised: None, promised, outcome, objection, proposal: None })
}

pub fn opened(complete: Timestamp) -> Answer {
    Answer::Opened(Opened { term: Term(0), complete, latest: complete })
}

pub fn close(through: Timestamp, cursor: Timestamp) -> Ask {
    Ask::Close { through, cursor, settled: cursor, detail: Detail::Followed }
}

pub fn own_id() -> CoordinatorId {
    CoordinatorId::new(9).unwrap()
}

impl Bench {
    pub fn new() -> Bench {
        let now = Now { instant: Instant::from_nanos(0), wall: WallTime::from_micros(START_MICROS) };
        Bench {
            coordinator: Coordinator::new(now, CoordinatorSettings::new(own_id(), LIFE, ShardMap::alone())),
            now,
            boot: Boot(1),
            store: STORE,
            highest: Timestamp::ZERO,
            limit: at(60_000),
            numbers: Vec::new(),
        }
    }

    /// With the store open, empty and resolved at zero.
    pub fn open() -> Bench {
        let mut bench = Bench::new();
        bench.said();
        bench.answer(1, opened(Timestamp::ZERO));
        bench
    }

    pub fn said(&mut self) -> Vec<Said> {
        let mut said = Vec::new();
        self.coordinator.validate();
        while let Some(output) = self.coordinator.poll() {
            match output {
                CoordinatorOutput::Event(event) => said.push(Said::Event(event)),
                CoordinatorOutput::ToReplica { to, message } => {
                    assert_eq!((to, message.from, message.id.life), (ReplicaId::default(), own_id(), LIFE));
                    let number = message.id.number;
                    if message.ask == Ask::Begin {
                        self.hear(own_id(), message.id, Answer::Begun);
                        continue;
                    }
                    let known = self.numbers.iter().position(|known| *known == number);
                    let place = known.unwrap_or_else(|| {
                        self.numbers.push(number);
                        self.numbers.len() - 1
                    });
                    said.push(Said::Asks(place as u64 + 1, message.ask));
                }
                CoordinatorOutput::Superseded { term } => panic!("{term:?}"),
            }
        }
        said
    }

    pub fn request(&mut self, id: u64, request: Request) -> Vec<Said> {
        self.coordinator.handle(self.now, CoordinatorInput::Request(RequestId(id), request));
        self.said()
    }

    /// The number of the last question that tests have seen.
    pub fn asked(&self) -> u64 {
        self.numbers.len() as u64
    }

    pub fn answer(&mut self, number: u64, answer: Answer) -> Vec<Said> {
        let number = self.numbers.get(number as usize - 1).copied().unwrap_or(number + 1_000);
        self.message(own_id(), MessageId { life: LIFE, number }, answer)
    }

    pub fn message(&mut self, to: CoordinatorId, id: MessageId, answer: Answer) -> Vec<Said> {
        self.hear(to, id, answer);
        self.said()
    }

    fn hear(&mut self, to: CoordinatorId, id: MessageId, answer: Answer) {
        let (boot, store, highest, limit) = (self.boot, self.store, self.highest, self.limit);
        let (from, shard, view) = (ReplicaId::default(), ShardId::default(), View::default());
        let message = FromReplica { to, from, shard, id, boot, store, view, highest, limit, answer };
        self.coordinator.handle(self.now, CoordinatorInput::FromReplica(message));
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
        level: Level::Strict,
    }
}

pub fn commit(counter: u64) -> Request {
    Request::Commit { transaction: transaction(counter), floor: Timestamp::ZERO, within: None }
}

pub fn prepare(counter: u64, at: Timestamp) -> Ask {
    let (_, proposal) = split(&ShardMap::alone(), &transaction(counter), at).pop_first().unwrap();
    Ask::Prepare { proposal, after: None }
}

/// After a proposal at `before`, which is dead.
pub fn prepare_again(counter: u64, before: Timestamp, at: Timestamp) -> Ask {
    let Ask::Prepare { proposal, after: None } = prepare(counter, at) else { panic!("it is one") };
    Ask::Prepare { after: Some(ProposalId { at: before, ..proposal.id }), proposal }
}

pub fn completion(at: Timestamp) -> Completion {
    Completion { attempt: Attempt(1), at, decision: CompletionDecision::Committed }
}

pub fn completed(at: Timestamp) -> Answer {
    prepared(Prepared::Completed(completion(at)))
}

pub fn closed(through: Timestamp) -> Answer {
    Answer::Closed(Ok(stretch(through, Vec::new())))
}

pub fn stretch(through: Timestamp, commits: Vec<Commit>) -> Closed {
    let id = |commit: &Commit| ProposalId { at: commit.at, transaction: commit.transaction, attempt: Attempt(1) };
    Closed {
        through,
        barrier: through,
        latest: Timestamp::ZERO,
        complete: through,
        undecided: Vec::new(),
        aborted: Vec::new(),
        committed: commits.iter().map(id).collect(),
        given_up: Vec::new(),
        commits,
    }
}
