//! A storage without room: the cache gives way to the calls.

mod harness;

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use harness::{Harness, Stop, at, hits, key, note_row, notes, title_put};
use iolite_client::{Input, MutationStatus, Pending, StorageChange, View};
use iolite_machine::Machine;
use iolite_values::{Counter, Operation, Timestamp};
use iolite_wire::message::{Advance, Declination, Declined, Rejection, SubscriptionId, Verdict};

/// A client whose storage has a row and its interest.
fn showing_a_note() -> Harness {
    let mut harness = Harness::new();
    harness.mutator("hit", |tx| Ok(tx.write(hits(1), Operation::Add(1))?));
    harness.connect();
    show_note(&mut harness, 10);
    assert_eq!(kinds(harness.storage.keys()), BTreeSet::from(*b"mri"));
    harness
}

fn show_note(harness: &mut Harness, to: u64) {
    harness.react(View::Confirmed, |tx| tx.row(notes(), &key(1)).map(drop).map_err(Stop::from));
    harness.load(to, &[(notes(), key(1), note_row("a title", 0))]);
}

fn kinds<'a>(keys: impl Iterator<Item = &'a Vec<u8>>) -> BTreeSet<u8> {
    keys.map(|key| key[0]).collect()
}

/// The batches that storage did not take have no room.
fn refuse_held_back(harness: &mut Harness) {
    harness.held_back.clear();
    harness.input(Input::StorageFull);
}

/// Storage takes the first of them only, and holds the others back.
fn store_first_of(harness: &mut Harness) {
    let rest = harness.held_back.split_off(1);
    harness.take_held_back();
    harness.holds_back = true;
    harness.held_back = rest;
}

fn key_of(change: &StorageChange) -> &Vec<u8> {
    match change {
        StorageChange::Put { key, .. } | StorageChange::Delete { key } => key,
    }
}

fn change_note(harness: &mut Harness, to: u64) {
    harness.advance(Advance { to: at(to), changes: vec![title_put(1, "another")], ..Advance::default() });
}

fn is_durable(harness: &Harness, counter: Counter) -> bool {
    matches!(harness.last_status(counter), MutationStatus::Pending(Pending { durable: true, .. }))
}

#[test]
fn a_call_behind_rows_without_room_is_stored_and_sent() {
    let mut harness = showing_a_note();
    harness.holds_back = true;
    change_note(&mut harness, 11);
    let counter = harness.mutate("hit");
    assert_eq!((harness.held_back.len(), harness.take_submits().len()), (2, 0));
    refuse_held_back(&mut harness);
    let [(_, removal), (_, changes)] = harness.held_back.as_slice() else { panic!("{:?}", harness.held_back) };
    assert!(removal.iter().all(|change| matches!(change, StorageChange::Delete { .. })), "it needs no room");
    let put = changes.iter().filter_map(|change| match change {
        StorageChange::Put { key, .. } => Some(key),
        StorageChange::Delete { .. } => None,
    });
    assert_eq!(kinds(put), BTreeSet::from(*b"mq"));
    harness.take_held_back();
    assert_eq!(kinds(harness.storage.keys()), BTreeSet::from(*b"mq"), "the cache made room");
    assert!(is_durable(&harness, counter));
    assert_eq!(harness.take_submits().len(), 1);
}

#[test]
fn what_was_dropped_is_stored_but_for_the_cache() {
    let script = |is_full: bool| -> BTreeMap<Vec<u8>, Vec<u8>> {
        let mut harness = showing_a_note();
        let (first, second) = (harness.mutate("hit"), harness.mutate("hit"));
        harness.holds_back = true;
        harness.decide(first, 1, 20, vec![], Verdict::Committed(at(20)));
        let invalid = || Verdict::Rejected(Rejection::Invalid("bad".into()));
        harness.decide(second, 1, 30, vec![], invalid());
        let third = harness.mutate("hit");
        harness.mutate("hit");
        harness.client.cancel(third);
        harness.settle();
        if is_full {
            refuse_held_back(&mut harness);
        }
        harness.take_held_back();
        let Harness { storage, .. } = harness;
        storage.into_iter().filter(|(key, _)| !b"rim".contains(&key[0])).collect()
    };
    assert_eq!(script(true), script(false));
    assert_eq!(kinds(script(true).keys()), BTreeSet::from(*b"qx"));
}

