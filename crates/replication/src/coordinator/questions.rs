//! Questions that wait for an answer, and when to ask them again.
//!
//! Invariant: a question is answered at most once: its number leaves with the answer, and is not used again.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use iolite_machine::Instant;
use iolite_store::RequestId;
use iolite_values::Timestamp;

use super::CoordinatorSettings;
use super::members::Work;
use super::reading::PartId;
use crate::node::{Answer, Ask, Life, MessageId, ProposalId, ReplicaId, ShardId};

/// Who is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Target {
    pub shard: ShardId,
    pub replica: ReplicaId,
}

/// Who wants the answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    Open,
    Begin,
    Close,
    /// The vote on a transaction's proposal at this timestamp.
    Vote {
        transaction: u64,
        at: Timestamp,
    },
    Backup(ProposalId),
    /// A part of a request.
    Reading {
        request: RequestId,
        part: PartId,
    },
    /// Whether what a request read is true still.
    Validation(RequestId),
    Acknowledge(RequestId),
}

impl Purpose {
    /// Whether an answer is one to such a question. No replica of ours sends another kind; the question then stays open.
    pub fn accepts(&self, answer: &Answer) -> bool {
        match self {
            Purpose::Open => matches!(answer, Answer::Opened(_)),
            Purpose::Begin => matches!(answer, Answer::Begun),
            Purpose::Close => matches!(answer, Answer::Closed(_)),
            Purpose::Vote { .. } | Purpose::Backup(_) => {
                matches!(answer, Answer::Voted(_) | Answer::Unknown | Answer::TooOld { .. })
            }
            Purpose::Reading { .. } => {
                matches!(answer, Answer::Read(_) | Answer::Changes(_) | Answer::Behind { .. } | Answer::Refused(_))
            }
            Purpose::Validation(_) => matches!(answer, Answer::Valid(_) | Answer::Refused(_)),
            Purpose::Acknowledge(_) => matches!(answer, Answer::Acknowledged),
        }
    }
}

#[derive(Clone, Debug)]
pub(super) struct Questions {
    life: Life,
    resend_after: Duration,
    resend_after_max: Duration,
    last_number: u64,
    open: BTreeMap<u64, Question>,
    timers: BTreeSet<(Instant, u64)>,
}

#[derive(Clone, Debug)]
pub(super) struct Question {
    pub to: Target,
    pub purpose: Purpose,
    /// Whom it was put to so far, and when first.
    asked: Vec<(Target, Instant)>,
    ask: Ask,
    again_at: Instant,
    first_wait: Duration,
    wait: Duration,
}

impl Question {
    pub fn work(&self) -> Work {
        Work::of(&self.ask)
    }

    /// When it was first put to this one.
    pub fn asked_at(&self, of: Target) -> Option<Instant> {
        self.asked.iter().find(|(target, _)| *target == of).map(|(_, at)| *at)
    }

    /// Where it may wait, but for the one that has answered.
    pub fn others(&self, answered: Option<Target>) -> Vec<Target> {
        let waits = self.work() == Work::Reading;
        let asked = self.asked.iter().map(|(target, _)| *target);
        asked.filter(|target| waits && Some(*target) != answered).collect()
    }

    /// What was read at a timestamp is the same wherever it was read: whom it was put to before may have taken long. And while those may have it, that
    /// another one is behind is no answer.
    pub fn is_answered_by(&self, from: Target, answer: &Answer) -> bool {
        let is_its_turn = match answer {
            Answer::Read(Ok(_)) | Answer::Changes(Ok(_)) => self.asked_at(from).is_some(),
            Answer::Behind { .. } => from == self.to && self.asked.len() == 1,
            _ => from == self.to,
        };
        is_its_turn && self.purpose.accepts(answer)
    }
}

impl Questions {
    pub fn new(settings: &CoordinatorSettings) -> Questions {
        Questions {
            life: settings.life,
            resend_after: settings.resend_after,
            resend_after_max: settings.resend_after_max,
            last_number: 0,
            open: BTreeMap::new(),
            timers: BTreeSet::new(),
        }
    }

    /// Who is asked takes about `round_trip` to answer, and is given twice as long.
    pub fn add(&mut self, now: Instant, to: Target, round_trip: Duration, purpose: Purpose, ask: Ask) -> u64 {
        self.last_number += 1;
        let first_wait = (round_trip * 2).max(self.resend_after).min(self.resend_after_max);
        let again_at = now + first_wait;
        let question = Question { to, purpose, ask, asked: vec![(to, now)], again_at, first_wait, wait: first_wait };
        self.open.insert(self.last_number, question);
        self.timers.insert((again_at, self.last_number));
        self.last_number
    }

