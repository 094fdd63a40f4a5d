//! The tasks that are not done yet. Each one reads a row, and then confirms what it read, or changes it.
//!
//! Invariants: an answer is true at a moment between the ask and the answer. A change commits only if the row is as it was read.

use std::collections::{BTreeMap, BTreeSet};

use iolite_machine::Instant;
use iolite_store::RequestId;
use iolite_values::{Cell, CoordinatorId, Counter, NodeId, Row, Timestamp, Transaction, Write};

use crate::buckets::{Bucket, Exchange};
use crate::interface::{Ask, AskId, Told};
use crate::leases::Silent;
use crate::nodes::{self, Coming};
use crate::objects;
use crate::tables::{Place, Unreadable};

/// The part that waits for a task. It has one open at a time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Asker {
    Host(AskId),
    /// The lease of the own server.
    Renewal,
    /// The watch over another server.
    Watch(CoordinatorId),
    Bucket(Bucket),
}

/// Something to do with one row.
#[derive(Debug)]
pub enum Task {
    Ask(Ask),
    Renew(NodeId),
    Lose(Silent),
    Exchange(Exchange),
}

/// The end of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Done {
    Told(Told),
    Renewed,
    /// The task is done, and nobody waits for more.
    Over,
}

/// The next thing to do, once the row of a task is read.
#[derive(Debug)]
pub enum Step<T> {
    /// The answer, if the row is still as it was read.
    Tell(T),
    /// Writes, and the answer when they are committed.
    Change(Vec<Write>, T),
}

impl Step<Told> {
    fn done(self) -> Step<Done> {
        match self {
            Step::Tell(told) => Step::Tell(Done::Told(told)),
            Step::Change(writes, told) => Step::Change(writes, Done::Told(told)),
        }
    }
}

#[derive(Debug)]
pub struct Open {
    pub task: Task,
    pub phase: Phase,
}

/// How far a task is.
#[derive(Debug)]
pub enum Phase {
    /// The task's row is being read.
    Reading(RequestId),
    /// The store is asked whether the row is still so.
    Confirming {
        name: Counter,
        done: Done,
    },
    Changing(Changing),
    /// The feed has to come so far before the row is read again.
    Behind(Timestamp),
}

/// The store has the change of a task.
#[derive(Debug)]
pub struct Changing {
    pub name: Counter,
    pub transaction: Transaction,
    /// When the store was first given it.
    pub sent: Instant,
    pub was_in_doubt: bool,
    pub done: Done,
}

#[derive(Debug, Default)]
pub struct Tasks {
    pub open: BTreeMap<Asker, Open>,
    behind: BTreeSet<(Timestamp, Asker)>,
}

impl Tasks {
    /// The task waits until the feed is there.
    pub fn wait(&mut self, id: Asker, until: Timestamp) {
        if let Some(open) = self.open.get_mut(&id) {
            open.phase = Phase::Behind(until);
            self.behind.insert((until, id));
        }
    }

    /// Takes out of the waiting one that the feed has reached.
    pub fn reached(&mut self, position: Timestamp) -> Option<Asker> {
        let (until, id) = self.behind.first().copied().filter(|(until, _)| *until <= position)?;
        self.behind.remove(&(until, id));
        Some(id)
    }

    /// How many of them the host has asked for.
    pub fn asks(&self) -> usize {
        self.open.len() - self.open.range(Asker::Renewal..).count()
    }

    /// The buckets that are being given up.
    pub fn given_up(&self) -> BTreeSet<Bucket> {
        let of_buckets = self.open.range(Asker::Bucket(Bucket::FIRST)..);
        let given_up = of_buckets.filter_map(|(_, open)| match &open.task {
            Task::Exchange(exchange) if exchange.to.is_none() => Some(exchange.bucket),
            Task::Exchange(_) | Task::Ask(_) | Task::Renew(_) | Task::Lose(_) => None,
        });
        given_up.collect()
    }

    /// Takes all of them, as the store has begun anew.
    pub fn take(&mut self) -> BTreeMap<Asker, Open> {
        self.behind.clear();
        std::mem::take(&mut self.open)
    }

    /// # Panics
    /// When a task waits for the feed and is not known to, or the other way round.
    pub fn validate(&self) {
        let waiting = self.open.iter().filter_map(|(id, open)| match open.phase {
            Phase::Behind(until) => Some((until, *id)),
            Phase::Reading(_) | Phase::Confirming { .. } | Phase::Changing(_) => None,
        });
        assert_eq!(waiting.collect::<BTreeSet<_>>(), self.behind);
    }
}

impl Task {
    /// The row that it is about.
    pub fn place(&self) -> Place {
        match self {
            Task::Ask(ask) => ask.place(),
            Task::Renew(node) | Task::Lose(Silent { node, .. }) => Place::of_node(node.name),
            Task::Exchange(exchange) => exchange.place(),
        }
    }

    /// Cells of the row that tell whether it is still as it was read.
    pub fn guards(&self) -> Vec<Cell> {
        match self {
            Task::Ask(ask) => vec![ask.guard()],
            Task::Renew(_) | Task::Lose(_) => nodes::lease_guards(&self.place()),
            Task::Exchange(exchange) => exchange.guards(),
        }
    }

    pub fn step(&self, row: Option<&Row>) -> Result<Step<Done>, Unreadable> {
        match self {
            Task::Ask(ask) => ask.step(row),
            Task::Renew(node) => nodes::renew(&self.place(), row, *node),
            Task::Lose(silent) => nodes::lose_silent(&self.place(), row, *silent),
            Task::Exchange(exchange) => exchange.step(row),
        }
    }
}

impl Ask {
    fn place(&self) -> Place {
        match self {
            Ask::Find(object) | Ask::Move { object, .. } | Ask::Remove { object, .. } => Place::of_object(object),
            Ask::Begin { begin, .. } => Place::of_object(&begin.object),
            Ask::Register { name, .. } => Place::of_node(*name),
            Ask::Gone { device, .. } => Place::of_node(device.name),
        }
    }

    fn guard(&self) -> Cell {
        let column = match self {
            Ask::Find(_) | Ask::Begin { .. } | Ask::Move { .. } | Ask::Remove { .. } => objects::EPOCH,
            // Whoever registers makes the row anew, which changes all of its cells.
            Ask::Register { .. } | Ask::Gone { .. } => nodes::LIFE,
        };
        self.place().cell(column)
    }

    fn step(&self, row: Option<&Row>) -> Result<Step<Done>, Unreadable> {
        let place = self.place();
        Ok(match self {
            Ask::Find(_) => objects::find(row)?.done(),
            Ask::Begin { begin, at } => objects::begin(&place, row, begin, *at)?.done(),
            Ask::Move { from, places, .. } => objects::change_places(&place, row, *from, places)?.done(),
            Ask::Remove { from, .. } => objects::remove(&place, row, *from)?.done(),
            Ask::Register { name, known, serves, at, classes } => {
                let coming = Coming { name: *name, known: *known, serves: *serves, at: *at, classes };
                coming.register(&place, row)?
            }
            Ask::Gone { device, at } => nodes::lose_device(&place, row, device.life, *at)?,
        })
    }
}
