//! Mutations whose data is not here.

mod harness;

use std::cell::RefCell;
use std::rc::Rc;

use harness::{Harness, Stop, at, key, note, note_row, notes};
use iolite_client::{CallError, Client, MutationStatus, RunOf, View};
use iolite_values::{Decision, Operation};
use iolite_wire::message::{Advance, Snapshot};

/// A client that is connected, holds note 1, and has a mutator `vote` that votes for it.
fn holding_a_note() -> Harness {
    let mut harness = Harness::new();
    harness.mutator("vote", |tx| Ok(tx.write(note(1, "votes"), Operation::Add(1))?));
    harness.connect();
    harness.react(View::Confirmed, |tx| tx.row(notes(), &key(1)).map(drop).map_err(Stop::from));
    harness.load(10, &[(notes(), key(1), note_row("a", 0))]);
    harness
}

#[test]
fn offline_a_miss_is_an_error_and_no_wait() {
    let mut harness = holding_a_note();
    harness.mutator("other", |tx| tx.row(notes(), &key(2)).map(drop).map_err(Stop::from));
    harness.client.go_offline();
    harness.settle();
    let counter = harness.mutate("other");
    assert!(
        matches!(harness.last_status(counter), MutationStatus::Cancelled { reason } if reason.contains("table \"notes\" is not on this device"))
    );
    let counter = harness.mutate("vote");
    assert!(matches!(harness.last_status(counter), MutationStatus::Pending(_)), "its data is here");
    assert_eq!(harness.client.transact(harness.now.wall), Err(CallError::Offline));
}

#[test]
fn a_closure_cannot_swallow_the_signal_that_stops_it() {
    let mut harness = holding_a_note();
    harness.mutator("swallow", |tx| {
        let known = tx.row(notes(), &key(2)).is_ok();
        let written = tx.write(note(1, "votes"), Operation::Add(5)).is_ok();
        assert_eq!(written, known, "a stopped run writes nothing");
        Ok(())
    });
    harness.mutate("swallow");
    assert!(harness.take_submits().is_empty());
    assert!(harness.client.pending().next().expect("it waits").status.waits_for_data);
    harness.load(20, &[]);
    assert!(matches!(&harness.take_submits()[0].decision, Decision::Commit(writes) if writes.len() == 1));
}

#[test]
fn a_closure_that_goes_on_after_it_was_stopped_has_all_that_it_misses_fetched_at_once() {
    let mut harness = holding_a_note();
    harness.mutator("delete many", |tx| {
        let deleted: Vec<_> = (10..100).map(|id| tx.delete(notes(), &key(id))).collect();
        Ok(deleted.into_iter().collect::<Result<(), _>>()?)
    });
    let counter = harness.mutate("delete many");
    assert_eq!(harness.take_subscribed(false).len(), 90);
    assert!(harness.take_submits().is_empty());
    assert!(matches!(harness.last_status(counter), MutationStatus::Pending(_)));
}

#[test]
fn a_closure_runs_again_only_when_all_that_it_missed_is_there() {
    let mut harness = Harness::new();
    harness.mutator("both", |tx| {
        let rows = (tx.row(notes(), &key(1)), tx.row(notes(), &key(2)));
        rows.0.and(rows.1).map(drop).map_err(Stop::from)
    });
    harness.connect();
    let both = harness.mutate("both");
    assert_eq!(harness.runs_of(RunOf::Mutation(both)), 1);
    let asked = harness.take_subscribed(false);
    assert_eq!(asked.len(), 2);
    for (to, (subscription, _)) in (10..).zip(asked) {
        assert_eq!(harness.runs_of(RunOf::Mutation(both)), 0);
        let snapshots = vec![Snapshot { subscription, rows: vec![], reaches: None }];
        harness.advance(Advance { to: at(to), snapshots, ..Advance::default() });
    }
    assert_eq!(harness.runs_of(RunOf::Mutation(both)), 1);
}

#[test]
fn a_closure_that_never_stops_missing_is_given_up() {
    let mut harness = holding_a_note();
    let next = Rc::new(RefCell::new(100));
    harness.mutator("restless", move |tx| {
        *next.borrow_mut() += 1;
        let id = *next.borrow();
        tx.row(notes(), &key(id)).map(drop).map_err(Stop::from)
    });
    let counter = harness.mutate("restless");
    for round in 0..Client::MISSES_MAX {
        assert!(matches!(harness.last_status(counter), MutationStatus::Pending(_)), "round {round}");
        harness.load(20 + u64::from(round), &[]);
    }
    assert!(
        matches!(harness.last_status(counter), MutationStatus::Quarantined { reason } if reason.contains("again and again"))
    );
}
