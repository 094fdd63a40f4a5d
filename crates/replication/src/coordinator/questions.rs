//! Questions that wait for an answer, and when to ask them again.
//!
//! Invariant: a question is answered at most once: its number leaves with the answer, and is not used again.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use iolite_machine::Instant;
use iolite_store::RequestId;
use iolite_values::{Timestamp, Transaction};

use super::CoordinatorSettings;
use crate::messages::{Answer, Ask, Life, MessageId};

/// Who wants the answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    Open,
    Close,
    Commit { request: RequestId, transaction: Arc<Transaction>, floor: Timestamp },
    Read(RequestId),
    Changes(RequestId),
    Acknowledge(RequestId),
}

impl Purpose {
    /// Whether an answer is one to such a question. No replica of ours sends another kind; the question then stays open.
    pub fn accepts(&self, answer: &Answer) -> bool {
        match self {
            Purpose::Open => matches!(answer, Answer::Opened { .. }),
            Purpose::Close => matches!(answer, Answer::Closed(_)),
            Purpose::Commit { .. } => matches!(answer, Answer::Prepared(_) | Answer::Refused(_)),
            Purpose::Read(_) => matches!(answer, Answer::Read(_) | Answer::Refused(_)),
            Purpose::Changes(_) => matches!(answer, Answer::Changes(_) | Answer::Refused(_)),
            Purpose::Acknowledge(_) => matches!(answer, Answer::Acknowledged),
        }
    }
}

#[derive(Debug)]
pub(super) struct Questions {
    life: Life,
    resend_after: Duration,
    resend_after_max: Duration,
    last_number: u64,
    open: BTreeMap<u64, Question>,
    timers: BTreeSet<(Instant, u64)>,
}

#[derive(Debug)]
struct Question {
    purpose: Purpose,
    ask: Ask,
    again_at: Instant,
    wait: Duration,
}

impl Questions {
    pub fn new(settings: CoordinatorSettings) -> Questions {
        Questions {
            life: settings.life,
            resend_after: settings.resend_after,
            resend_after_max: settings.resend_after_max,
            last_number: 0,
            open: BTreeMap::new(),
            timers: BTreeSet::new(),
        }
    }

    pub fn add(&mut self, now: Instant, purpose: Purpose, ask: Ask) -> u64 {
        self.last_number += 1;
        let again_at = now + self.resend_after;
        self.open.insert(self.last_number, Question { purpose, ask, again_at, wait: self.resend_after });
        self.timers.insert((again_at, self.last_number));
        self.last_number
    }

    /// Whether an answer is one of this life's, and to which open question.
    pub fn find(&self, id: MessageId) -> Option<&Purpose> {
        let question = self.open.get(&id.number)?;
        (id.life == self.life).then_some(&question.purpose)
    }

    pub fn is_own(&self, id: MessageId) -> bool {
        id.life == self.life && id.number <= self.last_number
    }

    /// Ends a question.
    pub fn take(&mut self, id: MessageId) -> Option<Purpose> {
        self.find(id)?;
        let question = self.open.remove(&id.number)?;
        self.timers.remove(&(question.again_at, id.number));
        Some(question.purpose)
    }

    /// Ends all questions of one purpose.
    pub fn drop_all(&mut self, purpose: &Purpose) {
        let numbers: Vec<u64> =
            self.open.iter().filter(|(_, question)| question.purpose == *purpose).map(|(number, _)| *number).collect();
        for number in numbers {
            self.take(MessageId { life: self.life, number });
        }
    }

    pub fn message(&self, number: u64) -> Option<(MessageId, Ask)> {
        let question = self.open.get(&number)?;
        Some((MessageId { life: self.life, number }, question.ask.clone()))
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

    /// All questions, to be asked anew, as if for the first time.
    pub fn restart(&mut self, now: Instant) -> Vec<u64> {
        self.timers.clear();
        for (number, question) in &mut self.open {
            question.wait = self.resend_after;
            question.again_at = now + question.wait;
            self.timers.insert((question.again_at, *number));
        }
        self.open.keys().copied().collect()
    }

    pub fn count(&self, which: impl Fn(&Purpose) -> bool) -> usize {
        self.open.values().filter(|question| which(&question.purpose)).count()
    }

    /// Questions that a request waits for.
    pub fn requests(&self) -> usize {
        self.open.len() - self.count(|purpose| matches!(purpose, Purpose::Open | Purpose::Close))
    }

    /// # Panics
    /// When an invariant of this module is broken.
    pub fn validate(&self) {
        let timers = self.open.iter().map(|(number, question)| (question.again_at, *number));
        assert!(timers.collect::<BTreeSet<_>>() == self.timers, "every question has one timer");
    }
}
