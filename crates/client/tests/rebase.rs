//! Pending mutations on a confirmed state that moves below them.

mod harness;

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use harness::{Harness, Stop, at, config, hit, hits, key, note, note_row, notes, title_put};
use iolite_client::{Client, Config, Limits, RunOf, Transaction, View};
use iolite_values::{Cell, CellState, ColumnId, Decision, Element, Operation, Read, Value, Write};
use iolite_wire::message::{Advance, FromClient, Verdict};

fn count(tx: &mut Transaction<'_>, id: i64) -> Result<i64, Stop> {
    Ok(match tx.cell(&hits(id))? {
        Some(CellState::Counter(count)) => count,
        _ => 0,
    })
}

/// Knows a mutator `copy`, which adds counter 1 to counter 2, and one `hit`, which adds 1 to counter 1. Holds both counters and note 1.
fn copying() -> (Harness, Rc<RefCell<Vec<i64>>>) {
    let mut harness = Harness::new();
    harness.mutator("hit", |tx| Ok(tx.write(hits(1), Operation::Add(1))?));
    harness.mutator("copy", |tx| {
        let seen = count(tx, 1)?;
        Ok(tx.write(hits(2), Operation::Add(seen))?)
    });
    harness.connect();
    let shown = Rc::new(RefCell::new(Vec::new()));
    let log = shown.clone();
    harness.react(View::Optimistic, move |tx| {
        let (_, _, copied) = (tx.row(notes(), &key(1)), count(tx, 1), count(tx, 2)?);
        log.borrow_mut().push(copied);
        Ok(())
    });
    harness.load(10, &[(notes(), key(1), note_row("a", 0))]);
    shown.borrow_mut().clear();
    (harness, shown)
}

#[test]
fn a_mutation_that_waits_for_data_again_takes_its_writes_back_from_those_behind_it() {
    let (mut harness, shown) = copying();
    harness.mutator("hit if known", |tx| {
        let row = tx.row(notes(), &key(1))?;
        if row.as_ref() == Some(&note_row("b", 0)) {
            tx.row(notes(), &key(2))?;
        }
        Ok(tx.write(hits(1), Operation::Add(1))?)
    });
    harness.mutate("hit if known");
    harness.mutate("copy");
    assert_eq!(*shown.borrow(), [0, 1]);
    harness.advance(Advance { to: at(20), changes: vec![title_put(1, "b")], ..Advance::default() });
    assert_eq!(shown.borrow().last(), Some(&0), "the first one has no effect until note 2 is there");
    harness.load(30, &[]);
    assert_eq!(shown.borrow().last(), Some(&1));
}

#[test]
fn a_mutation_that_is_confirmed_as_it_ran_changes_nothing_for_those_behind_it() {
    let (mut harness, shown) = copying();
    let (first, second) = (harness.mutate("hit"), harness.mutate("copy"));
    harness.runs.clear();
    harness.decide(first, 1, 20, vec![hit(1, 1)], Verdict::Committed(at(20)));
    assert_eq!(harness.runs_of(RunOf::Mutation(second)), 0);
    assert_eq!(shown.borrow().last(), Some(&1));
    assert_eq!(harness.take_submits().last().map(|submit| submit.counter), Some(second));
}

#[test]
fn a_mutation_that_is_confirmed_with_a_change_of_others_runs_those_behind_it_again() {
    let (mut harness, shown) = copying();
    let (first, second) = (harness.mutate("hit"), harness.mutate("copy"));
    harness.runs.clear();
    harness.decide(first, 1, 20, vec![hit(1, 1), hit(1, 5)], Verdict::Committed(at(20)));
    assert_eq!(harness.runs_of(RunOf::Mutation(second)), 1);
    assert_eq!(shown.borrow().last(), Some(&6));
}

#[test]
fn a_change_that_only_looks_like_the_first_mutation_is_put_below_it() {
    let (mut harness, shown) = copying();
    let (first, second) = (harness.mutate("hit"), harness.mutate("copy"));
    harness.runs.clear();
    harness.decide(first, 1, 20, vec![hit(1, 1)], Verdict::Conflict(at(20)));
    assert_eq!(harness.runs_of(RunOf::Mutation(second)), 1, "the first one is pending still");
    assert_eq!(shown.borrow().last(), Some(&2));
}

#[test]
fn a_row_that_only_confirmed_mutations_wrote_moves_with_the_confirmed_state() {
    let (mut harness, shown) = copying();
    let (first, _) = (harness.mutate("hit"), harness.mutate("copy"));
    harness.decide(first, 1, 20, vec![hit(1, 1)], Verdict::Committed(at(20)));
    harness.advance(Advance { to: at(30), changes: vec![hit(1, 10)], ..Advance::default() });
    assert_eq!(shown.borrow().last(), Some(&11));
}

