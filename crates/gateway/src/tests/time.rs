//! What happens when time passes and nothing else.

use std::time::Duration;

use iolite_wire::message::{FromClient, FromGateway, GoodbyeReason};

use super::world::*;
use crate::limits::{GREETING_TIME_MAX, IDLE_ADVANCE_PERIOD, QUIET_PERIODS, SILENCE_MAX};

const SECOND: Duration = Duration::from_secs(1);

#[test]
fn a_connection_that_says_nothing_is_closed() {
    let mut world = World::new();
    world.open(1);
    world.wait(GREETING_TIME_MAX - SECOND);
    assert_eq!(world.take(), vec![]);
    world.wait(SECOND);
    assert_eq!(world.goodbye(1).0, GoodbyeReason::Limit);
    assert_eq!(world.gateway.sessions(), 0);
}

#[test]
fn a_client_that_does_not_send_its_schema_is_closed() {
    let mut world = World::new();
    world.open(1);
    let schema = iolite_values::SchemaHash([7; 16]);
    world.say(1, FromClient::Hello(iolite_wire::message::Hello { schema, ..hello(1) }));
    world.take();
    world.wait(GREETING_TIME_MAX);
    assert_eq!(world.goodbye(1).0, GoodbyeReason::Limit);
}

#[test]
fn a_silent_session_is_closed_and_one_that_pings_is_not() {
    let mut world = World::new();
    world.join_and_watch(1);
    world.join_and_watch(2);
    for number in 0..3 {
        world.wait(SILENCE_MAX / 2);
        world.say(2, FromClient::Ping(number));
    }
    let said = world.take();
    let pongs = said.iter().filter(|own| matches!(own, Said::To(2, FromGateway::Pong(_)))).count();
    assert_eq!(pongs, 3);
    assert!(said.contains(&Said::Closed(1)) && !said.contains(&Said::Closed(2)));
}

#[test]
fn an_untouched_session_is_told_of_progress_once_a_period_while_others_commit() {
    let mut world = World::new();
    world.join(1);
    world.subscribe(1, vec![(1, one_cell(1))]);
    world.answer_all();
    world.take();
    for _ in 0..10 {
        world.commit(vec![add(2, 1)]);
    }
    assert_eq!(world.take(), vec![]);
    world.wait(IDLE_ADVANCE_PERIOD);
    assert_eq!(world.take(), vec![told(1, advance(world.position(), vec![]))]);
    world.wait(IDLE_ADVANCE_PERIOD * 20);
    assert_eq!(world.take(), vec![], "nothing moved since");
}

#[test]
fn time_that_passes_in_a_quiet_store_is_told_seldom() {
    let mut world = World::new();
    world.join_and_watch(1);
    let mut frames = 0;
    for _ in 0..4 * QUIET_PERIODS {
        world.publish();
        world.wait(IDLE_ADVANCE_PERIOD);
        frames += world.take().len();
    }
    assert!((3..=4).contains(&frames), "{frames}");
}

#[test]
fn a_session_that_was_just_told_is_not_told_again() {
    let mut world = World::new();
    world.join_and_watch(1);
    let to = world.commit(vec![add(1, 1)]);
    assert_eq!(world.take(), vec![told(1, advance(to, vec![add(1, 1)]))]);
    world.wait(IDLE_ADVANCE_PERIOD * 3);
    assert_eq!(world.take(), vec![]);
}

#[test]
fn without_sessions_there_is_no_deadline() {
    let mut world = World::new();
    world.wait(IDLE_ADVANCE_PERIOD);
    world.commit(vec![add(1, 1)]);
    assert_eq!(iolite_machine::Machine::deadline(&world.gateway), None);
}
