//! Several tabs: what a follower sees, what becomes of its calls, what a lost leader or a silent tab leaves.

mod adoption;
mod at_rest;
mod calls;
#[path = "../harness/mod.rs"]
mod harness;
mod joining;
mod once_more;
mod robbed;
mod views;

use std::time::Duration;

use harness::tab::{Tab, exchange, read_outbox, take_down};
use harness::{Harness, SCHEMA, Stop, at, hit, hits, key, note, note_row, notes, title_put};
use iolite_client::{
    CallError, CallStatus, Connection, FollowerInput, FollowerOutput, Input, MutationStatus, OUTBOX, Output,
    StorageChange, TabId, Ticket, Transaction, View,
};
use iolite_machine::{Machine, PersistId};
use iolite_values::{Cell, CellState, Counter, Id, Operation, Row, TableId, Value};
use iolite_wire::message::{Advance, GoodbyeReason, Rejection, Verdict};

const VIEWS: [View; 3] = [View::Optimistic, View::Durable, View::Confirmed];

fn counting() -> Harness {
    let mut leader = Harness::new();
    add_mutators(&mut leader);
    leader
}

fn add_mutators(leader: &mut Harness) {
    leader.mutator("hit", |tx| Ok(tx.write(hits(1), Operation::Add(1))?));
    leader.mutator("refuse", |_| Err(Stop::Abort("no")));
    leader.mutator("shout", |tx| {
        let row = tx.row(notes(), &key(1))?.ok_or(Stop::Abort("gone"))?;
        let Some(CellState::Scalar(Value::String(title))) = row.cell(note(1, "title").column) else {
            return Err(Stop::Fail("no title"));
        };
        Ok(tx.write(note(1, "title"), Operation::Put(Value::from(format!("{title}!"))))?)
    });
}

fn count(tx: &mut Transaction<'_>) -> Result<i64, Stop> {
    Ok(match tx.cell(&hits(1))? {
        Some(CellState::Counter(count)) => count,
        _ => 0,
    })
}

fn first_note(tx: &mut Transaction<'_>) -> Result<Option<Row>, Stop> {
    Ok(tx.row(notes(), &key(1))?)
}

/// A leader that is connected, and tabs that follow it.
fn followed(tabs: u64) -> (Harness, Vec<Tab>) {
    let mut leader = counting();
    leader.connect();
    let mut tabs: Vec<Tab> = (1..=tabs).map(|id| Tab::new(id, leader.now)).collect();
    exchange(&mut leader, &mut tabs);
    (leader, tabs)
}

fn outbox(leader: &Harness) -> usize {
    leader.storage.keys().filter(|key| key[0] == OUTBOX).count()
}

/// The leading tab is closed, and another one opens the storage.
fn taken_over(leader: Harness, tabs: &mut [Tab]) -> Harness {
    let now = leader.now;
    let mut next = leader.reopened();
    next.now = now;
    for tab in tabs {
        (tab.up, tab.down) = (Vec::new(), Vec::new());
        tab.input(now, FollowerInput::LeaderChanged);
    }
    next
}
