//! Rows that go out of their user's sight: they leave every view, every tab and the disk at once, whatever they hold.

mod harness;

use std::ops::Bound;

use harness::tab::{Tab, exchange};
use harness::{Harness, Stop, at, key, note_row, notes, title_put};
use iolite_client::{Transaction, View};
use iolite_machine::Machine;
use iolite_values::{
    Attempt, Counter, Direction, Field, Id, IndexRange, KeyRange, Operation, Query, Row, RowKey, TableId, Value, Write,
};
use iolite_wire::message::{Advance, FromClient, GoneRow, Outcome, RowSnapshot, Snapshot, SubscriptionId, Verdict};

const SECRET: &str = "nobody else may see this";

fn gone(table: TableId, id: i64) -> Vec<GoneRow> {
    vec![GoneRow { table, key: key(id) }]
}

fn of_range(tx: &mut Transaction<'_>) -> Result<Vec<RowKey>, Stop> {
    Ok(tx.range(notes(), &KeyRange::all(), None, false)?.into_iter().map(|(key, _)| key).collect())
}

fn all_notes() -> Query {
    Query::all(notes(), false)
}

fn of_query(tx: &mut Transaction<'_>) -> Result<Vec<RowKey>, Stop> {
    Ok(tx.query(&all_notes(), Direction::Ascending, None)?.into_iter().map(|(key, _)| key).collect())
}

fn is_on_disk(harness: &Harness) -> bool {
    harness.storage.values().any(|value| value.windows(SECRET.len()).any(|part| part == SECRET.as_bytes()))
}

/// All that a reaction saw.
type Seen<T> = std::rc::Rc<std::cell::RefCell<Vec<T>>>;

fn watch<T: 'static>(
    harness: &mut Harness,
    view: View,
    read: impl Fn(&mut Transaction<'_>) -> Result<T, Stop> + 'static,
) -> Seen<T> {
    let seen = Seen::default();
    let log = seen.clone();
    harness.react(view, move |tx| {
        let value = read(tx)?;
        log.borrow_mut().push(value);
        Ok(())
    });
    seen
}

fn last<T: Clone>(seen: &Seen<T>) -> T {
    seen.borrow().last().cloned().expect("it ran")
}

#[test]
fn a_row_that_is_gone_leaves_ranges_queries_and_the_disk() {
    for read in [of_range, of_query] {
        let mut harness = Harness::new();
        harness.connect();
        let seen = watch(&mut harness, View::Optimistic, read);
        harness.load(10, &[(notes(), key(1), note_row(SECRET, 1)), (notes(), key(2), note_row("open", 1))]);
        assert_eq!(last(&seen), [key(1), key(2)]);
        assert!(is_on_disk(&harness));
        harness.advance(Advance { to: at(20), gone: gone(notes(), 1), ..Advance::default() });
        assert_eq!(last(&seen), [key(2)]);
        assert!(!is_on_disk(&harness), "the disk keeps nothing of it");
        harness.client.validate();
        assert!(harness.take_subscribed(false).is_empty(), "what is followed stays followed");
        let mut again = harness.reopened();
        assert_eq!(last(&watch(&mut again, View::Optimistic, read)), [key(2)]);
    }
}

/// The digest of rights in the hello of a client that gets a link.
fn says(harness: &mut Harness) -> Option<Id> {
    harness.take_sent();
    harness.link();
    let sent = harness.take_sent();
    let [FromClient::Hello(hello)] = &sent[..] else { panic!("it says hello: {sent:?}") };
    hello.resume.expect("it holds something").rights
}

