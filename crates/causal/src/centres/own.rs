//! Requests of the data centre's own to its store.

use std::collections::BTreeSet;

use iolite_store::Request;
use iolite_values::{Attempt, Cell, Counter, Decision, Element, Level, Read, Transaction, TransactionId, Write};
use iolite_wire::centres::{CentreName, Place};

use super::{Centres, Stage};
use crate::interface::LinkId;
use crate::rows::{Column, DueWrite};

/// Why something was asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// The outbox is read when the store comes.
    Read(Which),
    /// An entry of a peer is committed.
    Take(CentreName, Place),
    /// A mark is written, under this counter.
    Mark(Counter),
    /// Pages are deleted, under this counter.
    Trim(Counter),
    /// A row about a peer is written, under this counter.
    Write(CentreName, Column, Counter),
    /// Pages for a peer that follows.
    Pages(LinkId),
    Acknowledge,
}

/// A part of the outbox that is read when the store comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Which {
    /// The first page of the outbox.
    FirstPage,
    /// The last pages of the outbox.
    LastPages,
    /// The rows about peers.
    Rows,
}

/// The counters of transactions in the data centre's own name.
#[derive(Clone, Debug, Default)]
pub(super) struct OwnNames {
    last: u64,
    open: BTreeSet<u64>,
}

impl OwnNames {
    pub fn next(&mut self) -> Counter {
        self.last += 1;
        self.open.insert(self.last);
        Counter(self.last)
    }

    /// Forgets those that are open: their outcomes will not be heard of.
    pub fn forget_open(&mut self) {
        self.open.clear();
    }

    /// The outcome of one is known. Returns through which counter that is so of all.
    pub fn ended(&mut self, counter: Counter) -> Counter {
        self.open.remove(&counter.0);
        Counter(self.open.first().map_or(self.last, |first| first - 1))
    }
}

impl Centres {
    /// Commits a write of a row about a peer.
    pub(super) fn write_row(&mut self, due: DueWrite) {
        let (peer, column) = (due.peer, due.column);
        self.commit_own(due.reads, due.writes, |counter| Purpose::Write(peer, column, counter));
    }

    /// Commits something in the data centre's own name, which rests on cells as they are now.
    pub(super) fn commit_own(&mut self, reads: Vec<Cell>, writes: Vec<Write>, why: impl FnOnce(Counter) -> Purpose) {
        let Stage::Running(running) = &self.stage else { return };
        let position = running.position;
        let counter = self.names.next();
        let whole = |cell| Read::Cell { cell, element: Element::Whole };
        let transaction = Transaction {
            id: TransactionId { client: self.settings.client, counter },
            attempt: Attempt(1),
            snapshot: position,
            reads: reads.into_iter().map(whole).collect(),
            level: Level::Strict,
            decision: Decision::Commit(writes),
        };
        let request = Request::Commit { transaction, floor: position, within: None };
        self.ask(why(counter), request);
    }

    /// The outcome of one's own is known: its record may go.
    pub(super) fn own_ended(&mut self, counter: Counter, is_recorded: bool) {
        let through = self.names.ended(counter);
        if is_recorded && through >= counter {
            self.ask(Purpose::Acknowledge, Request::Acknowledge { client: self.settings.client, through: counter });
        }
    }
}
