//! The tasks that are not done yet. Each one reads the row that it is about. Some read rows of nodes too. Then a task confirms what it read, or changes its row.
//!
//! Invariants: an answer is true at a moment between the ask and the answer. A change commits only if every row that decided it is as it was read.

use std::collections::{BTreeMap, BTreeSet};

use iolite_machine::Instant;
use iolite_store::RequestId;
use iolite_values::{Bucket, Cell, CoordinatorId, Counter, NodeId, Timestamp, Transaction, Write};

use crate::buckets::Exchange;
use crate::interface::{Ask, AskId, Told};
use crate::leases::Silent;
use crate::nodes::{self, Coming};
use crate::objects;
use crate::rows::{Rows, Undecided, Wanted};
use crate::tables::Place;

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

/// Something to do with one row, which may rest on others.
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

/// The next thing to do, once the rows of a task are read.
#[derive(Debug)]
pub enum Step<T> {
    /// The answer, if the rows are still as they were read.
    Tell(T),
    /// The answer, as the rows were read. The feed is still to say what has changed since.
    TellAsRead(T),
    /// Writes, and the answer when they are committed.
    Change(Vec<Write>, T),
}

impl Step<Told> {
    fn done(self) -> Step<Done> {
        match self {
            Step::Tell(told) => Step::Tell(Done::Told(told)),
            Step::TellAsRead(told) => Step::TellAsRead(Done::Told(told)),
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
    /// A row is being read, after others; or the rows of a bucket.
    Reading {
        request: RequestId,
        wanted: Wanted,
        rows: Rows,
    },
    /// The store is asked whether the rows are still so.
    Confirming {
        name: Counter,
        done: Done,
    },
    Changing(Changing),
    /// The feed has to come so far before the rows are read again.
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
            Phase::Reading { .. } | Phase::Confirming { .. } | Phase::Changing(_) => None,
        });
        assert_eq!(waiting.collect::<BTreeSet<_>>(), self.behind);
    }
}

impl Task {
    /// The row that it is about, or the rows.
    pub fn wanted(&self) -> Wanted {
        match self {
            Task::Ask(ask) => ask.wanted(),
            Task::Renew(node) | Task::Lose(Silent { node, .. }) => Wanted::Row(Place::of_node(node.name)),
            Task::Exchange(exchange) => Wanted::Row(exchange.place()),
        }
    }

    /// Cells that tell whether the rows are still as they were read.
    pub fn guards(&self, rows: &Rows) -> Vec<Cell> {
        let own = match self {
            Task::Ask(ask) => ask.guards(),
            Task::Renew(node) | Task::Lose(Silent { node, .. }) => nodes::lease_guards(&Place::of_node(node.name)),
            Task::Exchange(exchange) => exchange.guards(),
        };
        // All others are rows of nodes.
        let others = rows.others().flat_map(nodes::life_guards);
        own.into_iter().chain(others).collect()
    }

    pub fn step(&self, rows: &Rows) -> Result<Step<Done>, Undecided> {
        match self {
            Task::Ask(ask) => ask.step(rows),
            Task::Renew(node) => nodes::renew(&Place::of_node(node.name), rows, *node),
            Task::Lose(silent) => nodes::lose_silent(&Place::of_node(silent.node.name), rows, *silent),
            Task::Exchange(exchange) => exchange.step(rows),
        }
    }
}

impl Ask {
    fn wanted(&self) -> Wanted {
        match self {
            Ask::Find(object)
            | Ask::Move { object, .. }
            | Ask::Take { object, .. }
            | Ask::Remove { object, .. }
            | Ask::Recall(object)
            | Ask::Remember { object, .. } => Wanted::Row(Place::of_object(object)),
            Ask::Begin { begin, .. } => Wanted::Row(Place::of_object(&begin.object)),
            Ask::List(bucket) => Wanted::Bucket(*bucket),
            Ask::Register { name, .. } => Wanted::Row(Place::of_node(*name)),
            Ask::Where(device) | Ask::Gone { device, .. } => Wanted::Row(Place::of_node(device.name)),
        }
    }

    fn guards(&self) -> Vec<Cell> {
        match self {
            Ask::Find(object) | Ask::Move { object, .. } | Ask::Take { object, .. } | Ask::Remove { object, .. } => {
                objects::guards(object)
            }
            Ask::Begin { begin, .. } => objects::guards(&begin.object),
            // The rows of a busy bucket may never stand still for as long as a confirmation takes.
            Ask::List(_) => Vec::new(),
            Ask::Recall(object) | Ask::Remember { object, .. } => objects::memory_guards(object),
            Ask::Register { name, .. } => nodes::registration_guards(&Place::of_node(*name)),
            Ask::Where(device) | Ask::Gone { device, .. } => nodes::life_guards(&Place::of_node(device.name)),
        }
    }

    fn step(&self, rows: &Rows) -> Result<Step<Done>, Undecided> {
        Ok(match self {
            Ask::Find(object) => objects::find(&Place::of_object(object), rows)?.done(),
            Ask::Begin { begin, at } => objects::begin(&Place::of_object(&begin.object), rows, begin, *at)?.done(),
            Ask::Move { object, from, places } => {
                objects::change_places(&Place::of_object(object), rows, *from, places)?.done()
            }
            Ask::Take { object, from, at } => objects::take(&Place::of_object(object), rows, *from, *at)?.done(),
            Ask::Remove { object, from } => objects::remove(&Place::of_object(object), rows, *from)?.done(),
            Ask::List(_) => objects::list(rows.objects()).done(),
            Ask::Recall(object) => objects::recall(&Place::of_object(object), rows)?.done(),
            Ask::Remember { object, from, was, memory } => {
                objects::remember(&Place::of_object(object), rows, *from, was, memory)?.done()
            }
            Ask::Where(device) => nodes::server_of(&Place::of_node(device.name), rows, *device)?,
            Ask::Register { name, known, serves, at, connection, address, classes } => {
                let (name, known, serves, at, connection) = (*name, *known, *serves, *at, *connection);
                let coming = Coming { name, known, serves, at, connection, address, classes };
                coming.register(&Place::of_node(name), rows)?
            }
            Ask::Gone { device, at, connection } => {
                nodes::lose_device(&Place::of_node(device.name), rows, device.life, *at, *connection)?
            }
        })
    }
}
