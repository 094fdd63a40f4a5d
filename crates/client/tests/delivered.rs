//! The delivered view of a client: its own commits are taken off from the first one on that is not delivered.

mod harness;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::Bound;
use std::rc::Rc;

use harness::{Harness, at, key};
use iolite_client::{Output, ReactionTurn, View};
use iolite_values::{
    Attempt, Cell, CellState, ColumnId, Counter, Direction, Field, IndexRange, KeyRange, Operation, Query, Row, RowKey,
    TableId, Timestamp, Value, Write,
};
use iolite_wire::message::{Advance, FromClient, Outcome, Verdict};

const APP: &str = r#"{"tables":{"seats":{"columns":{"id":{"type":"int"},"by":{"type":"string","optional":true},
    "note":{"type":"string","optional":true},"votes":{"type":"counter"}},"key":["id"],"live":true,"delivered":true,"indexes":{"by":["by"]}}}}"#;

fn seats() -> TableId {
    TableId::of("seats")
}

fn cell(id: i64, column: &str) -> Cell {
    Cell { table: seats(), row: key(id), column: ColumnId::of(column) }
}

fn vote(id: i64, amount: i64) -> Write {
    Write { cell: cell(id, "votes"), operation: Operation::Add(amount) }
}

fn taken(id: i64, by: &str) -> Write {
    Write { cell: cell(id, "by"), operation: Operation::Put(Value::from(by)) }
}

fn row(votes: i64, by: &str) -> Row {
    let by = (ColumnId::of("by"), CellState::Scalar(Value::from(by)));
    Row::from_parts(false, [(ColumnId::of("votes"), CellState::Counter(votes)), by])
}

/// The votes of each row, at each run of a reaction.
type Seen = Rc<RefCell<Vec<BTreeMap<RowKey, i64>>>>;

fn votes_of(row: &Row) -> i64 {
    match row.cell(ColumnId::of("votes")) {
        Some(CellState::Counter(votes)) => *votes,
        _ => 0,
    }
}

fn watch(harness: &mut Harness, view: View) -> Seen {
    let seen = Seen::default();
    let log = seen.clone();
    harness.react(view, move |tx| {
        let rows = tx.range(seats(), &KeyRange::all(), None, false)?;
        log.borrow_mut().push(rows.iter().map(|(key, row)| (key.clone(), votes_of(row))).collect());
        Ok(())
    });
    seen
}

/// The rows that somebody has taken.
fn taken_by(who: &str) -> Query {
    let by = Field::Cell { column: ColumnId::of("by"), absent: Value::Null };
    let range = IndexRange::new(&[Value::from(who)], Bound::Unbounded, Bound::Unbounded).range;
    Query { index: vec![by], range, ..Query::all(seats(), true) }
}

fn watch_taken(harness: &mut Harness, view: View, who: &'static str) -> Rc<RefCell<Vec<Vec<RowKey>>>> {
    let seen = Rc::new(RefCell::new(Vec::new()));
    let log = seen.clone();
    harness.react(view, move |tx| {
        let rows = tx.query(&taken_by(who), Direction::Ascending, None)?;
        log.borrow_mut().push(rows.into_iter().map(|(key, _)| key).collect());
        Ok(())
    });
    seen
}

/// Online, with seat 1, which has no vote, and a mutation that gives it one.
fn voting() -> Harness {
    let mut harness = Harness::with_schema(APP);
    harness.mutator("vote", |tx| Ok(tx.write(cell(1, "votes"), Operation::Add(1))?));
    harness.connect();
    harness
}

fn loaded(view: View) -> (Harness, Seen) {
    let mut harness = voting();
    let seen = watch(&mut harness, view);
    harness.load(10, &[(seats(), key(1), row(0, "ann"))]);
    harness.take_sent();
    (harness, seen)
}

fn last(seen: &Seen, id: i64) -> Option<i64> {
    seen.borrow().last().and_then(|rows| rows.get(&key(id)).copied())
}

/// The gateway confirms a mutation, and says `delivered` if there is something to say.
fn confirm(harness: &mut Harness, counter: Counter, to: u64, delivered: Option<u64>) {
    confirm_beside(harness, counter, to, delivered, Vec::new());
}

