//! Sessions that asked to be told of changes only so often.

use std::time::Duration;

use iolite_values::{Interest, Timestamp, Write};
use iolite_wire::message::{FromClient, FromGateway, GoodbyeReason, Hello, Resume};

use super::fake_store::STORE;
use super::queries::{create_task, in_state, query, state, vote, with_votes_above};
use super::resumption::commit_elsewhere;
use super::world::*;
use crate::limits::BATCH_PERIOD_MAX;
use crate::{Input, SessionId};

const PERIOD: Duration = Duration::from_millis(400);
const PART: Duration = Duration::from_millis(100);

fn joined(session: u64, batch: Duration) -> World {
    let mut world = World::new();
    join(&mut world, session, batch);
    world
}

fn join(world: &mut World, session: u64, batch: Duration) {
    world.open(session);
    world.say(session, FromClient::Hello(Hello { batch, ..hello(session) }));
    world.subscribe(session, vec![(1, all_rows())]);
    world.answer_all();
    world.take();
}

fn told_sum(session: u64, to: Timestamp, amount: i64) -> Vec<Said> {
    vec![told(session, advance(to, vec![add(1, amount)]))]
}

fn commits(world: &mut World, writes: impl IntoIterator<Item = Write>) -> Timestamp {
    writes.into_iter().map(|write| world.commit(vec![write])).last().expect("there are some")
}

#[test]
fn the_first_change_comes_at_once_and_those_behind_it_together_after_the_period() {
    let mut world = joined(1, PERIOD);
    let first = world.commit(vec![add(1, 1)]);
    assert_eq!(world.take(), told_sum(1, first, 1));
    world.wait(PART);
    let last = commits(&mut world, [add(1, 2), add(1, 4), add(1, 8)]);
    assert_eq!(world.take(), []);
    world.wait(PERIOD - PART * 2);
    assert_eq!(world.take(), [], "not before the period is over");
    world.wait(PART);
    assert_eq!(world.take(), told_sum(1, last, 14), "and put together");
    world.wait(PERIOD);
    let later = world.commit(vec![add(1, 16)]);
    assert_eq!(world.take(), told_sum(1, later, 16), "nothing came for a while, so this does not wait");
}

#[test]
fn who_asks_for_nothing_is_told_of_each_change_beside_one_that_waits() {
    let mut world = joined(1, PERIOD);
    world.join_and_watch(2);
    commits(&mut world, [add(1, 1)]);
    world.take();
    let to = world.commit(vec![add(1, 2)]);
    assert_eq!(world.take(), told_sum(2, to, 2));
}

#[test]
fn the_outcome_of_a_mutation_does_not_wait_and_takes_along_what_does() {
    let mut world = joined(1, PERIOD);
    commits(&mut world, [add(1, 1), add(1, 2)]);
    world.take();
    world.say(1, submit(1, vec![add(1, 4)]));
    world.answer_all();
    world.publish();
    let at = world.last_commit();
    assert_eq!(world.take(), vec![told_committed(1, at, advance(world.position(), vec![add(1, 6)]))]);
    world.wait(PERIOD);
    assert_eq!(world.take(), [], "nothing is left");
}

#[test]
fn the_answer_to_an_interest_takes_along_what_waits() {
    let mut world = joined(1, PERIOD);
    commits(&mut world, [add(1, 1)]);
    world.take();
    let to = world.commit(vec![add(1, 2)]);
    world.subscribe(1, vec![(2, one_cell(2))]);
    world.answer_all();
    let said = world.take();
    let [Said::To(1, iolite_wire::message::FromGateway::Advance(answer))] = &said[..] else { panic!("{said:?}") };
    assert_eq!((answer.to, &answer.changes[..], answer.snapshots.len()), (to, &[add(1, 2)][..], 1));
}

#[test]
fn a_session_that_waits_is_not_told_of_progress_before_its_changes() {
    let mut world = joined(1, BATCH_PERIOD_MAX);
    let first = commits(&mut world, [add(1, 1)]);
    assert_eq!(world.take(), told_sum(1, first, 1));
    let to = commits(&mut world, [add(1, 2)]);
    world.wait(BATCH_PERIOD_MAX - PART);
    assert_eq!(world.take(), []);
    world.wait(PART);
    assert_eq!(world.take(), told_sum(1, to, 2));
}