#[test]
fn a_client_comes_back_with_the_digest_of_rights_by_which_it_holds_its_rows() {
    let (first, second) = (Some(Id::from_u128(7)), Some(Id::from_u128(8)));
    let mut harness = Harness::new();
    harness.connect();
    watch(&mut harness, View::Confirmed, of_range);
    harness.load(10, &[(notes(), key(1), note_row("open", 1))]);
    harness.advance(Advance { to: at(20), rights: first, more: true, ..Advance::default() });
    harness.disconnect();
    assert_eq!(says(&mut harness), None, "an advance that is not whole tells nothing");
    harness.welcome(1);
    harness.advance(Advance { to: at(20), rights: first, ..Advance::default() });
    harness.advance(Advance { to: at(30), gone: gone(notes(), 1), ..Advance::default() });
    let mut again = harness.reopened();
    assert_eq!(says(&mut again), first, "the disk keeps it");
    again.welcome(1);
    again.advance(Advance { to: at(40), rights: second, ..Advance::default() });
    again.disconnect();
    assert_eq!(says(&mut again), second);
    again.welcome(2);
    again.disconnect();
    assert_eq!(says(&mut again), None, "of another history nothing is held");
}

#[test]
fn a_cell_of_it_reads_as_one_of_a_row_that_is_not_there() {
    let mut harness = Harness::new();
    harness.connect();
    let seen = watch(&mut harness, View::Optimistic, |tx| Ok(tx.row(notes(), &key(1))?.is_some()));
    harness.load(10, &[(notes(), key(1), note_row(SECRET, 1))]);
    assert!(last(&seen));
    harness.advance(Advance { to: at(20), gone: gone(notes(), 1), ..Advance::default() });
    assert!(!last(&seen));
    harness.client.validate();
}

#[test]
fn one_that_comes_back_in_sight_is_there_again() {
    let mut harness = Harness::new();
    harness.connect();
    let (range, query) =
        (watch(&mut harness, View::Optimistic, of_range), watch(&mut harness, View::Optimistic, of_query));
    harness.load(10, &[(notes(), key(1), note_row(SECRET, 1))]);
    harness.advance(Advance { to: at(20), gone: gone(notes(), 1), ..Advance::default() });
    let row = iolite_wire::message::RowSnapshot { table: notes(), key: key(1), row: note_row("news", 1) };
    harness.advance(Advance { to: at(30), entered: vec![row], ..Advance::default() });
    assert_eq!((last(&range), last(&query)), (vec![key(1)], vec![key(1)]));
    harness.client.validate();
}

#[test]
fn tabs_that_follow_lose_it_too() {
    let mut leader = Harness::new();
    leader.connect();
    let mut tabs = [Tab::new(1, leader.now)];
    let seen = tabs[0].watch(View::Optimistic, of_range);
    exchange(&mut leader, &mut tabs);
    leader.load(10, &[(notes(), key(1), note_row(SECRET, 1)), (notes(), key(2), note_row("open", 1))]);
    exchange(&mut leader, &mut tabs);
    assert_eq!(last(&seen), [key(1), key(2)]);
    leader.advance(Advance { to: at(20), gone: gone(notes(), 1), ..Advance::default() });
    exchange(&mut leader, &mut tabs);
    assert_eq!(last(&seen), [key(2)]);
}

#[test]
fn a_pending_mutation_on_it_runs_again_without_it() {
    let mut harness = Harness::new();
    harness.mutator("retitle", |tx| match tx.row(notes(), &key(1))? {
        Some(_) => Ok(tx.write(title_put(1, "mine").cell, title_put(1, "mine").operation)?),
        None => Err(Stop::Abort("it is not there")),
    });
    harness.connect();
    let seen = watch(&mut harness, View::Optimistic, of_range);
    harness.load(10, &[(notes(), key(1), note_row(SECRET, 1))]);
    harness.mutate("retitle");
    harness.advance(Advance { to: at(20), gone: gone(notes(), 1), ..Advance::default() });
    assert_eq!(last(&seen), Vec::<RowKey>::new());
    assert!(!is_on_disk(&harness));
}

const SEATS: &str = r#"{"tables":{"seats":{"columns":{"id":{"type":"int"},"by":{"type":"string","optional":true},
    "votes":{"type":"counter"}},"key":["id"],"live":true,"delivered":true,"indexes":{"by":["by"]}}}}"#;

