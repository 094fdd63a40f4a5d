//! A client: reads at what is resolved, decides, submits, runs again after a conflict, and acknowledges.

use std::collections::VecDeque;
use std::time::Duration;

use iolite_store::{CommitReply, ReadLimit, ReadReply, Refusal, Reply, Request, Validity};
use iolite_values::{
    Attempt, ClientId, Counter, Decision, Id, Level, Read, Timestamp, Transaction, TransactionId, Write,
};

use super::levels::Levels;
use super::random::Random;
use super::reader::{Reader, Validated};
use super::workload;

/// What a client did and was told, for the checker.
#[derive(Clone, Debug)]
pub struct Submission {
    pub transaction: Transaction,
    /// What it saw, read by read.
    pub seen: Vec<ReadReply>,
    pub submitted_at_step: u64,
}

pub struct Client {
    pub id: ClientId,
    /// Index of the coordinator that it talks to.
    pub coordinator: usize,
    levels: Levels,
    counter: Counter,
    attempt: Attempt,
    doing: Doing,
    /// The highest timestamp of its own commits.
    floor: Timestamp,
    pub submissions: Vec<Submission>,
    pub told: Vec<(TransactionId, CommitReply, u64)>,
    pub validated: Vec<Validated>,
    /// What no store that keeps what it told refuses.
    pub refused: Vec<Refusal>,
    acknowledge: VecDeque<Counter>,
    /// Whether what is under way is to write nothing.
    only_reads: bool,
    /// Of the read that is under way.
    limit: ReadLimit,
    /// How long it waits for the outcome that it asks for.
    patience: Option<Duration>,
    kind: Kind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Client,
    /// Does not try again what was not taken.
    Operator,
}

enum Doing {
    Nothing,
    /// The snapshot, what has been read, and what is still to be read.
    Reading {
        snapshot: Timestamp,
        reads: Vec<Read>,
        seen: Vec<ReadReply>,
        left: VecDeque<Read>,
    },
    /// A conflict: runs again when this is resolved.
    Waiting {
        at_least: Timestamp,
    },
    Validating(Reader),
    /// A read has changed: the earlier ones are validated once more when this is resolved.
    Moving {
        at_least: Timestamp,
        reader: Reader,
    },
    Committing(Transaction),
    /// It was told that the outcome is not known.
    InDoubt(Transaction),
}

impl Client {
    pub fn new(number: u64, coordinator: usize, levels: Levels) -> Client {
        Client {
            id: ClientId(Id::from_u128(u128::from(number) + 1)),
            coordinator,
            levels,
            counter: Counter(0),
            attempt: Attempt(1),
            doing: Doing::Nothing,
            floor: Timestamp::ZERO,
            submissions: Vec::new(),
            told: Vec::new(),
            validated: Vec::new(),
            refused: Vec::new(),
            acknowledge: VecDeque::new(),
            only_reads: false,
            limit: ReadLimit::NONE,
            patience: None,
            kind: Kind::Client,
        }
    }

    pub fn operator(number: u64, coordinator: usize, levels: Levels) -> Client {
        Client { kind: Kind::Operator, ..Client::new(number, coordinator, levels) }
    }

    /// An operator's only kind of transaction: one write, whatever was before.
    pub fn change(&mut self, step: u64, snapshot: Timestamp, write: Write) -> Request {
        self.counter = self.counter.next();
        let id = TransactionId { client: self.id, counter: self.counter };
        let decision = Decision::Commit([write].into());
        let transaction =
            Transaction { id, attempt: Attempt(1), snapshot, reads: Vec::new(), level: Level::Strict, decision };
        let submission = Submission { transaction: transaction.clone(), seen: Vec::new(), submitted_at_step: step };
        self.submissions.push(submission);
        self.doing = Doing::Committing(transaction);
        self.submission().expect("it is under way")
    }

    pub fn is_idle(&self) -> bool {
        matches!(self.doing, Doing::Nothing)
    }

    /// The last timestamp that it was told of as decided.
    pub fn last_told(&self) -> Option<Timestamp> {
        let completed = self.told.iter().filter_map(|(_, reply, _)| match reply {
            CommitReply::Completed(completion) => Some(completion.at),
            CommitReply::Conflict { .. } | CommitReply::Forgotten | CommitReply::InDoubt { .. } => None,
        });
        completed.max()
    }