#[test]
fn a_mutation_that_reads_what_it_wrote_runs_again_only_for_changes_of_others() {
    let (mut harness, _) = copying();
    let votes = |tx: &mut Transaction<'_>| {
        tx.write(note(1, "votes"), Operation::Add(1))?;
        tx.cell(&note(1, "votes")).map(drop).map_err(Stop::from)
    };
    harness.mutator("vote", votes);
    let vote = harness.mutate("vote");
    harness.runs.clear();
    harness.advance(Advance { to: at(20), changes: vec![title_put(1, "b")], ..Advance::default() });
    assert_eq!(harness.runs_of(RunOf::Mutation(vote)), 0, "the votes below it are as they were");
    let others = Write { cell: note(1, "votes"), operation: Operation::Add(1) };
    harness.advance(Advance { to: at(30), changes: vec![others], ..Advance::default() });
    assert_eq!(harness.runs_of(RunOf::Mutation(vote)), 1);
}

#[test]
fn a_mutation_reads_of_a_row_that_it_makes_only_that_there_is_none() {
    let (mut harness, _) = copying();
    harness.react(View::Confirmed, |tx| tx.exists(notes(), &key(9)).map(drop).map_err(Stop::from));
    harness.load(20, &[]);
    harness.mutator("make", |tx| {
        let content = [("title", vec![Operation::Put(Value::from("new"))]), ("votes", vec![])];
        let content = content.map(|(column, operations)| (ColumnId::of(column), operations));
        tx.insert(notes(), &key(9), content.into())?;
        tx.write(note(9, "votes"), Operation::Add(1))?;
        tx.cell(&note(9, "title"))?;
        assert_eq!(tx.row(notes(), &key(9))?, Some(note_row("new", 1)));
        Ok(())
    });
    harness.mutate("make");
    assert_eq!(harness.take_subscribed(false).len(), 0);
    let life = Read::Cell { cell: Cell::row(notes(), key(9)), element: Element::Whole };
    let reads: Vec<_> = harness.take_submits().into_iter().map(|submit| submit.reads).collect();
    assert_eq!(reads, [vec![life]]);
}

#[test]
fn an_attempt_that_conflicts_is_followed_by_another_after_a_pause() {
    let (mut harness, _) = copying();
    let counter = harness.mutate("copy");
    harness.take_submits();
    harness.decide(counter, 1, 20, vec![hit(1, 7)], Verdict::Conflict(at(20)));
    assert!(harness.take_submits().is_empty(), "whoever conflicted with it is not to meet it again at once");
    harness.pass(Duration::from_micros(500));
    let submits = harness.take_submits();
    assert_eq!((submits.len(), submits[0].snapshot), (1, at(20)));
    harness.decide(counter, 2, 30, vec![hit(2, 7)], Verdict::Committed(at(30)));
    harness.mutate("copy");
    assert_eq!(harness.take_submits().len(), 1, "what follows does not wait");
}

#[test]
fn a_pause_is_over_when_its_time_is_although_the_timer_comes_late() {
    let (mut harness, _) = copying();
    let counter = harness.mutate("copy");
    harness.take_submits();
    harness.decide(counter, 1, 20, vec![hit(1, 7)], Verdict::Conflict(at(20)));
    harness.now.instant = harness.now.instant + Duration::from_secs(5);
    harness.advance(Advance { to: at(30), ..Advance::default() });
    assert_eq!(harness.take_submits().len(), 1);
}

#[test]
fn a_mutation_that_looked_for_a_row_learns_of_it_although_whoever_held_the_row_is_gone() {
    let mut harness = Harness::new();
    let limits = Limits { idle_interests_max: 0, ..Limits::default() };
    let config = Config { limits, ..config("ann") };
    harness.client = Client::open(config, Vec::new(), harness.now).expect("nothing is there");
    harness.mutator("claim", |tx| match tx.exists(notes(), &key(1))? {
        true => Err(Stop::Abort("taken")),
        false => Ok(tx.write(hits(1), Operation::Add(1))?),
    });
    harness.connect();
    let reaction = harness.react(View::Confirmed, |tx| tx.cell(&note(1, "title")).map(drop).map_err(Stop::from));
    harness.load(10, &[]);
    // The life of a row comes with any cell of it.
    let claim = harness.mutate("claim");
    assert!(harness.client.stop(reaction));
    harness.advance(Advance { to: at(20), ..Advance::default() });
    let unsubscribed = |message: &FromClient| matches!(message, FromClient::Unsubscribe(_));
    assert!(!harness.sent.iter().any(unsubscribed), "the mutation stands on it");
    let first = harness.take_submits().pop().expect("it was sent");
    let create = Write { cell: Cell::row(notes(), key(1)), operation: Operation::Create };
    harness.decide(claim, first.attempt.0, 30, vec![create], Verdict::Conflict(at(30)));
    harness.pass(std::time::Duration::from_secs(1));
    let again = harness.take_submits().pop().expect("it was sent again");
    assert_eq!(again.decision, Decision::Abort("taken".into()));
}
