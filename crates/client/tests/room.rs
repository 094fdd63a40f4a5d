//! The cache has so much room and no more: what goes when it is full, and who hears of it.

mod harness;

use harness::{Harness, Stop, at, hit, hits, key, note_row, notes};
use iolite_client::{Limits, MutationStatus, Output, ReactionId, RunOf, View};
use iolite_values::{KeyRange, Operation, Row, RowKey, TableId, Write, row_footprint};
use iolite_wire::message::{Advance, FromClient, SubscriptionId};

/// A row of `notes`, of about a thousand bytes.
fn large(id: i64) -> (TableId, RowKey, Row) {
    (notes(), key(id), note_row(&"x".repeat(1000), 0))
}

fn rows_of_room(rows: usize) -> Limits {
    let (_, key, row) = large(1);
    Limits { cache_bytes_max: rows * row_footprint(&key, &row), ..Limits::default() }
}

fn watch(harness: &mut Harness, id: i64) -> ReactionId {
    harness.react(View::Confirmed, move |tx| tx.row(notes(), &key(id)).map(drop).map_err(Stop::from))
}

fn unsubscribed(harness: &mut Harness) -> Vec<SubscriptionId> {
    let ended = harness.take_sent().into_iter().filter_map(|message| match message {
        FromClient::Unsubscribe(ended) => Some(ended),
        _ => None,
    });
    ended.flatten().collect()
}

fn failed(harness: &Harness) -> Vec<(ReactionId, String)> {
    let failed = harness.other.iter().filter_map(|output| match output {
        Output::ReactionFailed { reaction, message } => Some((*reaction, message.clone())),
        _ => None,
    });
    failed.collect()
}

/// Reads a row, and leaves it.
fn visit(harness: &mut Harness, id: i64, to: u64) {
    let reaction = watch(harness, id);
    harness.load(to, &[large(id)]);
    assert!(harness.client.stop(reaction));
    harness.settle();
}

#[test]
fn what_nobody_needs_goes_when_the_cache_is_full_the_least_recently_used_first() {
    let mut harness = Harness::with(rows_of_room(3));
    harness.connect();
    (1..=3).for_each(|id| visit(&mut harness, id, 10 + id as u64));
    // The first is used again, so the second is now the one that was used least recently.
    let again = watch(&mut harness, 1);
    assert!(harness.client.stop(again));
    harness.take_sent();
    visit(&mut harness, 4, 20);
    assert_eq!(unsubscribed(&mut harness).len(), 1);
    for (id, held) in [(1, true), (3, true), (4, true), (2, false)] {
        harness.take_sent();
        let reaction = watch(&mut harness, id);
        assert_eq!(harness.take_subscribed(false).is_empty(), held, "row {id}");
        assert!(harness.client.stop(reaction));
    }
}

#[test]
fn what_somebody_needs_stays_and_what_was_asked_for_last_fails() {
    let mut harness = Harness::with(rows_of_room(2));
    harness.connect();
    for id in 1..=3 {
        watch(&mut harness, id);
        harness.load(10 + id as u64, &[large(id)]);
    }
    let failures = failed(&harness);
    assert!(
        matches!(&failures[..], [(ReactionId(3), why)] if why.contains("read less at a time")),
        "only the last one: {failures:?}"
    );
    assert_eq!(unsubscribed(&mut harness).len(), 1, "the gateway tells no more of it");
    // The others go on.
    harness.runs.clear();
    let change = harness::title_put(1, "short");
    harness.advance(Advance { to: at(100), changes: vec![change], ..Advance::default() });
    assert_eq!(harness.runs.len(), 1);
}

#[test]
fn what_grows_past_the_room_by_changes_goes_as_well() {
    let mut harness = Harness::with(rows_of_room(2));
    harness.connect();
    let all = |tx: &mut iolite_client::Transaction<'_>| {
        tx.range(TableId::of("hits"), &KeyRange::all(), None, false).map(drop).map_err(Stop::from)
    };
    harness.react(View::Confirmed, all);
    harness.load(10, &[]);
    let changes: Vec<Write> = (0..100).map(|id| hit(id, 1)).collect();
    harness.advance(Advance { to: at(20), changes, ..Advance::default() });
    assert_eq!(failed(&harness).len(), 1);
}

#[test]
fn what_a_pending_mutation_needs_goes_last() {
    let mut harness = Harness::with(rows_of_room(2));
    harness.mutator("copy", |tx| {
        tx.row(notes(), &key(3)).map(drop)?;
        tx.write(hits(3), Operation::Add(1)).map_err(Stop::from)
    });
    harness.connect();
    for id in 1..=2 {
        watch(&mut harness, id);
        harness.load(10 + id as u64, &[large(id)]);
    }
    let counter = harness.mutate("copy");
    harness.load(20, &[large(3)]);
    assert!(matches!(harness.last_status(counter), MutationStatus::Pending(_)), "{:?}", harness.statuses);
    assert_eq!(failed(&harness).iter().map(|(id, _)| *id).collect::<Vec<_>>(), [ReactionId(2)]);
}

#[test]
fn a_mutation_that_needs_more_than_all_the_room_is_told_so() {
    let mut harness = Harness::with(rows_of_room(1));
    harness.mutator("read all", |tx| {
        tx.range(notes(), &KeyRange::all(), None, false).map(drop)?;
        tx.write(hits(3), Operation::Add(1)).map_err(Stop::from)
    });
    harness.connect();
    let counter = harness.mutate("read all");
    for round in 1..10 {
        harness.load(10 * round, &[large(1), large(2)]);
    }
    let (MutationStatus::Quarantined { reason } | MutationStatus::Cancelled { reason }) = harness.last_status(counter)
    else {
        panic!("{:?}", harness.last_status(counter));
    };
    assert!(reason.contains("read less at a time"), "{reason}");
}

#[test]
fn who_failed_for_want_of_room_goes_on_when_another_one_ends() {
    let mut harness = Harness::with(rows_of_room(2));
    harness.connect();
    let watched: Vec<ReactionId> = (1..=3)
        .map(|id| {
            let reaction = watch(&mut harness, id);
            harness.load(10 + id as u64, &[large(id)]);
            reaction
        })
        .collect();
    assert_eq!(failed(&harness).len(), 1);
    harness.runs.clear();
    assert!(harness.client.stop(watched[0]));
    harness.settle();
    harness.load(20, &[large(3)]);
    assert_eq!(failed(&harness).len(), 1, "now there is room");
    assert!(harness.runs_of(RunOf::Reaction(watched[2])) > 0);
}

/// Whoever comes and goes beside it does not make it ask for the same without an end.
#[test]
fn who_fails_for_want_of_room_again_and_again_is_left_alone() {
    let mut harness = Harness::with(rows_of_room(2));
    harness.connect();
    for id in 1..=3 {
        watch(&mut harness, id);
        harness.load(10 + id as u64, &[large(id)]);
    }
    for round in 0..2 * u64::from(iolite_client::Client::CROWDED_MAX) {
        let other = harness.react(View::Confirmed, |tx| tx.cell(&hits(1)).map(drop).map_err(Stop::from));
        harness.load(20 + 2 * round, &[large(3)]);
        assert!(harness.client.stop(other));
        harness.settle();
        harness.load(21 + 2 * round, &[large(3)]);
    }
    assert_eq!(failed(&harness).len(), 1 + iolite_client::Client::CROWDED_MAX as usize);
}
