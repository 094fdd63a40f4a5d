//! Interests as they are stored: whichever way one comes to be held, or ends, storage has it or not by the time all is stored.

mod harness;

use std::collections::BTreeSet;
use std::ops::Bound;
use std::sync::Arc;

use harness::tab::{Tab, exchange};
use harness::{Harness, SCHEMA, Stop, at, config, key, note_row, notes, title_put};
use iolite_client::{Client, Config, Input, Limits, ReactionId, Transaction, View};
use iolite_machine::Machine;
use iolite_values::{
    Cell, ColumnId, Direction, Field, IndexRange, Interest, KeyRange, Query, Row, RowKey, Schema, TableId, Value,
    Write, row_footprint,
};
use iolite_wire::client_storage::StoredInterest;
use iolite_wire::message::{Advance, Declination, Declined, Snapshot};

const STORED_INTEREST: u8 = b'i';

fn stored(harness: &Harness) -> Vec<Interest> {
    let entries = harness.storage.iter().filter(|(key, _)| key[0] == STORED_INTEREST);
    let mut stored: Vec<Interest> =
        entries.map(|(_, value)| StoredInterest::decode(value).expect("its own").interest).collect();
    stored.sort();
    stored
}

/// What a reader of a row is subscribed to.
fn of_row(id: i64) -> Interest {
    Interest::Range { table: notes(), range: KeyRange::one(&key(id)) }
}

fn rows(ids: impl IntoIterator<Item = i64>) -> Vec<Interest> {
    ids.into_iter().map(of_row).collect()
}

fn note(id: i64) -> (TableId, RowKey, Row) {
    (notes(), key(id), note_row("a title", 0))
}

