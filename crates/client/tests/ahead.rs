//! Mutations that are sent ahead: what a commit, a conflict and a change by others mean for those behind.

mod harness;

use std::time::Duration;

use harness::{Harness, Stop, at, hit, hits, key, note, note_row, notes, title_put, titled};
use iolite_client::{MutationStatus, Pending};
use iolite_values::{Attempt, Cell, Decision, Operation, Value, Write};
use iolite_wire::message::{Advance, Outcome, Verdict};

/// One advance brings the commit of a mutation, and that somebody else deleted the row which it and the one behind it change.
#[test]
fn what_stands_on_a_row_that_goes_with_the_commit_before_it_runs_again() {
    let mut harness = Harness::new();
    harness.mutator("rename", |tx| Ok(tx.write(note(1, "title"), Operation::Put(Value::from("renamed")))?));
    harness.connect();
    let first = harness.mutate("rename");
    harness.load(10, &[(notes(), key(1), note_row("theirs", 0))]);
    let second = harness.mutate("rename");
    let outcome = Outcome { counter: first, attempt: Attempt(1), verdict: Verdict::Committed(at(20)) };
    let gone = Write { cell: Cell::row(notes(), key(1)), operation: Operation::Delete };
    harness.advance(Advance {
        to: at(21),
        changes: vec![title_put(1, "renamed"), gone],
        outcomes: vec![outcome],
        ..Advance::default()
    });
    let status = harness.last_status(second);
    assert!(matches!(status, MutationStatus::Pending(Pending { would_reject: Some(_), .. })), "{status:?}");
}

/// The run created a row of which nothing was known, and gave up: it writes nothing, and has to run again all the same.
#[test]
fn one_that_gave_up_and_conflicted_is_tried_again() {
    let mut harness = Harness::new();
    harness.mutator("order", |tx| {
        tx.insert(notes(), &key(1), titled("order"))?;
        tx.cell(&hits(1))?;
        Err(Stop::Abort("nothing is left"))
    });
    harness.connect();
    let order = harness.mutate("order");
    harness.load(10, &[]);
    assert!(matches!(harness.take_submits().remove(0).decision, Decision::Abort(_)));
    let outcome = Outcome { counter: order, attempt: Attempt(1), verdict: Verdict::Conflict(at(20)) };
    harness.advance(Advance { to: at(20), changes: vec![hit(1, 1)], outcomes: vec![outcome], ..Advance::default() });
    harness.pass(Duration::from_secs(1));
    harness.load(30, &[]);
    harness.pass(Duration::from_secs(1));
    assert_eq!(harness.take_submits().len(), 1, "its lane does not stand still");
}

#[test]
fn what_follows_a_conflict_keeps_the_row_that_it_made() {
    let mut harness = Harness::new();
    harness.mutator("add", |tx| {
        let id = i64::try_from(tx.random() >> 8).expect("56 bits");
        Ok(tx.insert(notes(), &key(id), titled("mine"))?)
    });
    harness.connect();
    let (first, second) = (harness.mutate("add"), harness.mutate("add"));
    assert_eq!(harness.take_submits().len(), 2);
    let conflict = |counter| Outcome { counter, attempt: Attempt(1), verdict: Verdict::Conflict(at(20)) };
    let outcomes = vec![conflict(first), conflict(second)];
    harness.advance(Advance { to: at(20), outcomes, ..Advance::default() });
    let waits = |harness: &Harness, counter| match harness.last_status(counter) {
        MutationStatus::Pending(pending) => pending.waits_for_data,
        other => panic!("{other:?}"),
    };
    assert!(waits(&harness, first), "it was tried, so what it assumed is asked for");
    assert!(!waits(&harness, second), "it was not tried");
}
