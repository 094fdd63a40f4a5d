//! Operations that a coordinator waits for, each until it is given up.
//!
//! Invariant: an operation is answered once by whoever ends its wait: by its last answer, or by the time trigger that gives it up.

use std::collections::BTreeMap;

use iolite_machine::Instant;

use crate::engine::{Answer, Message, NodeId, OperationId, Outputs, Refusal, reply};
use crate::file::{Problem, Section};
use crate::quantity::Span;

#[derive(Debug)]
struct Wait<T> {
    since: Instant,
    message: Message,
    state: T,
}

#[derive(Debug)]
pub(super) struct Waits<T> {
    open: BTreeMap<OperationId, Wait<T>>,
    own: NodeId,
    give_up: Span,
}

impl<T> Waits<T> {
    pub(super) fn build(section: &Section, own: NodeId) -> Result<Waits<T>, Problem> {
        let give_up = section.span_or("give_up", Span::from_secs(10))?;
        Ok(Waits { open: BTreeMap::new(), own, give_up })
    }

    pub(super) fn begin(&mut self, now: Instant, message: &Message, state: T) {
        self.open.insert(message.operation, Wait { since: now, message: message.clone(), state });
    }

    pub(super) fn state(&mut self, operation: OperationId) -> Option<&mut T> {
        self.open.get_mut(&operation).map(|wait| &mut wait.state)
    }

    pub(super) fn end(&mut self, operation: OperationId) -> Option<T> {
        self.open.remove(&operation).map(|wait| wait.state)
    }

    /// Tells the clients of operations that took too long.
    pub(super) fn expire(&mut self, now: Instant, out: &mut Outputs) {
        let own = self.own;
        self.open.retain(|_, wait| {
            let is_late = wait.since + self.give_up <= now;
            if is_late {
                out.send(wait.message.client, reply(own, &wait.message, Answer::Refused(Refusal::TimedOut)));
            }
            !is_late
        });
    }
}

/// How many of an object's replicas have to answer.
pub(super) fn quorum(section: &Section, key: &str) -> Result<usize, Problem> {
    let (quorum, replicas) = (section.count_or(key, 2)?, section.count_or("replicas", 3)?);
    if quorum <= replicas {
        return Ok(quorum as usize);
    }
    let what = format!("{quorum} of {replicas} replicas cannot answer");
    Err(section.problem(key, what, "ask for as many answers as there are replicas, or fewer"))
}