#[test]
fn room_that_was_made_is_not_taken_for_what_was_dropped() {
    let mut harness = showing_a_note();
    harness.holds_back = true;
    let counter = harness.mutate("hit");
    refuse_held_back(&mut harness);
    store_first_of(&mut harness);
    let rest = std::mem::take(&mut harness.held_back);
    assert_eq!(kinds(harness.storage.keys()), BTreeSet::from(*b"m"), "the cache is gone");
    assert!(!is_durable(&harness, counter) && harness.take_submits().is_empty(), "the call is not stored yet");
    let next = harness.reopened();
    assert_eq!((next.client.pending().count(), rest.len()), (0, 1));
}

#[test]
fn what_makes_room_goes_first_by_itself_until_it_is_stored() {
    let mut harness = showing_a_note();
    harness.holds_back = true;
    let counters = [harness.mutate("hit"), harness.mutate("hit")];
    for _ in 0..3 {
        refuse_held_back(&mut harness);
        let [(first, removal), (second, changes)] = harness.held_back.as_slice() else {
            panic!("{:?}", harness.held_back)
        };
        assert!(first < second, "they are stored in this order");
        assert_eq!(kinds(removal.iter().map(key_of)), BTreeSet::from(*b"ri"));
        assert!(removal.iter().all(|change| matches!(change, StorageChange::Delete { .. })), "it needs no room");
        assert_eq!(kinds(changes.iter().map(key_of)), BTreeSet::from(*b"mq"));
    }
    store_first_of(&mut harness);
    for _ in 0..3 {
        refuse_held_back(&mut harness);
        assert_eq!(harness.held_back.len(), 1, "what still has no room is one batch");
    }
    harness.take_held_back();
    assert!(counters.into_iter().all(|counter| is_durable(&harness, counter)));
    assert_eq!(kinds(harness.storage.keys()), BTreeSet::from(*b"mq"));
}

#[test]
fn what_left_the_cache_with_a_batch_that_was_dropped_goes_with_the_cache() {
    let mut harness = showing_a_note();
    harness.holds_back = true;
    let declined = Declined { subscription: SubscriptionId(1), why: Declination::TooLarge("too large".into()) };
    harness.advance(Advance { to: at(20), declined: vec![declined], ..Advance::default() });
    assert_eq!(kinds(harness.held_back[0].1.iter().map(key_of)), BTreeSet::from(*b"mri"));
    refuse_held_back(&mut harness);
    store_first_of(&mut harness);
    assert_eq!(kinds(harness.storage.keys()), BTreeSet::from(*b"m"), "no interest is left without its rows");
}

#[test]
fn a_batch_that_was_being_written_when_the_rest_was_dropped_counts_and_what_made_room_does_not() {
    let mut harness = showing_a_note();
    harness.holds_back = true;
    let first = harness.mutate("hit");
    let (written, _) = harness.held_back[0].clone();
    let second = harness.mutate("hit");
    refuse_held_back(&mut harness);
    harness.client.handle(harness.now, Input::Persisted(written));
    harness.settle();
    assert!(is_durable(&harness, first) && !is_durable(&harness, second));
    let (removal, _) = harness.held_back[0].clone();
    refuse_held_back(&mut harness);
    harness.client.handle(harness.now, Input::Persisted(removal));
    harness.settle();
    assert!(!is_durable(&harness, second));
    harness.take_held_back();
    assert!(is_durable(&harness, second));
}

#[test]
fn a_client_that_has_given_its_cache_up_keeps_it_in_memory_and_has_no_more_to_give() {
    let mut harness = showing_a_note();
    harness.input(Input::StorageFull);
    assert_eq!(kinds(harness.storage.keys()), BTreeSet::from(*b"m"));
    harness.holds_back = true;
    change_note(&mut harness, 11);
    harness.input(Input::StorageFull);
    assert_eq!(harness.held_back, []);
    let seen = Rc::new(Cell::new(false));
    let sees = seen.clone();
    harness.react(View::Confirmed, move |tx| {
        sees.set(tx.exists(notes(), &key(1))?);
        Ok(())
    });
    assert!(seen.get(), "it is in memory");
}

#[test]
fn the_next_life_begins_with_an_empty_cache_and_stores_it_again() {
    let mut harness = showing_a_note();
    harness.input(Input::StorageFull);
    let mut next = harness.reopened();
    assert_eq!((next.client.store(), next.client.at()), (None, Timestamp::ZERO));
    next.connect();
    show_note(&mut next, 20);
    assert_eq!(kinds(next.storage.keys()), BTreeSet::from(*b"mri"));
}
