//! Peeks at the four views, and the differences between them: on what is held, at once, and without a trace.

mod harness;

use std::collections::BTreeMap;

use harness::tab::{Tab, exchange};
use harness::{Harness, Stop, at, config, key};
use iolite_client::{
    Client, Config, DifferenceError, Lack, Limits, NotHeld, Output, Part, PeekError, RunError, RunOf, Splice,
    Transaction, View,
};
use iolite_machine::Machine;
use iolite_values::{
    Attempt, Cell, CellState, ColumnId, Counter, Direction, Field, IndexRange, KeyRange, Operation, Query, Row,
    TableId, Value, Write,
};
use iolite_wire::message::{Advance, Outcome, Verdict};

const APP: &str = r#"{"tables":{
  "seats":{"columns":{"id":{"type":"int"},"by":{"type":"string","optional":true},"votes":{"type":"counter"}},
    "key":["id"],"delivered":true,"indexes":{"by":["by"]}},
  "notes":{"columns":{"id":{"type":"int"},"body":{"type":"text"},"votes":{"type":"counter"}},"key":["id"],"live":true}}}"#;

const VIEWS: [View; 4] = [View::Optimistic, View::Durable, View::Confirmed, View::Delivered];

fn seats() -> TableId {
    TableId::of("seats")
}

fn notes() -> TableId {
    TableId::of("notes")
}

fn cell(table: TableId, id: i64, column: &str) -> Cell {
    Cell { table, row: key(id), column: ColumnId::of(column) }
}

fn vote(id: i64) -> Write {
    Write { cell: cell(seats(), id, "votes"), operation: Operation::Add(1) }
}

fn seat(votes: i64) -> Row {
    let by = (ColumnId::of("by"), CellState::Scalar(Value::from("ann")));
    Row::from_parts(true, [(ColumnId::of("votes"), CellState::Counter(votes)), by])
}

/// Online, with seats 1 and 2 and note 1, which a reaction holds.
fn holding() -> Harness {
    let mut harness = Harness::with_schema(APP);
    harness.mutator("vote", |tx| Ok(tx.write(cell(seats(), 1, "votes"), Operation::Add(1))?));
    harness.mutator("note", |tx| Ok(tx.write(cell(notes(), 1, "votes"), Operation::Add(1))?));
    harness.mutator("nothing", |tx| Ok(tx.write(cell(seats(), 1, "by"), Operation::Put(Value::from("ann")))?));
    harness.mutator("zero", |tx| Ok(tx.write(cell(notes(), 1, "votes"), Operation::Add(0))?));
    harness.mutator("retype", |tx| {
        let text = cell(notes(), 1, "body");
        tx.splice(&text, &Splice { at: 0, removed: 0, inserted: "a" })?;
        Ok(tx.splice(&text, &Splice { at: 0, removed: 1, inserted: "" })?)
    });
    harness.mutator("swap", |tx| {
        tx.delete(seats(), &key(2))?;
        tx.insert(seats(), &key(3), BTreeMap::new())?;
        Ok(())
    });
    harness.mutator("type", |tx| {
        let text = cell(notes(), 1, "body");
        Ok(tx.splice(&text, &Splice { at: 0, removed: 0, inserted: "a" })?)
    });
    harness.connect();
    harness.react(View::Confirmed, |tx| {
        let seats = tx.range(seats(), &KeyRange::all(), None, false).map(drop);
        let notes = tx.range(notes(), &KeyRange::all(), None, false).map(drop);
        Ok(seats.and(notes)?)
    });
    harness.load(10, &[(seats(), key(1), seat(0)), (seats(), key(2), seat(5))]);
    harness.take_sent();
    harness
}

fn votes(tx: &mut Transaction<'_>, id: i64) -> Result<Option<i64>, RunError> {
    Ok(tx.row(seats(), &key(id))?.and_then(|row| match row.cell(ColumnId::of("votes")) {
        Some(CellState::Counter(votes)) => Some(*votes),
        _ => None,
    }))
}

