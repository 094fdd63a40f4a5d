//! The program that a node of a role runs: for each kind of message a graph of steps, and its triggers. Designs are compiled to this.

use std::collections::BTreeMap;

use super::Kind;
use crate::quantity::Span;

/// Where a result leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    Step(usize),
    End(End),
}

/// How a graph ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The client gets its answer: stored, or the value.
    ReplyToClient,
    /// The client is told that there is no such object.
    Missing,
    /// The client is told that the store is full.
    Refuse,
    /// The message goes on to the next of its replicas.
    Next,
    /// At the client: the operation ends with the answer of the message.
    Finish,
    Done,
}

impl End {
    pub const ALL: &[(&str, End)] = &[
        ("reply-to-client", End::ReplyToClient),
        ("missing", End::Missing),
        ("refuse", End::Refuse),
        ("next", End::Next),
        ("finish", End::Finish),
        ("done", End::Done),
    ];

    pub fn named(name: &str) -> Option<End> {
        End::ALL.iter().find(|(known, _)| *known == name).map(|(_, end)| *end)
    }
}

/// A call of a module, and where each result leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    pub name: String,
    /// The module, by its place among those of the role.
    pub module: usize,
    pub call: &'static str,
    pub edges: BTreeMap<&'static str, Target>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Handler {
    pub start: Target,
    pub steps: Vec<Step>,
}

/// Runs every so often.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimeTrigger {
    pub period: Span,
    pub handler: Handler,
}

/// Runs when a measure rises above a bound, and not again before it was below.
#[derive(Clone, Debug, PartialEq)]
pub struct StateTrigger {
    pub measure: String,
    pub above: f64,
    pub handler: Handler,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Program {
    pub on: BTreeMap<Kind, Handler>,
    pub every: Vec<TimeTrigger>,
    pub when: Vec<StateTrigger>,
}
