//! The tasks that are not done yet. Each one reads the row that it is about. Some read rows of nodes too. Then a task confirms what it read, or changes its row.
//!
//! Invariants: an answer is true at a moment between the ask and the answer. A change commits only if every row that decided it is as it was read.

use std::collections::{BTreeMap, BTreeSet};

use iolite_machine::Instant;
use iolite_store::RequestId;
use iolite_values::{Cell, CoordinatorId, Counter, NodeId, Timestamp, Transaction, Write};

use crate::buckets::{Bucket, Exchange};
use crate::interface::{Ask, AskId, Told};
use crate::leases::Silent;
use crate::nodes::{self, Coming};
use crate::objects;
use crate::rows::{Rows, Undecided};
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
    /// A row is being read, after others.
    Reading {
        request: RequestId,
        place: Place,
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
    /// The row that it is about.
    pub fn place(&self) -> Place {
        match self {
            Task::Ask(ask) => ask.place(),
            Task::Renew(node) | Task::Lose(Silent { node, .. }) => Place::of_node(node.name),
            Task::Exchange(exchange) => exchange.place(),
        }
    }

    /// Cells that tell whether the rows are still as they were read.
    pub fn guards(&self, rows: &Rows) -> Vec<Cell> {
        let place = self.place();
        let own = match self {
            Task::Ask(ask) => ask.guards(&place),
            Task::Renew(_) | Task::Lose(_) => nodes::lease_guards(&place),
            Task::Exchange(exchange) => exchange.guards(),
        };
        // All others are rows of nodes.
        let others = rows.places().filter(|other| **other != place).flat_map(nodes::life_guards);
        own.into_iter().chain(others).collect()
    }

    pub fn step(&self, rows: &Rows) -> Result<Step<Done>, Undecided> {
        match self {
            Task::Ask(ask) => ask.step(rows),
            Task::Renew(node) => nodes::renew(&self.place(), rows, *node),
            Task::Lose(silent) => nodes::lose_silent(&self.place(), rows, *silent),
            Task::Exchange(exchange) => exchange.step(rows),
        }
    }
}

impl Ask {
    fn place(&self) -> Place {
        match self {
            Ask::Find(object) | Ask::Move { object, .. } | Ask::Remove { object, .. } => Place::of_object(object),
            Ask::Begin { begin, .. } => Place::of_object(&begin.object),
            Ask::Register { name, .. } => Place::of_node(*name),
            Ask::Where(device) | Ask::Gone { device, .. } => Place::of_node(device.name),
        }
    }

    fn guards(&self, place: &Place) -> Vec<Cell> {
        match self {
            Ask::Find(_) | Ask::Begin { .. } | Ask::Move { .. } | Ask::Remove { .. } => {
                vec![place.cell(objects::EPOCH)]
            }
            Ask::Register { .. } => nodes::registration_guards(place),
            Ask::Where(_) | Ask::Gone { .. } => nodes::life_guards(place),
        }
    }

    fn step(&self, rows: &Rows) -> Result<Step<Done>, Undecided> {
        let place = self.place();
        Ok(match self {
            Ask::Find(_) => objects::find(&place, rows)?.done(),
            Ask::Begin { begin, at } => objects::begin(&place, rows, begin, *at)?.done(),
            Ask::Move { from, places, .. } => objects::change_places(&place, rows, *from, places)?.done(),
            Ask::Remove { from, .. } => objects::remove(&place, rows, *from)?.done(),
            Ask::Where(device) => nodes::server_of(&place, rows, *device)?,
            Ask::Register { name, known, serves, at, connection, address, classes } => {
                let (name, known, serves, at, connection) = (*name, *known, *serves, *at, *connection);
                Coming { name, known, serves, at, connection, address, classes }.register(&place, rows)?
            }
            Ask::Gone { device, at, connection } => nodes::lose_device(&place, rows, device.life, *at, *connection)?,
        })
    }
}