fn reads(id: i64) -> impl Fn(&mut Transaction<'_>) -> Result<(), Stop> + 'static {
    move |tx| tx.row(notes(), &key(id)).map(drop).map_err(Stop::from)
}

/// A client that was told these rows, each for a screen of its own.
fn showing(limits: Limits, ids: impl IntoIterator<Item = i64>) -> (Harness, Vec<ReactionId>) {
    let mut harness = Harness::with(limits);
    harness.connect();
    let mut screens = Vec::new();
    for id in ids {
        screens.push(harness.react(View::Confirmed, reads(id)));
        harness.load(10 + id as u64, &[note(id)]);
    }
    (harness, screens)
}

/// As where storage ends with the client.
#[test]
fn of_a_client_that_does_not_store_its_cache_calls_are_stored_and_nothing_that_it_is_told() {
    let mut harness = Harness::new();
    let config = Config { stores_cache: false, ..config("ann") };
    harness.client = Client::open(config, Vec::new(), harness.now).expect("nothing is there");
    harness.mutator("put", |tx| {
        let Write { cell, operation } = title_put(1, "mine");
        tx.write(cell, operation).map_err(Stop::from)
    });
    harness.connect();
    harness.react(View::Confirmed, reads(1));
    harness.stores = false;
    harness.load(10, &[note(1)]);
    harness.advance(Advance { to: at(11), changes: vec![title_put(1, "theirs")], ..Advance::default() });
    assert_eq!(harness.unstored, [], "there is nothing to store");
    harness.mutate("put");
    harness.store();
    let kinds: BTreeSet<u8> = harness.storage.keys().map(|key| key[0]).collect();
    assert_eq!(kinds, BTreeSet::from(*b"mq"), "what the client is, and its call");
}

#[test]
fn what_is_held_is_stored_and_stays_so_while_nobody_needs_it() {
    let (mut harness, screens) = showing(Limits::default(), 1..=3);
    assert_eq!(stored(&harness), rows(1..=3));
    screens.into_iter().for_each(|screen| assert!(harness.client.stop(screen)));
    harness.settle();
    assert_eq!(stored(&harness), rows(1..=3));
}

#[test]
fn what_was_asked_for_is_not_stored_before_it_is_there() {
    let (mut harness, _) = showing(Limits::default(), 1..=1);
    harness.react(View::Confirmed, reads(2));
    harness.advance(Advance { to: at(50), changes: vec![title_put(1, "b")], ..Advance::default() });
    assert_eq!(stored(&harness), rows(1..=1));
}

#[test]
fn the_least_recently_used_ends_in_storage_too() {
    let (mut harness, screens) = showing(Limits { idle_interests_max: 1, ..Limits::default() }, 1..=3);
    screens.into_iter().for_each(|screen| assert!(harness.client.stop(screen)));
    harness.settle();
    assert_eq!(stored(&harness), rows(3..=3));
}

#[test]
fn what_goes_for_want_of_room_ends_in_storage_too() {
    let (_, row_key, row) = note(1);
    let limits = Limits { cache_bytes_max: 2 * row_footprint(&row_key, &row), ..Limits::default() };
    let (mut harness, screens) = showing(limits, 1..=2);
    screens.into_iter().for_each(|screen| assert!(harness.client.stop(screen)));
    harness.react(View::Confirmed, reads(3));
    harness.load(30, &[note(3)]);
    assert_eq!(stored(&harness), rows(2..=3));
    // Now somebody needs both that there is room for.
    harness.react(View::Confirmed, reads(2));
    harness.react(View::Confirmed, reads(4));
    harness.load(40, &[note(4)]);
    assert_eq!(stored(&harness), rows(2..=3));
}

/// What a gateway says at a resumption of the first thing that is held, of two.
fn declined_at_resumption(why: Declination) -> Harness {
    let (mut harness, _) = showing(Limits::default(), 1..=2);
    harness.disconnect();
    harness.link();
    harness.welcome(1);
    let held = harness.take_subscribed(true);
    let (subscription, _) = held.iter().find(|(_, interest)| *interest == of_row(1)).expect("it is held");
    let declined = vec![Declined { subscription: *subscription, why }];
    harness.advance(Advance { to: at(20), declined, ..Advance::default() });
    harness
}

#[test]
fn what_is_declined_ends_in_storage_and_is_stored_again_once_it_is_there() {
    for why in [Declination::TooLarge("too much".into()), Declination::Later] {
        let mut harness = declined_at_resumption(why);
        assert_eq!(stored(&harness), rows(2..=2));
        harness.load(30, &[note(1)]);
        assert_eq!(stored(&harness), rows(1..=2));
    }
}

/// All between two batches: storage is slow.
#[test]
fn what_ended_and_came_again_before_it_was_stored_stays_stored() {
    let mut harness = declined_at_resumption(Declination::Later);
    harness.stores = false;
    harness.load(30, &[note(1)]);
    let asked = harness.react(View::Confirmed, reads(3));
    harness.load(40, &[note(3)]);
    assert!(harness.client.stop(asked));
    harness.disconnect();
    harness.link();
    harness.welcome(1);
    let held = harness.take_subscribed(true);
    let declined = |(subscription, _): &(_, _)| Declined { subscription: *subscription, why: Declination::Later };
    let declined = held.iter().map(declined).collect();
    harness.advance(Advance { to: at(50), declined, ..Advance::default() });
    harness.load(60, &[note(1), note(2)]);
    harness.stores = true;
    harness.store();
    assert_eq!(stored(&harness), rows(1..=2), "nobody needed the third one");
}

#[test]
fn another_history_ends_all_of_them() {
    let (mut harness, _) = showing(Limits::default(), 1..=2);
    harness.disconnect();
    harness.link();
    harness.welcome(2);
    assert_eq!(stored(&harness), []);
    harness.load(5, &[note(1), note(2)]);
    assert_eq!(stored(&harness), rows(1..=2));
}

#[test]
fn another_schema_ends_all_of_them() {
    let (mut harness, _) = showing(Limits::default(), 1..=2);
    assert_eq!(stored(&harness), rows(1..=2));
    let json = SCHEMA.replace(r#""votes":{"type":"counter"}"#, r#""votes":{"type":"int","optional":true}"#);
    let schema = Arc::new(Schema::from_json(&json).expect("a good schema"));
    let entries: Vec<_> = harness.storage.clone().into_iter().collect();
    harness.client = Client::open(Config { schema, ..config("ann") }, entries, harness.now).expect("its own storage");
    harness.settle();
    assert_eq!(stored(&harness), []);
}

#[test]
fn what_is_stored_is_not_stored_again_at_a_restart() {
    let (harness, _) = showing(Limits::default(), 1..=2);
    let mut harness = harness.reopened();
    // It compares what is held with what is stored, before anything more is.
    harness.client.validate();
    harness.settle();
    assert_eq!(stored(&harness), rows(1..=2));
}

fn by_stars() -> Query {
    let stars = Field::Cell { column: ColumnId::of("stars"), absent: Value::Int(0) };
    let range = IndexRange::new(&[], Bound::Unbounded, Bound::Unbounded).range;
    Query { index: vec![stars], range, ..Query::all(TableId::of("tasks"), false) }
}

/// A limit asks for the first rows, and the query that is held then is the one up to there; more of it takes its place.
#[test]
fn a_query_is_stored_as_far_as_it_reaches() {
    let mut harness = Harness::new();
    harness.connect();
    let mut held = Vec::new();
    for (limit, reaches_key) in [(1, 1), (2, 2)] {
        harness.react(View::Confirmed, move |tx| {
            tx.query(&by_stars(), Direction::Ascending, Some(limit)).map(drop).map_err(Stop::from)
        });
        let asked = harness.take_subscribed(false);
        let reaches = by_stars()
            .range
            .ending_with(by_stars().index_key(&key(reaches_key), &Row::default()).as_bytes(), Direction::Ascending);
        held = vec![Interest::Query(Arc::new(by_stars().with_range(reaches.clone())))];
        let snapshot =
            |(subscription, _)| Snapshot { subscription, rows: Vec::new(), reaches: Some(Box::new(reaches.clone())) };
        let snapshots = asked.into_iter().map(snapshot).collect();
        harness.advance(Advance { to: at(10 * limit as u64), snapshots, ..Advance::default() });
        assert!(stored(&harness).contains(&held[0]), "{:?}", stored(&harness));
    }
    assert!(!held.is_empty());
}

#[test]
fn what_only_a_tab_needed_ends_with_the_room_for_it() {
    let limits = Limits { idle_interests_max: 0, ..Limits::default() };
    let (mut leader, _) = showing(limits, 1..=1);
    let mut tabs = vec![Tab::new(1, leader.now)];
    exchange(&mut leader, &mut tabs);
    tabs[0].react(View::Confirmed, reads(2));
    exchange(&mut leader, &mut tabs);
    leader.load(30, &[note(2)]);
    exchange(&mut leader, &mut tabs);
    assert_eq!(stored(&leader), rows(1..=2));
    leader.input(Input::TabGone(tabs[0].id));
    leader.settle();
    assert_eq!(stored(&leader), rows(1..=1));
}

#[test]
fn a_cell_is_stored_beside_its_row() {
    let (mut harness, _) = showing(Limits::default(), 1..=1);
    let title = Cell { table: notes(), row: key(2), column: ColumnId::of("title") };
    let read = title.clone();
    harness.react(View::Confirmed, move |tx| tx.cell(&read).map(drop).map_err(Stop::from));
    harness.load(20, &[note(2)]);
    assert!(stored(&harness).contains(&Interest::Cell(title)), "{:?}", stored(&harness));
}