    /// Begins something, if there is nothing under way. `resolved` is what its gateway has been told.
    pub fn begin(&mut self, random: &mut Random, step: u64, resolved: Timestamp) -> Option<Request> {
        match &self.doing {
            Doing::Nothing => {
                if let Some(through) = self.acknowledge.pop_front() {
                    return Some(Request::Acknowledge { client: self.id, through });
                }
                self.counter = self.counter.next();
                self.attempt = Attempt(1);
                self.start(random, step, resolved)
            }
            Doing::Waiting { at_least } if *at_least <= resolved => {
                self.attempt = self.attempt.next();
                self.start(random, step, resolved)
            }
            Doing::InDoubt(transaction) => {
                let transaction = transaction.clone();
                self.ask_again(random, step, transaction)
            }
            Doing::Moving { at_least, reader } if *at_least <= resolved => {
                let mut reader = reader.clone();
                reader.move_to(resolved, self.next_id());
                self.validate(step, reader)
            }
            Doing::Waiting { .. } | Doing::Moving { .. } => None,
            Doing::Reading { .. } | Doing::Validating(_) | Doing::Committing(_) => None,
        }
    }

    fn start(&mut self, random: &mut Random, step: u64, snapshot: Timestamp) -> Option<Request> {
        self.only_reads = random.percent(20);
        let left = match self.only_reads {
            true => workload::many_reads(random),
            false if random.percent(50) => VecDeque::new(),
            false => (0..random.below(3)).map(|_| workload::read(random)).collect(),
        };
        self.doing = Doing::Reading { snapshot, reads: Vec::new(), seen: Vec::new(), left };
        self.go_on(random, step)
    }

    /// The next read, or the submission.
    fn go_on(&mut self, random: &mut Random, step: u64) -> Option<Request> {
        let Doing::Reading { snapshot, reads, seen, left } = &mut self.doing else { return None };
        if let Some(read) = left.front() {
            self.limit = workload::limit(random, read);
            return Some(Request::ReadAt { interest: read.interest(), at: *snapshot, limit: self.limit });
        }
        let decision = match random.below(10) {
            _ if self.only_reads => Decision::Commit(Vec::new()),
            0 => Decision::Abort("so decided".into()),
            _ => Decision::Commit((0..1 + random.below(2)).map(|_| workload::write(random)).collect()),
        };
        let id = TransactionId { client: self.id, counter: self.counter };
        let writes: &[Write] = match &decision {
            Decision::Commit(writes) => writes,
            Decision::Abort(_) => &[],
        };
        let level = self.levels.draw(random, self.only_reads);
        let guarded = level.guarded(reads, writes);
        let kept = reads.iter().zip(seen.iter()).filter(|(read, _)| guarded.contains(read));
        let (reads, seen) = kept.map(|(read, seen)| (read.clone(), seen.clone())).unzip();
        let snapshot = *snapshot;
        let transaction = Transaction { id, attempt: self.attempt, snapshot, reads, decision, level };
        self.patience = random.percent(30).then(|| Duration::from_millis(random.below(100)));
        if self.only_reads {
            return self.validate(step, Reader::new(transaction, seen, step, random.percent(50)));
        }
        self.submissions.push(Submission { transaction: transaction.clone(), seen, submitted_at_step: step });
        self.doing = Doing::Committing(transaction);
        self.submission()
    }

    fn next_id(&mut self) -> TransactionId {
        self.counter = self.counter.next();
        self.attempt = Attempt(1);
        TransactionId { client: self.id, counter: self.counter }
    }

    fn validate(&mut self, step: u64, mut reader: Reader) -> Option<Request> {
        reader.transaction.attempt = self.attempt;
        self.submissions.push(reader.submission(step));
        self.doing = Doing::Validating(reader);
        self.submission()
    }

    /// The same attempt once more, or an abort in its place. Either is answered with the outcome of whichever took effect.
    fn ask_again(&mut self, random: &mut Random, step: u64, mut transaction: Transaction) -> Option<Request> {
        if random.percent(40) {
            self.attempt = self.attempt.next();
            let (reads, decision) = (Vec::new(), Decision::Abort("given up".into()));
            transaction = Transaction { attempt: self.attempt, reads, decision, ..transaction };
            let submission = Submission { transaction: transaction.clone(), seen: Vec::new(), submitted_at_step: step };
            self.submissions.push(submission);
        }
        self.doing = Doing::Committing(transaction);
        self.patience = random.percent(50).then(|| Duration::from_millis(random.below(300)));
        self.submission()
    }

    /// Its gateway is gone, with what was asked of it: what to ask of another one.
    pub fn lose_gateway(&mut self) -> Option<Request> {
        if let Doing::Reading { .. } = &self.doing {
            self.attempt = Attempt(self.attempt.0 - 1);
            self.doing = Doing::Waiting { at_least: Timestamp::ZERO };
        }
        self.submission()
    }

