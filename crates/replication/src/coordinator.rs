//! The coordinator: serves a gateway's requests from a replica that it reaches by messages only, and follows the feed.
//!
//! Invariants:
//! - every request is answered exactly once, however often its messages are lost, repeated or late;
//! - the feed's segments join from `Ready` on, without gap or overlap;
//! - no timestamp is proposed twice.
//!
//! Source: the client half of TAPIR (TOCS 2018, section 5); the feed is Iolite's. docs/protocols/coordinator.md has the states and inputs.

mod answers;
mod feed;
mod proposals;
mod questions;
mod requests;

use std::collections::VecDeque;
use std::time::Duration;

use iolite_machine::{Instant, Machine, Now};
use iolite_store::{Event, Request, RequestId};
use iolite_values::{CoordinatorId, StoreIncarnation};

use crate::messages::{Ask, Boot, FromReplica, Life, ToReplica};

use feed::Feed;
pub use feed::IDLE_CLOSE_BEHIND;
use proposals::Proposals;
use questions::{Purpose, Questions};

/// What a coordinator is started with.
#[derive(Clone, Copy, Debug)]
pub struct CoordinatorSettings {
    /// Nobody else has it at the same time.
    pub id: CoordinatorId,
    pub life: Life,
    /// A question without an answer is asked again after this long, then after twice as long, and so on.
    pub resend_after: Duration,
    pub resend_after_max: Duration,
    /// Without any commit to ask for, the feed is asked after this long, then after twice as long, and so on.
    pub idle_close_after: Duration,
    pub idle_close_after_max: Duration,
}

impl CoordinatorSettings {
    pub fn new(id: CoordinatorId, life: Life) -> CoordinatorSettings {
        CoordinatorSettings {
            id,
            life,
            resend_after: Duration::from_millis(100),
            resend_after_max: Duration::from_secs(2),
            idle_close_after: Duration::from_millis(250),
            idle_close_after_max: Duration::from_secs(1),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CoordinatorInput {
    /// The gateway asks.
    Request(RequestId, Request),
    /// A message has come.
    FromReplica(FromReplica),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CoordinatorOutput {
    /// For the gateway.
    Event(Event),
    /// To be sent; it may get lost.
    ToReplica(ToReplica),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Session {
    /// Which history this is, or where it stands, is not known (any more): requests wait.
    Opening,
    Open {
        store: StoreIncarnation,
        boot: Boot,
    },
}

/// One gateway's half of the replicated store.
#[derive(Debug)]
pub struct Coordinator {
    settings: CoordinatorSettings,
    session: Session,
    proposals: Proposals,
    questions: Questions,
    feed: Feed,
    /// Requests that came while opening.
    waiting: VecDeque<(RequestId, Request)>,
    outputs: VecDeque<CoordinatorOutput>,
}

impl Coordinator {
    pub fn new(now: Now, settings: CoordinatorSettings) -> Coordinator {
        let mut coordinator = Coordinator {
            settings,
            session: Session::Opening,
            proposals: Proposals::new(settings.id),
            questions: Questions::new(settings),
            feed: Feed::new(now.instant, settings),
            waiting: VecDeque::new(),
            outputs: VecDeque::new(),
        };
        coordinator.ask(now, Purpose::Open, Ask::Open);
        coordinator
    }

    /// How far the last proposal was ahead of this host's clock. More than a moment tells that this clock is behind others, or one of theirs
    /// far ahead.
    pub fn lead(&self) -> Duration {
        self.proposals.lead()
    }

    /// Requests that are not answered yet.
    pub fn open_requests(&self) -> usize {
        self.waiting.len() + self.questions.requests()
    }

    fn ask(&mut self, now: Now, purpose: Purpose, ask: Ask) {
        let number = self.questions.add(now.instant, purpose, ask);
        self.send(number);
    }

    fn send(&mut self, number: u64) {
        let Some((id, ask)) = self.questions.message(number) else { return };
        let store = match self.session {
            Session::Opening => None,
            Session::Open { store, boot: _ } => Some(store),
        };
        // While opening anew, other questions wait: their turn comes when the history is known.
        if store.is_some() || ask == Ask::Open {
            self.emit(CoordinatorOutput::ToReplica(ToReplica { from: self.settings.id, id, store, ask }));
        }
    }

    fn send_all_again(&mut self, now: Now) {
        for number in self.questions.restart(now.instant) {
            self.send(number);
        }
    }

    fn emit(&mut self, output: CoordinatorOutput) {
        self.outputs.push_back(output);
    }
}

impl Machine for Coordinator {
    type Input = CoordinatorInput;
    type Output = CoordinatorOutput;

    fn handle(&mut self, now: Now, input: CoordinatorInput) {
        match input {
            CoordinatorInput::Request(id, request) => self.on_request(now, id, request),
            CoordinatorInput::FromReplica(message) => self.on_message(now, message),
        }
        self.drive_feed(now);
    }

    fn poll(&mut self) -> Option<CoordinatorOutput> {
        self.outputs.pop_front()
    }

    fn deadline(&self) -> Option<Instant> {
        let idle = match self.session {
            Session::Opening => None,
            Session::Open { .. } => self.feed.idle_deadline(),
        };
        [self.questions.deadline(), idle].into_iter().flatten().min()
    }

    fn on_deadline(&mut self, now: Now) {
        for number in self.questions.due(now.instant) {
            self.send(number);
        }
        self.close_when_idle(now);
    }

    fn validate(&self) {
        self.questions.validate();
        self.feed.validate(&self.questions);
        if self.session == Session::Opening {
            assert_eq!(self.questions.count(|purpose| *purpose == Purpose::Open), 1, "one question opens the store");
        } else {
            assert!(self.waiting.is_empty(), "a request waits although the store is open");
        }
    }
}

#[cfg(test)]
mod tests;