/// The votes of seat 1 in each view.
fn seen(harness: &Harness) -> [Option<i64>; 4] {
    VIEWS.map(|view| harness.client.peek(view, |tx| votes(tx, 1)).expect("it is held"))
}

/// The gateway confirms a mutation with what it wrote.
fn confirm(harness: &mut Harness, counter: Counter, to: u64, changes: Vec<Write>) {
    let outcomes = vec![Outcome { counter, attempt: Attempt(1), verdict: Verdict::Committed(at(to)) }];
    harness.advance(Advance { to: at(to), changes, outcomes, ..Advance::default() });
}

fn deliver(harness: &mut Harness, to: u64) {
    harness.advance(Advance { to: at(to), delivered: Some(at(to)), ..Advance::default() });
}

fn difference(harness: &Harness, a: View, b: View) -> Vec<String> {
    let found = harness.client.difference(a, b, Some("seats")).expect("it is held");
    found.into_iter().map(|each| format!("{} {:?} {}", each.table, each.key, each.column)).collect()
}

#[test]
fn each_view_shows_a_change_when_it_has_come_so_far() {
    let mut harness = holding();
    harness.stores = false;
    let mut numbers = vec![harness.client.views_number()];
    let counter = harness.mutate("vote");
    numbers.push(harness.client.views_number());
    assert_eq!(seen(&harness), [Some(1), Some(0), Some(0), Some(0)], "called");
    harness.store();
    numbers.push(harness.client.views_number());
    assert_eq!(seen(&harness), [Some(1), Some(1), Some(0), Some(0)], "stored");
    confirm(&mut harness, counter, 20, vec![vote(1)]);
    numbers.push(harness.client.views_number());
    assert_eq!(seen(&harness), [Some(1), Some(1), Some(1), Some(0)], "confirmed");
    deliver(&mut harness, 30);
    numbers.push(harness.client.views_number());
    assert_eq!(seen(&harness), [Some(1); 4], "delivered");
    assert!(numbers.is_sorted_by(|a, b| a < b), "each is told: {numbers:?}");
}

#[test]
fn a_peek_leaves_no_trace() {
    let mut harness = holding();
    harness.mutate("vote");
    harness.take_sent();
    harness.runs.clear();
    let (stored, number) = (harness.storage.clone(), harness.client.views_number());
    for view in VIEWS {
        harness.client.peek(view, |tx| votes(tx, 1)).expect("it is held");
        let missing: Result<_, PeekError<RunError>> =
            harness.client.peek(view, |tx| tx.row(TableId::of("gone"), &key(1)));
        missing.expect_err("there is no such table");
        harness.client.difference(View::Optimistic, view, None).expect("it is held");
    }
    // Of a table of which nothing is held, in another client.
    let mut empty = Harness::with_schema(APP);
    empty.connect();
    empty.take_sent();
    empty.client.peek(View::Confirmed, |tx| votes(tx, 1)).expect_err("it is not held");
    for harness in [&mut harness, &mut empty] {
        harness.settle();
        assert_eq!((harness.take_sent(), std::mem::take(&mut harness.runs)), (vec![], vec![]));
    }
    assert_eq!((stored, number), (harness.storage.clone(), harness.client.views_number()));
}

#[test]
fn a_peek_reads_more_rows_than_a_transaction_may() {
    let harness = holding();
    let counted =
        harness.client.peek(View::Confirmed, |tx| (0..3_000).map(|id| votes(tx, id)).collect::<Result<Vec<_>, _>>());
    assert_eq!(counted.expect("nothing is noted").len(), 3_000);
}

