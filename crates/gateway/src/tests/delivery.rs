//! The delivered view: who owes a commit, and what its author is told.

use std::collections::BTreeSet;
use std::ops::Bound;
use std::sync::Arc;
use std::time::Duration;

use iolite_values::{
    Cell, ColumnId, Field, IndexRange, Interest, KeyRange, Operation, Query, TableId, Timestamp, Value, Write,
};
use iolite_wire::message::{Advance, FromClient, FromGateway, GoodbyeReason};

use super::world::*;
use crate::limits::DELIVERED_WITHIN;
use crate::{Input, SessionId};

const FOLLOWED: &str = "followed";
const MOMENT: Duration = Duration::from_millis(100);

fn followed(row: i64) -> Write {
    let cell = Cell { table: TableId::of(FOLLOWED), row: key(row), column: ColumnId::of("n") };
    Write { cell, operation: Operation::Add(1) }
}

/// A store whose schema has a table with the delivered view.
fn world() -> World {
    let mut world = World::with_table(
        r#""followed":{"columns":{"id":{"type":"int"},"n":{"type":"counter"}},"key":["id"],"live":true,"delivered":true,"indexes":{"byN":["n"]}}"#,
    );
    world.wait(DELIVERED_WITHIN);
    world.take();
    world
}

fn all() -> Interest {
    Interest::Range { table: TableId::of(FOLLOWED), range: KeyRange::all() }
}

fn follow(world: &mut World, session: u64) {
    world.open(session);
    world.say(session, FromClient::Hello(hello(session)));
    world.subscribe(session, vec![(1, all())]);
    world.answer_all();
    world.take();
}

/// A mutation of a session, which the feed tells. Returns its timestamp.
fn commits(world: &mut World, session: u64, counter: u64) -> Timestamp {
    world.say(session, submit(counter, vec![followed(1)]));
    world.answer_all();
    world.publish();
    world.last_commit()
}

/// The same, while the store answers nothing that it is asked to read.
fn commits_unread(world: &mut World, session: u64, counter: u64) -> Timestamp {
    world.say(session, submit(counter, vec![followed(1)]));
    world.answer(world.asked.len() - 1);
    world.publish();
    world.last_commit()
}

/// The timestamps up to which a session was told that its commits are delivered.
fn delivered(session: u64, said: &[Said]) -> Vec<Timestamp> {
    let told = said.iter().filter_map(|said| match said {
        Said::To(to, FromGateway::Advance(Advance { delivered, .. })) if *to == session => *delivered,
        Said::To(..) | Said::Closed(_) => None,
    });
    told.collect()
}

/// The sessions that are to say when they have applied what they were told.
fn owing(said: &[Said]) -> BTreeSet<u64> {
    let owing = said.iter().filter_map(|said| match said {
        Said::To(to, FromGateway::Advance(Advance { is_owed: true, .. })) => Some(*to),
        Said::To(..) | Said::Closed(_) => None,
    });
    owing.collect()
}

#[test]
fn an_author_is_told_when_all_who_follow_have_applied_it() {
    let mut world = world();
    (1..=3).for_each(|session| follow(&mut world, session));
    let at = commits(&mut world, 1, 1);
    let said = world.take();
    assert_eq!((delivered(1, &said), owing(&said)), (vec![], [2, 3].into()));
    world.say(2, FromClient::Applied(at));
    assert_eq!(world.take(), [], "one of them owes it still");
    world.say(3, FromClient::Applied(at));
    let to = world.position();
    assert_eq!(world.take(), vec![told(1, Advance { to, delivered: Some(to), ..Advance::default() })]);
}

#[test]
fn what_nobody_else_follows_is_delivered_with_the_advance_that_confirms_it() {
    let mut world = world();
    follow(&mut world, 1);
    world.join_and_watch(2);
    let at = commits(&mut world, 1, 1);
    let told = delivered(1, &world.take());
    assert!(told.len() == 1 && told[0] >= at, "{told:?}");
}