/// The same, with changes of others.
fn confirm_beside(harness: &mut Harness, counter: Counter, to: u64, delivered: Option<u64>, others: Vec<Write>) {
    let outcome = Outcome { counter, attempt: Attempt(1), verdict: Verdict::Committed(at(to)) };
    let (changes, outcomes) = ([vec![vote(1, 1)], others].concat(), vec![outcome]);
    harness.advance(Advance { to: at(to), changes, outcomes, delivered: delivered.map(at), ..Advance::default() });
}

fn tell(harness: &mut Harness, to: u64, changes: Vec<Write>) {
    harness.advance(Advance { to: at(to), changes, ..Advance::default() });
}

fn delivered(harness: &mut Harness, to: u64, through: u64) {
    harness.advance(Advance { to: at(to), delivered: Some(at(through)), ..Advance::default() });
}

fn told_delivered(harness: &Harness) -> Vec<Counter> {
    let told = harness.other.iter().filter_map(|output| match output {
        Output::Delivered(counter) => Some(*counter),
        _ => None,
    });
    told.collect()
}

fn applied(harness: &mut Harness) -> Vec<Timestamp> {
    let said = harness.take_sent().into_iter().filter_map(|message| match message {
        FromClient::Applied(to) => Some(to),
        _ => None,
    });
    said.collect()
}

#[test]
fn an_own_change_and_what_comes_behind_it_are_not_there_before_it_is_delivered() {
    let (mut harness, seen) = loaded(View::Delivered);
    let counter = harness.mutate("vote");
    confirm(&mut harness, counter, 20, None);
    tell(&mut harness, 30, vec![vote(1, 10), vote(2, 5)]);
    assert_eq!((last(&seen, 1), last(&seen, 2)), (Some(0), None));
    assert_eq!(told_delivered(&harness), []);
    delivered(&mut harness, 40, 25);
    assert_eq!((last(&seen, 1), last(&seen, 2)), (Some(11), Some(5)));
    assert_eq!(told_delivered(&harness), [counter]);
    let states: Vec<Option<i64>> = seen.borrow().iter().map(|rows| rows.get(&key(1)).copied()).collect();
    assert_eq!(states, [Some(0), Some(11)], "it goes from one state to a later one, and never back");
}

#[test]
fn changes_of_others_are_there_at_once_while_all_own_ones_are_delivered() {
    let (mut harness, seen) = loaded(View::Delivered);
    tell(&mut harness, 20, vec![vote(1, 7)]);
    assert_eq!(last(&seen, 1), Some(7));
    let counter = harness.mutate("vote");
    confirm(&mut harness, counter, 30, Some(30));
    assert_eq!(last(&seen, 1), Some(8), "nobody else follows it");
    assert_eq!(told_delivered(&harness), [counter]);
}

#[test]
fn the_view_moves_on_to_the_next_own_commit_that_is_not_delivered() {
    let (mut harness, seen) = loaded(View::Delivered);
    let first = harness.mutate("vote");
    confirm(&mut harness, first, 20, None);
    tell(&mut harness, 30, vec![vote(1, 4), vote(1, 6)]);
    let second = harness.mutate("vote");
    confirm(&mut harness, second, 40, None);
    tell(&mut harness, 50, vec![vote(1, 100)]);
    assert_eq!(last(&seen, 1), Some(0));
    delivered(&mut harness, 60, 39);
    assert_eq!(last(&seen, 1), Some(11), "the state just before the second one");
    assert_eq!(told_delivered(&harness), [first]);
    delivered(&mut harness, 70, 70);
    assert_eq!(last(&seen, 1), Some(112));
    assert_eq!(told_delivered(&harness), [first, second]);
}

#[test]
fn a_row_that_left_a_query_is_an_answer_there_still_and_one_that_came_is_none() {
    let mut harness = voting();
    let now = watch_taken(&mut harness, View::Confirmed, "ann");
    harness.load(10, &[(seats(), key(1), row(0, "ann"))]);
    let then = watch_taken(&mut harness, View::Delivered, "ann");
    let counter = harness.mutate("vote");
    confirm(&mut harness, counter, 20, None);
    tell(&mut harness, 30, vec![taken(1, "bob")]);
    assert_eq!(*now.borrow().last().expect("it ran"), Vec::<RowKey>::new());
    assert_eq!(*then.borrow().last().expect("it ran"), [key(1)]);
    delivered(&mut harness, 40, 40);
    assert_eq!(*then.borrow().last().expect("it ran"), Vec::<RowKey>::new());
}