fn lack(error: PeekError<RunError>) -> (Part, View, Lack) {
    match error {
        PeekError::NotHeld(NotHeld { table, part, view, why }) => {
            assert_eq!(table, "seats");
            (part, view, why)
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_is_not_held_is_named() {
    let mut harness = Harness::with_schema(APP);
    harness.connect();
    let of = |read: &dyn Fn(&mut Transaction<'_>) -> Result<(), RunError>| {
        lack(harness.client.peek(View::Confirmed, |tx| read(tx)).expect_err("it is not held"))
    };
    let (row, all) = (Part::Row(key(7)), Part::Range(KeyRange::all()));
    assert_eq!(of(&|tx| votes(tx, 7).map(drop)), (row.clone(), View::Confirmed, Lack::NotLoaded));
    assert_eq!(of(&|tx| tx.exists(seats(), &key(7)).map(drop)).0, row);
    assert_eq!(of(&|tx| tx.range(seats(), &KeyRange::all(), None, false).map(drop)).0, all);
    let by = Field::Cell { column: ColumnId::of("by"), absent: Value::Null };
    let range = IndexRange::new(&[Value::from("ann")], std::ops::Bound::Unbounded, std::ops::Bound::Unbounded).range;
    let query = Query { index: vec![by], range, ..Query::all(seats(), false) };
    assert_eq!(of(&|tx| tx.query(&query, Direction::Ascending, None).map(drop)).0, Part::Query);
    // Whatever the closure does with the signal.
    assert_eq!(
        of(&|tx| {
            let _ = votes(tx, 7);
            Ok(())
        })
        .0,
        row
    );
    let error = harness.client.peek(View::Confirmed, |tx| votes(tx, 7)).expect_err("it is not held");
    let text = "row [7] of table \"seats\" is not held in the view confirmed: keep it on this device with a reaction or a pin, \
        and look again once that has its data";
    assert_eq!(error.to_string(), text);
}

#[test]
fn what_came_after_the_delivered_state_is_not_held_there() {
    let mut harness = Harness::with_schema(APP);
    harness.mutator("vote", |tx| Ok(tx.write(cell(seats(), 1, "votes"), Operation::Add(1))?));
    harness.connect();
    harness.react(View::Confirmed, |tx| Ok(tx.row(seats(), &key(1)).map(drop)?));
    harness.load(10, &[(seats(), key(1), seat(0))]);
    let counter = harness.mutate("vote");
    confirm(&mut harness, counter, 20, vec![vote(1)]);
    harness.react(View::Confirmed, |tx| Ok(tx.row(seats(), &key(2)).map(drop)?));
    harness.load(30, &[(seats(), key(2), seat(5))]);
    assert_eq!(harness.client.peek(View::Confirmed, |tx| votes(tx, 2)).expect("it is held"), Some(5));
    let later = harness.client.peek(View::Delivered, |tx| votes(tx, 2)).expect_err("it came later");
    assert_eq!(lack(later), (Part::Row(key(2)), View::Delivered, Lack::CameLater));
    let compared = harness.client.difference(View::Confirmed, View::Delivered, None).expect_err("it came later");
    assert!(matches!(compared, DifferenceError::NotHeld(NotHeld { why: Lack::CameLater, .. })), "{compared:?}");
    deliver(&mut harness, 40);
    assert_eq!(harness.client.peek(View::Delivered, |tx| votes(tx, 2)).expect("it is held"), Some(5));
    assert_eq!(difference(&harness, View::Confirmed, View::Delivered), [""; 0]);
}

#[test]
fn after_a_restart_the_delivered_view_says_that_it_does_not_know() {
    let mut harness = holding();
    let counter = harness.mutate("vote");
    confirm(&mut harness, counter, 20, vec![vote(1)]);
    let harness = Harness::on_with_schema(harness.storage, APP);
    let unknown = harness.client.peek(View::Delivered, |tx| votes(tx, 1)).expect_err("it is not known");
    assert_eq!(lack(unknown).2, Lack::NotKnown);
}

#[test]
fn a_peek_cannot_write_and_cannot_begin_while_a_closure_runs() {
    let mut harness = holding();
    let writes = harness.client.peek(View::Optimistic, |tx| tx.write(cell(seats(), 1, "votes"), Operation::Add(1)));
    assert_eq!(writes, Err(PeekError::Closure(RunError::ReadOnly)));
    let inserts = harness.client.peek(View::Optimistic, |tx| tx.insert(seats(), &key(9), BTreeMap::new()));
    assert_eq!(inserts, Err(PeekError::Closure(RunError::ReadOnly)));
    let counter = harness.client.mutate(harness.now.wall, "vote", "{}").expect("there is room");
    while !matches!(harness.client.poll(), Some(Output::Run(_)) | None) {}
    let nested: Result<(), PeekError<RunError>> = harness.client.peek(View::Optimistic, |_| Ok(()));
    assert_eq!(nested, Err(PeekError::Nested));
    let run = harness.client.begin(RunOf::Mutation(counter));
    assert!(harness.client.begin_peek(View::Optimistic).is_none());
    harness.client.finish(run, iolite_client::Closed::Returned);
    harness.settle();
    assert!(harness.client.begin_peek(View::Optimistic).is_some());
}

#[test]
fn nothing_differs_while_nothing_is_pending_or_undelivered() {
    let mut harness = holding();
    let none = |harness: &Harness| {
        VIEWS
            .iter()
            .all(|a| VIEWS.iter().all(|b| harness.client.difference(*a, *b, None).expect("it is held").is_empty()))
    };
    assert!(none(&harness));
    harness.mutate("nothing");
    harness.mutate("zero");
    harness.mutate("retype");
    assert!(none(&harness), "what is written is what was there");
}

#[test]
fn a_change_differs_between_the_views_it_has_reached_and_the_others() {
    let mut harness = holding();
    harness.stores = false;
    let counter = harness.mutate("vote");
    let votes = ["seats [1] votes"];
    assert_eq!(difference(&harness, View::Optimistic, View::Durable), votes);
    harness.store();
    assert_eq!(difference(&harness, View::Optimistic, View::Durable), [""; 0]);
    assert_eq!(difference(&harness, View::Durable, View::Confirmed), votes);
    confirm(&mut harness, counter, 20, vec![vote(1)]);
    assert_eq!(difference(&harness, View::Optimistic, View::Confirmed), [""; 0]);
    assert_eq!(difference(&harness, View::Optimistic, View::Delivered), votes);
    assert_eq!(difference(&harness, View::Delivered, View::Confirmed), votes);
    deliver(&mut harness, 30);
    assert_eq!(difference(&harness, View::Optimistic, View::Delivered), [""; 0]);
}

#[test]
fn each_column_of_a_row_that_one_view_lacks_differs() {
    let mut harness = holding();
    let counter = harness.mutate("swap");
    let swapped =
        ["seats [2] by", "seats [2] id", "seats [2] votes", "seats [3] by", "seats [3] id", "seats [3] votes"];
    assert_eq!(difference(&harness, View::Optimistic, View::Confirmed), swapped);
    let (gone, made) = (Cell::row(seats(), key(2)), Cell::row(seats(), key(3)));
    let changes =
        vec![Write { cell: gone, operation: Operation::Delete }, Write { cell: made, operation: Operation::Create }];
    confirm(&mut harness, counter, 20, changes);
    assert_eq!(difference(&harness, View::Confirmed, View::Delivered), swapped);
    deliver(&mut harness, 30);
    assert_eq!(difference(&harness, View::Confirmed, View::Delivered), [""; 0]);
}

#[test]
fn a_table_is_chosen_by_its_name() {
    let mut harness = holding();
    harness.mutate("vote");
    harness.mutate("note");
    harness.mutate("type");
    let of = |a, b, table| {
        let found = harness.client.difference(a, b, table)?;
        Ok::<_, DifferenceError>(
            found.into_iter().map(|each| format!("{}.{}", each.table, each.column)).collect::<Vec<_>>(),
        )
    };
    let (now, confirmed) = (View::Optimistic, View::Confirmed);
    assert_eq!(of(now, confirmed, None), Ok(vec!["notes.body".into(), "notes.votes".into(), "seats.votes".into()]));
    assert_eq!(of(now, confirmed, Some("seats")), Ok(vec!["seats.votes".into()]));
    assert_eq!(of(now, View::Delivered, None), Ok(vec!["seats.votes".into()]), "of tables that say `delivered`");
    let notes = of(now, View::Delivered, Some("notes")).expect_err("it does not say `delivered`");
    assert!(notes.to_string().contains("does not say `delivered`"), "{notes}");
    assert_eq!(of(now, confirmed, Some("chairs")), Err(DifferenceError::NoTable { table: "chairs".into() }));
}

/// Only what is held now can be compared with what was.
#[test]
fn what_was_given_up_since_the_delivered_state_does_not_differ() {
    let limits = Limits { idle_interests_max: 0, ..Limits::default() };
    let mut harness = Harness::with_schema(APP);
    let config = Config { schema: harness.client.schema().clone(), limits, ..config("ann") };
    harness.client = Client::open(config, Vec::new(), harness.now).expect("nothing is there");
    harness.mutator("vote", |tx| Ok(tx.write(cell(seats(), 1, "votes"), Operation::Add(1))?));
    harness.connect();
    harness.react(View::Confirmed, |tx| Ok(tx.row(seats(), &key(1)).map(drop)?));
    let other = harness.react(View::Confirmed, |tx| Ok(tx.row(seats(), &key(2)).map(drop)?));
    harness.load(10, &[(seats(), key(1), seat(0)), (seats(), key(2), seat(5))]);
    let counter = harness.mutate("vote");
    confirm(&mut harness, counter, 20, vec![vote(1)]);
    harness.client.stop(other);
    harness.settle();
    let gone = harness.client.peek(View::Confirmed, |tx| votes(tx, 2)).expect_err("it was given up");
    assert_eq!(lack(gone).2, Lack::NotLoaded);
    assert_eq!(difference(&harness, View::Confirmed, View::Delivered), ["seats [1] votes"]);
}

#[test]
fn a_tab_that_follows_looks_at_what_its_mirror_holds() {
    let mut harness = holding();
    let mut tabs = [Tab::with_schema(1, harness.now, APP)];
    exchange(&mut harness, &mut tabs);
    let read = |tab: &Tab, view| {
        let mut peek = tab.follower.begin_peek(view).expect("no closure runs");
        let votes = votes(&mut tab.follower.peek_transaction(&mut peek), 1);
        tab.follower.end_peek(peek).map(|()| votes.expect("it is held"))
    };
    assert_eq!(read(&tabs[0], View::Optimistic).map_err(|error| error.why), Err(Lack::NotLoaded));
    tabs[0].react(View::Confirmed, |tx| votes(tx, 1).map(drop).map_err(Stop::from));
    exchange(&mut harness, &mut tabs);
    harness.mutate("vote");
    exchange(&mut harness, &mut tabs);
    let [tab] = &tabs;
    assert_eq!(
        [View::Optimistic, View::Durable, View::Confirmed].map(|view| read(tab, view)),
        [Ok(Some(1)), Ok(Some(1)), Ok(Some(0))]
    );
    assert_eq!(read(tab, View::Delivered).map_err(|error| error.why), Err(Lack::Follows));
    let found = tab.follower.difference(View::Optimistic, View::Confirmed, None).expect("it is held");
    assert_eq!(found.iter().map(|each| &*each.column).collect::<Vec<_>>(), ["votes"]);
    let of_delivered = tab.follower.difference(View::Optimistic, View::Delivered, None).expect_err("it has none");
    assert!(matches!(of_delivered, DifferenceError::NotHeld(NotHeld { why: Lack::Follows, .. })), "{of_delivered:?}");
}