/// The delivered view shows rows as they were before the first own commit that is not delivered. It shows nothing of what has gone since.
#[test]
fn the_delivered_view_does_not_show_it_as_it_was() {
    seat_goes(|harness, _| {
        harness.advance(Advance { to: at(30), gone: gone(TableId::of("seats"), 2), ..Advance::default() });
    });
}

/// A membership that goes is told by all that its user may still see.
#[test]
fn the_delivered_view_does_not_show_what_other_rights_have_taken_away() {
    seat_goes(|harness, asked| {
        let row = |(table, key, row): &(TableId, RowKey, Row)| RowSnapshot {
            table: *table,
            key: key.clone(),
            row: row.clone(),
        };
        let rows: Vec<RowSnapshot> = [(TableId::of("seats"), key(1), seat(1))].iter().map(row).collect();
        let snapshots = asked.iter().map(|name| Snapshot { subscription: *name, rows: rows.clone(), reaches: None });
        let (snapshots, rights) = (snapshots.collect(), Some(Id::from_u128(8)));
        harness.advance(Advance { to: at(30), snapshots, rights, ..Advance::default() });
    });
}

/// A seat as Ann has it, after so many votes.
fn seat(votes: i64) -> Row {
    let column = |name: &str, state| (iolite_values::ColumnId::of(name), state);
    let by = column("by", iolite_values::CellState::Scalar(Value::from("ann")));
    Row::from_parts(false, [column("votes", iolite_values::CellState::Counter(votes)), by])
}

/// A vote is not delivered yet when the second seat goes out of sight. `goes` tells that, and gets the subscriptions.
fn seat_goes(goes: impl Fn(&mut Harness, &[SubscriptionId])) {
    let seats = TableId::of("seats");
    let mut harness = Harness::with_schema(SEATS);
    let votes =
        move |id: i64| iolite_values::Cell { table: seats, row: key(id), column: iolite_values::ColumnId::of("votes") };
    harness.mutator("vote", move |tx| Ok(tx.write(votes(1), Operation::Add(1))?));
    harness.connect();
    let seen = watch(&mut harness, View::Delivered, move |tx| {
        Ok(tx.range(seats, &KeyRange::all(), None, false)?.into_iter().map(|(key, _)| key).collect::<Vec<_>>())
    });
    let by = Field::Cell { column: iolite_values::ColumnId::of("by"), absent: Value::Null };
    let range = IndexRange::new(&[Value::from("ann")], Bound::Unbounded, Bound::Unbounded).range;
    let query = Query { index: vec![by], range, ..Query::all(seats, true) };
    let taken = watch(&mut harness, View::Delivered, move |tx| {
        Ok(tx.query(&query, Direction::Ascending, None)?.into_iter().map(|(key, _)| key).collect::<Vec<_>>())
    });
    let asked = harness.sent.iter().flat_map(|message| match message {
        FromClient::Subscribe(own) => own.interests.iter().map(|(name, _)| *name).collect(),
        _ => Vec::new(),
    });
    let asked: Vec<SubscriptionId> = asked.collect();
    harness.load(10, &[(seats, key(1), seat(0)), (seats, key(2), seat(0))]);
    let counter: Counter = harness.mutate("vote");
    let outcome = Outcome { counter, attempt: Attempt(1), verdict: Verdict::Committed(at(20)) };
    let changes = [1, 2].map(|id| Write { cell: votes(id), operation: Operation::Add(1) }).to_vec();
    harness.advance(Advance { to: at(20), changes, outcomes: vec![outcome], ..Advance::default() });
    assert_eq!(last(&seen), [key(1), key(2)], "it shows them as they were");
    goes(&mut harness, &asked);
    assert_eq!((last(&seen), last(&taken)), (vec![key(1)], vec![key(1)]));
    harness.client.validate();
    harness.advance(Advance { to: at(40), delivered: Some(at(40)), ..Advance::default() });
    assert_eq!((last(&seen), last(&taken)), (vec![key(1)], vec![key(1)]));
    harness.client.validate();
}