#[test]
fn what_is_loaded_later_is_not_held_in_this_view_until_the_commit_is_delivered() {
    let mut harness = voting();
    harness.react(View::Confirmed, |tx| {
        tx.cell(&cell(1, "votes"))?;
        Ok(())
    });
    harness.load(10, &[(seats(), key(1), row(0, "ann"))]);
    let counter = harness.mutate("vote");
    confirm(&mut harness, counter, 20, None);
    let then = watch_taken(&mut harness, View::Delivered, "ann");
    harness.load(30, &[(seats(), key(1), row(1, "ann"))]);
    assert_eq!(*then.borrow(), Vec::<Vec<RowKey>>::new(), "nobody can say what it answered then");
    delivered(&mut harness, 40, 40);
    assert_eq!(*then.borrow(), [vec![key(1)]]);
}

#[test]
fn after_a_restart_the_view_waits_until_all_is_known_to_be_delivered() {
    let (mut harness, _) = loaded(View::Confirmed);
    let counter = harness.mutate("vote");
    confirm(&mut harness, counter, 20, None);
    let mut harness = Harness::on_with_schema(harness.storage, APP);
    let seen = watch(&mut harness, View::Delivered);
    harness.connect();
    assert_eq!(last(&seen, 1), None);
    delivered(&mut harness, 30, 19);
    assert_eq!(last(&seen, 1), None, "the commit before the restart is not delivered");
    delivered(&mut harness, 40, 40);
    assert_eq!(last(&seen, 1), Some(1));
}

#[test]
fn what_is_owed_is_said_to_be_applied_once() {
    let (mut harness, _) = loaded(View::Confirmed);
    tell(&mut harness, 20, vec![vote(1, 1)]);
    assert_eq!(applied(&mut harness), [], "nobody waits for it");
    harness.advance(Advance { to: at(30), changes: vec![vote(1, 1)], is_owed: true, ..Advance::default() });
    assert_eq!(applied(&mut harness), [at(30)]);
    harness.advance(Advance { to: at(40), is_owed: true, ..Advance::default() });
    assert_eq!(applied(&mut harness), [at(40)], "whatever it brings");
}

#[test]
fn what_is_owed_is_said_to_be_applied_when_reactions_that_were_held_back_have_run() {
    let (mut harness, seen) = loaded(View::Confirmed);
    harness.client.set_reaction_turn(ReactionTurn::Waits);
    harness.advance(Advance { to: at(20), changes: vec![vote(1, 1)], is_owed: true, ..Advance::default() });
    assert_eq!((applied(&mut harness), last(&seen, 1)), (Vec::new(), Some(0)));
    harness.client.set_reaction_turn(ReactionTurn::All);
    harness.settle();
    assert_eq!((applied(&mut harness), last(&seen, 1)), (vec![at(20)], Some(1)));
}

#[test]
fn past_the_bound_the_view_moves_in_larger_strides() {
    let (mut harness, seen) = loaded(View::Delivered);
    let large =
        |letter: &str| Write { cell: cell(2, "note"), operation: Operation::Put(Value::from(letter.repeat(900_000))) };
    let first = harness.mutate("vote");
    confirm(&mut harness, first, 20, None);
    tell(&mut harness, 21, vec![large("a")]);
    for step in 0..20 {
        tell(&mut harness, 22 + step, vec![large("b"), vote(1, 1)]);
    }
    let second = harness.mutate("vote");
    confirm_beside(&mut harness, second, 50, None, vec![large("c")]);
    delivered(&mut harness, 60, 49);
    let between = last(&seen, 1).expect("it is there");
    assert!(between < 21, "it is at an earlier state than the one before the second commit: {between}");
    delivered(&mut harness, 70, 70);
    assert_eq!(last(&seen, 1), Some(22));
}

#[test]
fn a_commit_whose_outcome_is_told_twice_in_one_advance_is_delivered_once() {
    let (mut harness, _) = loaded(View::Delivered);
    let counter = harness.mutate("vote");
    let outcome = Outcome { counter, attempt: Attempt(1), verdict: Verdict::Committed(at(20)) };
    let (changes, outcomes) = (vec![vote(1, 1)], vec![outcome.clone(), outcome]);
    harness.advance(Advance { to: at(20), changes, outcomes, delivered: Some(at(20)), ..Advance::default() });
    assert_eq!(told_delivered(&harness), [counter]);
}
