//! The client's load: an open loop that begins each operation when it is due, whether or not others have been answered.
//!
//! Invariant: each operation ends once, by an answer or by its time-out, and its latency counts from when it was due: a client that is late
//! makes operations slower, not fewer.

use std::collections::{BTreeMap, BTreeSet};

use iolite_machine::Instant;

use super::{Draw, Draws, Workload};
use crate::engine::{Answer, Asked, Content, Deployment, Key, Kinds, Message, OperationId, Refusal, scattered};
use crate::quantity::Span;

/// The end of an operation, as the client saw it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recorded {
    pub key: Key,
    pub asked: Asked,
    /// The value that a put wrote.
    pub wrote: Option<Content>,
    /// When it was due, and when it began.
    pub due: Instant,
    pub start: Instant,
    pub end: Instant,
    pub answer: Answer,
    /// The value that a get read.
    pub read: Option<Content>,
}

/// An event that the host hands to the client's node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Begun {
    Operation(Message),
    /// The operation was given up.
    Forget(OperationId),
}

#[derive(Clone, Debug)]
struct Open {
    key: Key,
    asked: Asked,
    wrote: Option<Content>,
    due: Instant,
    start: Instant,
}

#[derive(Debug)]
pub struct LoadClient {
    origin: Instant,
    draws: Draws,
    /// The next one.
    due: Option<Draw>,
    size: u64,
    timeout: Span,
    next: u64,
    open: BTreeMap<OperationId, Open>,
    ends: BTreeSet<(Instant, OperationId)>,
    history: Vec<Recorded>,
}

impl LoadClient {
    /// A client whose run begins at `origin`.
    pub fn new(workload: &Workload, seed: u64, origin: Instant) -> LoadClient {
        let mut draws = Draws::new(workload, seed);
        let due = draws.next();
        LoadClient {
            origin,
            draws,
            due,
            size: workload.size.0,
            timeout: workload.timeout,
            // Numbers below are of the data that were there before.
            next: 1 << 32,
            open: BTreeMap::new(),
            ends: BTreeSet::new(),
            history: Vec::new(),
        }
    }

    /// When an operation is due or given up; nothing when all have ended.
    pub fn deadline(&self) -> Option<Instant> {
        let due = self.due.map(|draw| self.origin + draw.at);
        let given_up = self.ends.first().map(|(end, _)| *end);
        due.into_iter().chain(given_up).min()
    }

    /// Begins what is due, and gives up what took too long.
    pub fn on_deadline(&mut self, now: Instant) -> Vec<Begun> {
        let mut begun = Vec::new();
        while let Some((_, operation)) = self.ends.first().copied().filter(|(end, _)| *end <= now) {
            self.end(now, operation, Answer::Refused(Refusal::TimedOut), None);
            begun.push(Begun::Forget(operation));
        }
        while let Some(draw) = self.due.filter(|draw| self.origin + draw.at <= now) {
            self.due = self.draws.next();
            begun.push(Begun::Operation(self.begin(now, draw)));
        }
        begun
    }

    /// The answer to an operation; nothing if it has ended already.
    pub fn finish(&mut self, now: Instant, message: &Message) {
        let operation = message.operation;
        let asked = self.open.get(&operation).map(|open| open.asked);
        let answer = match (message.answer, asked) {
            (Some(answer), _) => answer,
            (None, Some(Asked::Get)) => Answer::Found,
            (None, Some(Asked::Put) | None) => Answer::Stored,
        };
        self.end(now, operation, answer, message.value);
    }

    pub fn has_ended(&self) -> bool {
        self.deadline().is_none()
    }

    /// All operations in the order of their ends.
    pub fn into_history(self) -> Vec<Recorded> {
        self.history
    }

    fn begin(&mut self, now: Instant, draw: Draw) -> Message {
        let Draw { at, asked, key } = draw;
        let operation = OperationId(self.next);
        self.next += 1;
        let wrote = (asked == Asked::Put).then(|| value_of(operation, self.size));
        self.open.insert(operation, Open { key, asked, wrote, due: self.origin + at, start: now });
        self.ends.insert((now + self.timeout, operation));
        request(operation, asked, key, wrote, 0)
    }

    fn end(&mut self, now: Instant, operation: OperationId, answer: Answer, value: Option<Content>) {
        let Some(Open { key, asked, wrote, due, start }) = self.open.remove(&operation) else { return };
        self.ends.remove(&(start + self.timeout, operation));
        let read = value.filter(|_| answer == Answer::Found).or((answer == Answer::Found).then(Content::default));
        self.history.push(Recorded { key, asked, wrote, due, start, end: now, answer, read });
    }
}

/// The message that the client's node is given for an operation.
pub(crate) fn request(operation: OperationId, asked: Asked, key: Key, value: Option<Content>, room: u64) -> Message {
    Message {
        kind: if asked == Asked::Put { Kinds::PUT } else { Kinds::GET },
        operation,
        asked,
        client: Deployment::CLIENT,
        from: Deployment::CLIENT,
        key,
        value,
        version: None,
        volume: None,
        replicas: Vec::new(),
        answer: None,
        room,
    }
}

/// A value that no other operation writes.
pub(crate) fn value_of(operation: OperationId, length: u64) -> Content {
    Content { digest: scattered(operation.0).max(1), length }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::workload;

    fn operations(begun: Vec<Begun>) -> Vec<Message> {
        let operation = |begun| match begun {
            Begun::Operation(message) => Some(message),
            Begun::Forget(_) => None,
        };
        begun.into_iter().filter_map(operation).collect()
    }

    #[test]
    fn a_late_client_begins_all_that_was_due_and_counts_from_then() {
        let workload = Workload { is_even: true, ..workload() };
        let mut client = LoadClient::new(&workload, 1, Instant::default());
        let late = Instant::from_nanos(1_000_000_000);
        let begun = operations(client.on_deadline(late));
        assert_eq!(begun.len(), 100);
        let end = late + Span::from_millis(5);
        client.finish(end, &Message { answer: Some(Answer::Stored), ..begun[0].clone() });
        let history = client.into_history();
        assert_eq!(history[0].due, Instant::from_nanos(10_000_000));
        assert_eq!((history[0].start, history[0].end), (late, end));
    }

    #[test]
    fn an_operation_ends_once_by_its_answer_or_its_time_out() {
        let mut client = LoadClient::new(&workload(), 1, Instant::default());
        let first = client.deadline().expect("there is one");
        let begun = operations(client.on_deadline(first));
        let given_up = first + workload().timeout;
        let after = client.on_deadline(given_up);
        assert_eq!(after[0], Begun::Forget(begun[0].operation));
        client.finish(given_up, &Message { answer: Some(Answer::Stored), ..begun[0].clone() });
        let history = client.into_history();
        assert_eq!((history.len(), history[0].answer), (1, Answer::Refused(Refusal::TimedOut)));
    }
}