    /// The submission that is under way, to be sent or sent again.
    pub fn submission(&self) -> Option<Request> {
        match &self.doing {
            Doing::Committing(transaction) => {
                let floor = self.floor.max(transaction.snapshot);
                Some(Request::Commit { transaction: transaction.clone(), floor, within: self.patience })
            }
            Doing::Validating(reader) => {
                let Transaction { id, attempt, snapshot, reads, .. } = reader.transaction.clone();
                let floor = self.floor.max(snapshot);
                Some(Request::Validate { transaction: id, attempt, snapshot, reads: reads.into(), floor })
            }
            Doing::Nothing
            | Doing::Reading { .. }
            | Doing::Waiting { .. }
            | Doing::Moving { .. }
            | Doing::InDoubt(_) => None,
        }
    }

    /// Takes a reply; `transaction` is what was submitted, if anything was.
    pub fn on_reply(
        &mut self,
        random: &mut Random,
        step: u64,
        transaction: Option<(TransactionId, Attempt)>,
        reply: Reply,
    ) -> Option<Request> {
        match (reply, transaction) {
            (Reply::ReadAt(Ok(reply)), _) => {
                // A gateway that was lost may have been asked before.
                let Doing::Reading { reads, seen, left, .. } = &mut self.doing else { return None };
                let read = left.pop_front().expect("one read at a time");
                let (read, rows) = workload::read_with(read, self.limit, &reply);
                rows.into_iter().for_each(|row| left.push_front(row));
                reads.push(read);
                seen.push(reply);
                self.go_on(random, step)
            }
            // The snapshot has become too old: run on a newer one. It counts as the same attempt, which was not submitted.
            (Reply::ReadAt(Err(_)), _) => {
                self.attempt = Attempt(self.attempt.0 - 1);
                self.doing = Doing::Waiting { at_least: Timestamp::ZERO };
                None
            }
            (Reply::Commit(reply), Some((id, attempt))) => {
                self.on_outcome(random, step, id, attempt, reply);
                None
            }
            (Reply::Validated(validity), Some((id, attempt))) => self.on_validity(step, id, attempt, validity),
            // Its new gateway has not come as far as the one before: read again there.
            (Reply::Refused(Refusal::NotResolved { .. }), Some(_)) => {
                if let Doing::Validating(_) = self.doing {
                    self.doing = Doing::Waiting { at_least: Timestamp::ZERO };
                }
                None
            }
            (Reply::Refused(refusal), _) => {
                self.refused.push(refusal);
                self.doing = Doing::Nothing;
                None
            }
            (
                Reply::Acknowledged
                | Reply::Changes(_)
                | Reply::Completions(_)
                | Reply::LastOutcome(_)
                | Reply::Commit(_)
                | Reply::Validated(_),
                _,
            ) => None,
        }
    }

    fn on_validity(&mut self, step: u64, id: TransactionId, attempt: Attempt, validity: Validity) -> Option<Request> {
        let Doing::Validating(reader) = &mut self.doing else { return None };
        if (reader.transaction.id, reader.transaction.attempt) != (id, attempt) {
            return None;
        }
        let mut reader = reader.clone();
        match validity {
            Validity::Changed { at_least } if reader.can_move() => self.doing = Doing::Moving { at_least, reader },
            Validity::Changed { at_least } => self.doing = Doing::Waiting { at_least },
            Validity::Valid => match reader.on_valid(step) {
                None => {
                    reader.go_on(self.next_id());
                    return self.validate(step, reader);
                }
                Some(validated) => {
                    self.validated.push(validated);
                    self.doing = Doing::Nothing;
                }
            },
        }
        None
    }

    fn on_outcome(&mut self, random: &mut Random, step: u64, id: TransactionId, attempt: Attempt, reply: CommitReply) {
        let current = match &self.doing {
            Doing::Committing(own) | Doing::Validating(Reader { transaction: own, .. }) => {
                (own.id, own.attempt) == (id, attempt)
            }
            // The one that asked may have been answered by an earlier request of its own.
            Doing::InDoubt(own) => (own.id, own.attempt) == (id, attempt),
            Doing::Nothing | Doing::Reading { .. } | Doing::Waiting { .. } | Doing::Moving { .. } => false,
        };
        self.told.push((id, reply.clone(), step));
        if !current {
            return;
        }
        match reply {
            CommitReply::Completed(completion) => {
                self.floor = self.floor.max(completion.at);
                self.doing = Doing::Nothing;
                if random.percent(50) {
                    self.acknowledge.push_back(id.counter);
                }
            }
            CommitReply::Conflict { .. } if self.kind == Kind::Operator => self.doing = Doing::Nothing,
            CommitReply::Conflict { at_least } => self.doing = Doing::Waiting { at_least },
            CommitReply::InDoubt { transaction, attempt: asked } => {
                assert_eq!((transaction, asked), (id, attempt), "it is told what to ask for");
                if let Doing::Committing(transaction) = std::mem::replace(&mut self.doing, Doing::Nothing) {
                    self.doing = Doing::InDoubt(transaction);
                }
            }
            CommitReply::Forgotten => panic!("{id:?} was forgotten before its client knew the outcome"),
        }
    }
}
