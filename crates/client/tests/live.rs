//! Mutations that are operations on cells: no closure of the app is asked for, and a restart finds them.

mod harness;

use harness::{Harness, at, hit, hits, key, note, note_row, notes};
use iolite_client::{LIVE, MutationStatus, Pending, View, live_arguments};
use iolite_values::{CellState, Counter, Decision, Operation, Write};
use iolite_wire::message::{Advance, Verdict};

fn add(cell: iolite_values::Cell, amount: i64) -> Write {
    Write { cell, operation: Operation::Add(amount) }
}

fn call(harness: &mut Harness, writes: &[Write]) -> Counter {
    let arguments = live_arguments(harness.client.schema(), writes).expect("they fit");
    let counter = harness.client.mutate(harness.now.wall, LIVE, &arguments).expect("there is room");
    harness.settle();
    counter
}

#[test]
fn operations_are_seen_at_once_and_submitted_without_a_closure() {
    let mut harness = Harness::new();
    harness.connect();
    let counter = call(&mut harness, &[add(hits(1), 2), add(hits(2), 3)]);
    assert!(harness.runs.is_empty(), "{:?}", harness.runs);
    let submit = harness.take_submits().remove(0);
    assert_eq!(submit.decision, Decision::Commit(vec![add(hits(1), 2), add(hits(2), 3)]));
    harness.decide(counter, 1, 20, vec![], Verdict::Committed(at(20)));
    assert_eq!(*harness.last_status(counter), MutationStatus::Confirmed { at: at(20) });
}

#[test]
fn they_survive_a_restart_of_an_app_that_has_no_mutators() {
    let mut harness = Harness::new();
    let counter = call(&mut harness, &[add(hits(1), 2)]);
    let status = Pending {
        durable: true,
        sent: false,
        would_reject: None,
        waits_for_data: false,
        in_conflict: false,
        centres: 0,
    };
    assert_eq!(*harness.last_status(counter), MutationStatus::Pending(status));
    let mut harness = harness.reopened();
    harness.connect();
    assert_eq!(harness.take_submits()[0].decision, Decision::Commit(vec![add(hits(1), 2)]));
}

#[test]
fn a_row_has_to_be_there() {
    let mut harness = Harness::new();
    harness.connect();
    harness.react(View::Confirmed, |tx| {
        tx.exists(notes(), &key(1))?;
        tx.exists(notes(), &key(2)).map(drop).map_err(harness::Stop::from)
    });
    harness.load(10, &[(notes(), key(1), note_row("a", 0))]);
    harness.load(11, &[(notes(), key(1), note_row("a", 0))]);
    let there = call(&mut harness, &[add(note(1, "votes"), 1)]);
    assert!(matches!(harness.last_status(there), MutationStatus::Pending(_)));
    let missing = call(&mut harness, &[add(note(2, "votes"), 1)]);
    let MutationStatus::Cancelled { reason } = harness.last_status(missing) else { panic!("it never began") };
    assert!(reason.contains("no row"), "{reason}");
}

/// They are put on what others did, like any mutation.
#[test]
fn they_are_rebased() {
    let mut harness = Harness::new();
    harness.connect();
    let seen = std::rc::Rc::new(std::cell::RefCell::new(None));
    let log = seen.clone();
    harness.react(View::Optimistic, move |tx| {
        *log.borrow_mut() = tx.cell(&hits(1))?;
        Ok(())
    });
    harness.load(10, &[]);
    call(&mut harness, &[add(hits(1), 2)]);
    assert_eq!(*seen.borrow(), Some(CellState::Counter(2)));
    harness.advance(Advance { to: at(20), changes: vec![hit(1, 40)], ..Advance::default() });
    assert_eq!(*seen.borrow(), Some(CellState::Counter(42)));
}