    pub fn get(&self, number: u64) -> Option<&Question> {
        self.open.get(&number)
    }

    /// Puts a question to another replica, which can answer it as well. It keeps its number and how long it waits.
    pub fn redirect(&mut self, now: Instant, number: u64, to: Target) {
        if let Some(question) = self.open.get_mut(&number) {
            question.to = to;
            if question.asked_at(to).is_none() {
                question.asked.push((to, now));
            }
        }
    }

    /// The open question that an answer of this life belongs to.
    pub fn find(&self, id: MessageId) -> Option<&Question> {
        self.open.get(&id.number).filter(|_| id.life == self.life)
    }

    pub fn is_own(&self, id: MessageId) -> bool {
        id.life == self.life && id.number <= self.last_number
    }

    /// Ends a question.
    pub fn take(&mut self, number: u64) -> Option<Question> {
        let question = self.open.remove(&number)?;
        self.timers.remove(&(question.again_at, number));
        Some(question)
    }

    pub fn drop_all(&mut self, numbers: impl IntoIterator<Item = u64>) {
        for number in numbers {
            self.take(number);
        }
    }

    /// The open questions about a shard.
    pub fn of_shard(&self, shard: ShardId) -> impl Iterator<Item = (&Purpose, &Ask)> {
        let own = self.open.values().filter(move |question| question.to.shard == shard);
        own.map(|question| (&question.purpose, &question.ask))
    }

    /// The number of the last question.
    pub fn last_number(&self) -> u64 {
        self.last_number
    }

    /// Ends all questions for which this holds.
    pub fn drop_each(&mut self, which: impl Fn(&Question) -> bool) {
        let those = self.open.iter().filter(|(_, question)| which(question)).map(|(number, _)| *number);
        self.drop_all(those.collect::<Vec<_>>());
    }

    /// Whether this holds for a question that is open.
    pub fn is_any(&self, which: impl Fn(&Question) -> bool) -> bool {
        self.open.values().any(which)
    }

    pub fn message(&self, number: u64) -> Option<(Target, MessageId, Ask)> {
        let question = self.open.get(&number)?;
        Some((question.to, MessageId { life: self.life, number }, question.ask.clone()))
    }

    pub fn deadline(&self) -> Option<Instant> {
        self.timers.first().map(|(at, _)| *at)
    }

    /// The questions to be asked again now.
    pub fn due(&mut self, now: Instant) -> Vec<u64> {
        let mut due = Vec::new();
        while let Some((at, number)) = self.timers.first().copied().filter(|(at, _)| *at <= now) {
            self.timers.remove(&(at, number));
            let question = self.open.get_mut(&number).expect("a timer belongs to an open question");
            question.wait = (question.wait * 2).min(self.resend_after_max);
            question.again_at = now + question.wait;
            self.timers.insert((question.again_at, number));
            due.push(number);
        }
        due
    }

    /// Whom a question is put to that has been asked so often that it is asked seldom by now.
    pub fn asked_seldom(&self, number: u64) -> Option<Target> {
        let question = self.open.get(&number).filter(|question| question.wait == self.resend_after_max);
        question.map(|question| question.to)
    }

    /// All questions, to be asked anew, as if for the first time.
    pub fn restart(&mut self, now: Instant) -> Vec<u64> {
        let all: Vec<u64> = self.open.keys().copied().collect();
        self.restart_these(now, &all);
        all
    }

    /// The questions to one replica, likewise.
    pub fn restart_for(&mut self, now: Instant, replica: ReplicaId) -> Vec<u64> {
        let own = self.open.iter().filter(|(_, question)| question.to.replica == replica);
        let own: Vec<u64> = own.map(|(number, _)| *number).collect();
        self.restart_these(now, &own);
        own
    }

    fn restart_these(&mut self, now: Instant, numbers: &[u64]) {
        for number in numbers {
            let question = self.open.get_mut(number).expect("it is open");
            self.timers.remove(&(question.again_at, *number));
            question.wait = question.first_wait;
            question.again_at = now + question.wait;
            self.timers.insert((question.again_at, *number));
        }
    }

    /// # Panics
    /// When an invariant of this module is broken.
    pub fn validate(&self) {
        let timers = self.open.iter().map(|(number, question)| (question.again_at, *number));
        assert!(timers.collect::<BTreeSet<_>>() == self.timers, "every question has one timer");
    }
}
