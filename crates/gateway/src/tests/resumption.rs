//! Clients that come back with a resume token.

use iolite_store::Request;
use iolite_values::{Id, StoreIncarnation, Timestamp};
use iolite_wire::message::{Advance, FromClient, FromGateway, Hello, Resume, Verdict};

use super::fake_store::STORE;
use super::world::*;

/// A world in which client 1 was away since the returned timestamp.
fn away(store: StoreIncarnation) -> (World, Timestamp) {
    let mut world = World::new();
    let at = world.commit(vec![add(1, 1)]);
    world.commit(vec![add(1, 2), add(2, 2)]);
    world.commit(vec![add(1, 4), put(3, "c")]);
    world.open(1);
    world.say(1, FromClient::Hello(Hello { resume: Some(Resume { store, at }), ..hello(1) }));
    assert_eq!(world.take(), vec![Said::To(1, welcome(store == STORE))]);
    (world, at)
}

#[test]
fn held_interests_get_what_they_missed_in_one_advance() {
    let (mut world, after) = away(STORE);
    world.say(1, subscribe(true, vec![(1, one_row(1)), (2, one_cell(2))]));
    let through = world.position();
    let interests = vec![one_row(1), one_cell(2)];
    assert_eq!(world.asked[0].1, Request::Changes { interests, after, through });
    let to = world.commit(vec![add(1, 8), add(9, 9)]);
    assert_eq!(world.take(), vec![], "nothing overtakes it");
    world.answer_all();
    assert_eq!(world.take(), vec![told(1, advance(to, vec![add(2, 2), add(1, 14)]))]);
    let to = world.commit(vec![add(1, 16)]);
    assert_eq!(world.take(), vec![told(1, advance(to, vec![add(1, 16)]))]);
}

#[test]
fn held_interests_of_another_history_get_snapshots() {
    let (mut world, _) = away(StoreIncarnation(Id::from_u128(1)));
    world.say(1, subscribe(true, vec![(1, one_cell(1))]));
    world.answer_all();
    assert_eq!(world.take(), vec![told(1, with_snapshots(world.position(), vec![snapshot(1, &[(1, 7)])]))]);
}

#[test]
fn held_interests_below_the_low_watermark_get_snapshots() {
    let (mut world, _) = away(STORE);
    world.store.low_watermark = world.position();
    world.say(1, subscribe(true, vec![(1, one_cell(1))]));
    let to = world.commit(vec![add(1, 8)]);
    world.answer_all();
    assert_eq!(world.take(), vec![told(1, with_snapshots(to, vec![snapshot(1, &[(1, 15)])]))]);
}

#[test]
fn a_client_that_missed_nothing_is_answered_without_asking_the_store() {
    let mut world = World::new();
    let at = world.position();
    world.open(1);
    world.say(1, FromClient::Hello(Hello { resume: Some(Resume { store: STORE, at }), ..hello(1) }));
    world.say(1, subscribe(true, vec![(1, all_rows())]));
    assert!(world.asked.is_empty());
    assert_eq!(world.take(), vec![Said::To(1, welcome(true)), told(1, advance(at, vec![]))]);
}

#[test]
fn new_interests_wait_for_the_held_ones_and_are_as_of_the_same_time() {
    let (mut world, _) = away(STORE);
    world.say(1, subscribe(true, vec![(1, one_cell(1))]));
    world.say(1, subscribe(false, vec![(2, one_cell(2))]));
    world.answer(1);
    let to = world.commit(vec![add(2, 8)]);
    assert_eq!(world.take(), vec![]);
    world.answer_all();
    let (held, new) = (advance(to, vec![add(1, 6)]), with_snapshots(to, vec![snapshot(2, &[(2, 10)])]));
    assert_eq!(world.take(), vec![told(1, held), told(1, new)]);
}

#[test]
fn interests_said_to_be_held_after_others_get_snapshots() {
    let (mut world, _) = away(STORE);
    world.say(1, subscribe(false, vec![(1, one_cell(2))]));
    world.answer_all();
    world.take();
    world.say(1, subscribe(true, vec![(2, one_row(2))]));
    world.answer_all();
    assert_eq!(world.take(), vec![told(1, with_snapshots(world.position(), vec![snapshot(2, &[(2, 2)])]))]);
}

#[test]
fn outcomes_wait_for_what_was_missed() {
    let (mut world, _) = away(STORE);
    world.say(1, subscribe(true, vec![(1, one_cell(2))]));
    let reply = world.asked.pop_front().expect("asked");
    world.say(1, submit(1, vec![add(2, 8)]));
    world.answer_all();
    world.publish();
    assert_eq!(world.take(), vec![]);
    world.asked.push_back(reply);
    world.answer_all();
    let at = world.store.log.last().expect("one").at;
    let mut expected = advance(world.position(), vec![add(2, 10)]);
    expected.outcomes = vec![outcome(1, Verdict::Committed(at))];
    assert_eq!(world.take(), vec![told(1, expected)]);
}

#[test]
fn nothing_is_told_between_the_welcome_and_what_the_client_says_to_it() {
    let (mut world, _) = away(STORE);
    let to = world.commit(vec![add(2, 8)]);
    world.wait(crate::limits::IDLE_ADVANCE_PERIOD * 3);
    world.say(1, FromClient::Ping(1));
    assert_eq!(world.take(), vec![Said::To(1, FromGateway::Pong(1))], "an advance would be taken for the answer");
    world.say(1, subscribe(true, vec![(1, one_cell(2))]));
    world.answer_all();
    assert_eq!(world.take(), vec![told(1, advance(to, vec![add(2, 10)]))]);
}

#[test]
fn a_client_that_says_something_else_holds_nothing() {
    let (mut world, _) = away(STORE);
    world.say(1, submit(1, vec![add(2, 8)]));
    world.answer_all();
    world.publish();
    let at = world.store.log.last().expect("one").at;
    let outcomes = vec![outcome(1, Verdict::Committed(at))];
    assert_eq!(world.take(), vec![told(1, Advance { to: world.position(), outcomes, ..Advance::default() })]);
    world.say(1, subscribe(true, vec![(1, one_cell(2))]));
    world.answer_all();
    assert_eq!(world.take(), vec![told(1, with_snapshots(world.position(), vec![snapshot(1, &[(2, 10)])]))]);
}

#[test]
fn nothing_held_is_answered_too() {
    let (mut world, _) = away(STORE);
    world.say(1, subscribe(true, vec![]));
    assert_eq!(world.take(), vec![told(1, advance(world.position(), vec![]))]);
}

#[test]
fn held_interests_that_are_all_left_hold_up_nothing() {
    let (mut world, _) = away(STORE);
    world.say(1, subscribe(true, vec![(1, one_cell(1))]));
    world.say(1, subscribe(false, vec![(2, one_cell(2))]));
    world.answer(1);
    world.say(1, unsubscribe(&[1]));
    assert_eq!(world.take(), vec![told(1, with_snapshots(world.position(), vec![snapshot(2, &[(2, 2)])]))]);
    world.answer_all();
    assert_eq!(world.take(), vec![]);
}

#[test]
fn a_held_interest_that_is_left_after_its_changes_were_asked_for_gets_none() {
    let (mut world, _) = away(STORE);
    world.say(1, subscribe(true, vec![(1, one_cell(1)), (2, one_cell(2))]));
    world.say(1, unsubscribe(&[1]));
    world.answer_all();
    assert_eq!(world.take(), vec![told(1, advance(world.position(), vec![add(2, 2)]))]);
}