#[test]
fn who_follows_a_query_owes_the_commit_that_brings_a_row_into_it() {
    let mut world = world();
    follow(&mut world, 1);
    world.open(2);
    world.say(2, FromClient::Hello(hello(2)));
    let n = Field::Cell { column: ColumnId::of("n"), absent: Value::Int(0) };
    let range = IndexRange::new(&[], Bound::Included(&Value::Int(1)), Bound::Unbounded).range;
    let some = Query { index: vec![n], range, ..Query::all(TableId::of(FOLLOWED), true) };
    world.subscribe(2, vec![(1, Interest::Query(Arc::new(some)))]);
    world.answer_all();
    world.take();
    let at = commits(&mut world, 1, 1);
    world.answer_all();
    let said = world.take();
    assert_eq!((delivered(1, &said), owing(&said)), (vec![], [2].into()));
    world.say(2, FromClient::Applied(at));
    assert_eq!(delivered(1, &world.take()), [world.position()]);
}

#[test]
fn a_later_commit_is_told_only_when_the_earlier_one_is_delivered() {
    let mut world = world();
    (1..=2).for_each(|session| follow(&mut world, session));
    let first = commits(&mut world, 1, 1);
    let second = commits(&mut world, 1, 2);
    world.take();
    world.say(2, FromClient::Applied(first));
    let told = delivered(1, &world.take());
    assert!(told.len() == 1 && told[0] >= first && told[0] < second, "{told:?}");
    world.say(2, FromClient::Applied(second));
    assert_eq!(delivered(1, &world.take()), [world.position()]);
}

#[test]
fn who_owes_for_too_long_is_waited_for_no_longer() {
    let mut world = world();
    (1..=3).for_each(|session| follow(&mut world, session));
    let before = world.position();
    let at = commits(&mut world, 1, 1);
    world.say(2, FromClient::Applied(at));
    world.take();
    world.wait(DELIVERED_WITHIN - MOMENT);
    assert_eq!(delivered(1, &world.take()), []);
    world.wait(MOMENT * 2);
    assert_eq!(delivered(1, &world.take()), [world.position()]);
    // It is out of the set: the next commit waits for the other one only.
    let second = commits(&mut world, 1, 2);
    assert_eq!(owing(&world.take()), [2, 3].into(), "it is asked, too, or it would never come back");
    world.say(2, FromClient::Applied(second));
    assert_eq!(delivered(1, &world.take()), [world.position()]);
    world.say(3, FromClient::Applied(at.min(before)));
    let other = commits(&mut world, 1, 4);
    world.say(2, FromClient::Applied(other));
    assert_eq!(delivered(1, &world.take()), [world.position()], "it has applied less than it was told when it went");
    let second = other;
    // It has applied what it was told, and counts again.
    world.say(3, FromClient::Applied(second));
    let third = commits(&mut world, 1, 3);
    world.say(2, FromClient::Applied(third));
    assert_eq!(delivered(1, &world.take()), [], "it owes this one");
    world.say(3, FromClient::Applied(third));
    assert_eq!(delivered(1, &world.take()), [world.position()]);
}

#[test]
fn who_was_out_of_the_set_and_comes_back_is_waited_for() {
    let mut world = world();
    (1..=2).for_each(|session| follow(&mut world, session));
    let at = commits(&mut world, 1, 1);
    world.wait(DELIVERED_WITHIN * 2);
    world.input(Input::SessionClosed(SessionId(2)));
    world.rejoin(3, 2, at);
    world.say(3, subscribe(true, vec![(1, all())]));
    world.answer_all();
    world.take();
    let second = commits(&mut world, 1, 2);
    assert_eq!(delivered(1, &world.take()), []);
    world.say(3, FromClient::Applied(second));
    assert_eq!(delivered(1, &world.take()), [world.position()]);
}

#[test]
fn who_is_gone_goes_on_owing_and_pays_when_it_comes_back() {
    let mut world = world();
    (1..=2).for_each(|session| follow(&mut world, session));
    let before = world.position();
    let at = commits(&mut world, 1, 1);
    world.input(Input::SessionClosed(SessionId(2)));
    world.take();
    world.rejoin(3, 2, before);
    assert_eq!(delivered(1, &world.take()), [], "it came back without it");
    world.input(Input::SessionClosed(SessionId(3)));
    world.rejoin(4, 2, at);
    world.say(4, subscribe(true, vec![(1, all())]));
    world.answer_all();
    let said = world.take();
    assert_eq!((delivered(1, &said), owing(&said)), (vec![], [4].into()), "it holds it, and may not show it yet");
    world.say(4, FromClient::Applied(at));
    assert_eq!(delivered(1, &world.take()), [world.position()]);
}