#[test]
fn more_than_may_wait_is_told_at_once() {
    let mut world = World::new();
    let bytes = world.gateway.settings.limits.advance_part_bytes;
    join(&mut world, 1, PERIOD);
    commits(&mut world, [add(1, 1)]);
    world.take();
    let text = "x".repeat(bytes / 4);
    for _ in 0..40 {
        world.commit(vec![put(1, &text)]);
    }
    assert_eq!(world.take(), [], "of one cell only the last counts");
    for row in 2..6 {
        world.commit(vec![put(row, &text)]);
    }
    assert!(!world.take().is_empty());
}

#[test]
fn what_waits_for_a_session_that_is_lost_comes_with_its_resumption() {
    let mut world = joined(1, PERIOD);
    let seen = commits(&mut world, [add(1, 1)]);
    let to = commits(&mut world, [add(1, 2), add(1, 4)]);
    world.take();
    world.input(Input::SessionClosed(SessionId(1)));
    world.open(2);
    let resume = Some(Resume { store: STORE, at: seen, rights: None });
    world.say(2, FromClient::Hello(Hello { batch: PERIOD, resume, ..hello(1) }));
    world.say(2, subscribe(true, vec![(1, all_rows())]));
    world.answer_all();
    assert_eq!(world.take(), vec![Said::To(2, welcome(true)), told(2, advance(to, vec![add(1, 6)]))]);
}

#[test]
fn what_waits_is_told_once_when_the_client_has_committed_elsewhere() {
    let mut world = joined(1, PERIOD);
    commits(&mut world, [add(1, 1), add(1, 2)]);
    world.take();
    let at = commit_elsewhere(&mut world, 1);
    assert_eq!(world.take(), vec![told_committed(1, at, advance(world.position(), vec![add(1, 3)]))]);
}

#[test]
fn who_wants_to_hear_of_changes_too_seldom_is_refused() {
    let mut world = World::new();
    for (session, more, refused) in [(1, Duration::ZERO, false), (2, Duration::from_millis(1), true)] {
        world.open(session);
        world.say(session, FromClient::Hello(Hello { batch: BATCH_PERIOD_MAX + more, ..hello(session) }));
        match refused {
            false => assert_eq!(world.take(), vec![Said::To(session, welcome(false))]),
            true => assert_eq!(world.goodbye(session).0, GoodbyeReason::Limit),
        }
    }
}

#[test]
fn a_row_that_enters_a_query_does_not_wait_and_takes_along_what_does() {
    let mut world = joined(1, PERIOD);
    world.subscribe(1, vec![(2, Interest::Query(in_state("open").into()))]);
    world.answer_all();
    commits(&mut world, [add(1, 1), add(1, 2)]);
    world.take();
    let to = world.commit(create_task(1, "open", 1));
    let said = world.take();
    let [Said::To(1, FromGateway::Advance(advance))] = &said[..] else { panic!("{said:?}") };
    assert_eq!((advance.to, &advance.changes, advance.entered.len()), (to, &vec![add(1, 2)], 1));
}

#[test]
fn a_row_that_leaves_a_query_does_not_wait_and_takes_along_what_does() {
    let mut world = joined(1, PERIOD);
    world.commit(create_task(1, "open", 4));
    world.subscribe(1, vec![(2, query(&with_votes_above(3))), (3, Interest::Cell(state(1, "open").cell))]);
    world.answer_all();
    world.take();
    commits(&mut world, [add(1, 1), add(1, 2)]);
    world.take();
    let to = world.commit(vec![vote(1, -2)]);
    assert_eq!(world.take(), vec![told(1, advance(to, vec![add(1, 2), vote(1, -2)]))]);
    let to = commits(&mut world, [vote(1, 1), state(1, "done")]);
    world.answer_all();
    world.wait(PERIOD);
    assert_eq!(world.take(), vec![told(1, advance(to, vec![state(1, "done")]))]);
}