/// A session that has come back is open, so its app may be used. It says with its next message what it holds.
#[test]
fn who_has_come_back_owes_what_is_committed_before_it_says_what_it_holds() {
    let mut world = world();
    (1..=2).for_each(|session| follow(&mut world, session));
    let before = world.position();
    world.input(Input::SessionClosed(SessionId(2)));
    world.rejoin(3, 2, before);
    world.take();
    let at = commits(&mut world, 1, 1);
    assert_eq!(delivered(1, &world.take()), []);
    world.say(3, subscribe(true, vec![(1, all())]));
    world.answer_all();
    let said = world.take();
    assert_eq!((delivered(1, &said), owing(&said)), (vec![], [3].into()));
    world.say(3, FromClient::Applied(at));
    assert_eq!(delivered(1, &world.take()), [world.position()]);
}

#[test]
fn who_reads_what_is_not_there_any_more_owes_the_commit_that_took_it_away() {
    let mut world = world();
    (1..=2).for_each(|session| follow(&mut world, session));
    world.open(3);
    world.say(3, FromClient::Hello(hello(3)));
    world.take();
    world.subscribe(3, vec![(1, Interest::Range { table: TableId::of(FOLLOWED), range: KeyRange::one(&key(1)) })]);
    let at = commits_unread(&mut world, 1, 1);
    world.say(3, unsubscribe(&[1]));
    world.say(2, FromClient::Applied(at));
    world.answer_all();
    assert_eq!(delivered(1, &world.take()), [], "what it read is gone, and it owes what came meanwhile");
    world.commit(vec![add(1, 1)]);
    world.wait(crate::limits::IDLE_ADVANCE_PERIOD);
    assert_eq!(owing(&world.take()), [3].into(), "the next advance asks for it, whatever it brings");
    world.say(3, FromClient::Applied(at));
    assert_eq!(delivered(1, &world.take()).len(), 1);
}

#[test]
fn who_says_that_it_has_applied_what_it_was_not_sent_is_sent_away() {
    let mut world = world();
    (1..=2).for_each(|session| follow(&mut world, session));
    world.say(2, FromClient::Applied(Timestamp::MAX));
    assert_eq!(world.goodbye(2).0, GoodbyeReason::Protocol);
}

#[test]
fn a_gateway_that_has_just_begun_tells_nobody_who_comes_back_that_anything_is_delivered() {
    let mut world = world();
    let at = commits(&mut world, 1, 1).max(world.position());
    // As if it had begun only now.
    world.gateway.delivery = Default::default();
    follow(&mut world, 2);
    world.rejoin(1, 1, at);
    world.say(1, subscribe(true, vec![(1, all())]));
    world.answer_all();
    assert_eq!(delivered(1, &world.take()), []);
    world.wait(DELIVERED_WITHIN);
    assert_eq!(delivered(1, &world.take()), [world.position()]);
}

#[test]
fn who_is_behind_owes_what_it_is_not_sent() {
    let mut world = world();
    (1..=2).for_each(|session| follow(&mut world, session));
    world.sockets_take = false;
    let limit = crate::limits::UNDRAINED_BYTES_MAX;
    let large = |world: &mut World| world.commit(vec![put(1, "x".repeat(900_000))]);
    world.subscribe(2, vec![(2, all_rows())]);
    world.answer_all();
    for _ in 0..=limit / 900_000 + 1 {
        large(&mut world);
    }
    assert!(world.gateway.open(SessionId(2)).is_some_and(|open| open.is_behind()));
    world.sockets_take = true;
    world.take();
    let at = commits(&mut world, 1, 1);
    assert_eq!(delivered(1, &world.take()), []);
    world.input(Input::Drained { session: SessionId(2), messages: 100 });
    world.answer_all();
    world.say(2, FromClient::Applied(at));
    assert_eq!(delivered(1, &world.take()), [world.position()]);
}
