//! Sessions whose sockets take nothing.

use std::time::Duration;

use iolite_store::{ChangesError, Event, Reply, Request};
use iolite_values::{Interest, KeyRange, TableId, Timestamp};
use iolite_wire::message::{Advance, Declination, FromClient, FromGateway, GoodbyeReason, Snapshot, Verdict};

use super::world::*;
use crate::{Broken, Gateway, Input, Limits, SessionId, Settings, limits};

const LARGE: usize = 1 << 20;

fn large(row: i64) -> iolite_values::Write {
    put(row, "x".repeat(LARGE))
}

/// Session 1 watches everything and its socket takes nothing, so it falls behind. Returns what it was told last.
fn behind() -> (World, Timestamp) {
    let mut world = World::new();
    world.join_and_watch(1);
    world.sockets_take = false;
    let mut last = world.position();
    for _ in 0..limits::UNDRAINED_BYTES_MAX / LARGE {
        assert!(!world.gateway.open(SessionId(1)).expect("open").is_behind());
        last = world.commit(vec![large(1)]);
    }
    assert!(world.gateway.open(SessionId(1)).expect("open").is_behind());
    world.take();
    (world, last)
}

fn drained(messages: usize) -> Input {
    Input::Drained { session: SessionId(1), messages }
}

#[test]
fn a_session_that_is_behind_costs_nothing() {
    let (mut world, _) = behind();
    for _ in 0..10 {
        world.commit(vec![large(1), add(2, 1)]);
    }
    world.say(1, subscribe(false, vec![(7, one_row(2))]));
    world.say(1, FromClient::Ping(4));
    assert_eq!((world.take(), world.asked.len()), (vec![], 0));
}

#[test]
fn a_session_that_is_behind_is_caught_up_with_what_it_missed() {
    let (mut world, last) = behind();
    world.commit(vec![add(2, 1), put(2, "a")]);
    world.commit(vec![add(2, 2), put(2, "b")]);
    world.input(drained(4));
    let through = world.position();
    let bytes_max = limits::CATCH_UP_COMMITS_BYTES_MAX;
    let missed = Request::Changes { interests: vec![all_rows()], after: last, through, bytes_max };
    assert_eq!(world.asked.iter().map(|(_, own)| own).collect::<Vec<_>>(), vec![&missed]);
    let to = world.commit(vec![add(2, 4)]);
    assert_eq!(world.take(), vec![], "nothing overtakes what it missed");
    world.answer_all();
    assert_eq!(world.take(), vec![told(1, advance(to, vec![put(2, "b"), add(2, 7)]))], "the latest state");
    let to = world.commit(vec![add(2, 8)]);
    assert_eq!(world.take(), vec![told(1, advance(to, vec![add(2, 8)]))]);
}

#[test]
fn what_was_asked_for_meanwhile_is_answered_after_what_was_missed() {
    let (mut world, _) = behind();
    world.say(1, subscribe(false, vec![(7, one_cell(2))]));
    let to = world.commit(vec![add(2, 1)]);
    world.input(drained(4));
    let rows = world.asked.iter().position(|(_, own)| matches!(own, Request::ReadAt { .. })).expect("rows are read");
    world.answer(rows);
    assert_eq!(world.take(), vec![]);
    world.answer_all();
    let missed = told(1, advance(to, vec![add(2, 1)]));
    assert_eq!(world.take(), vec![missed, told(1, with_snapshots(to, vec![snapshot(7, &[(2, 1)])]))]);
}

#[test]
fn a_load_that_is_cut_short_by_falling_behind_is_begun_again() {
    let mut world = World::new();
    world.join_and_watch(1);
    world.subscribe(1, vec![(2, one_cell(2))]);
    let stale = world.asked.pop_front().expect("asked");
    world.sockets_take = false;
    for _ in 0..4 {
        world.commit(vec![large(1)]);
    }
    world.take();
    let reply = world.store.answer(stale.1);
    world.input(Input::Store(iolite_store::Event::Reply(stale.0, reply)));
    assert_eq!(world.take(), vec![]);
    let to = world.commit(vec![add(2, 1)]);
    world.input(drained(4));
    world.answer_all();
    assert!(world.take().contains(&told(1, with_snapshots(to, vec![snapshot(2, &[(2, 1)])]))));
}

#[test]
fn interests_that_are_left_while_behind_are_not_caught_up() {
    let (mut world, _) = behind();
    world.say(1, unsubscribe(&[1]));
    world.commit(vec![add(2, 1)]);
    world.input(drained(4));
    assert_eq!((world.take(), world.asked.len()), (vec![], 0));
    world.subscribe(1, vec![(1, one_cell(2))]);
    world.answer_all();
    assert_eq!(world.take(), vec![told(1, with_snapshots(world.position(), vec![snapshot(1, &[(2, 1)])]))]);
}

#[test]
fn many_missed_changes_become_snapshots() {
    let (mut world, _) = behind();
    for row in 0..3 {
        world.commit(vec![put(10 + row, "y".repeat(500_000))]);
    }
    world.input(drained(4));
    world.answer_all();
    let parts = advances(world.take());
    assert!(parts.len() > 1);
    assert!(parts.iter().all(|part| part.changes.is_empty()));
    let rows: usize = parts.iter().flat_map(|part| &part.snapshots).map(|own| own.rows.len()).sum();
    assert_eq!(rows, 4);
}

#[test]
fn commits_that_are_much_and_make_each_other_good_become_snapshots_without_being_read() {
    let (mut world, _) = behind();
    for _ in 0..=limits::CATCH_UP_COMMITS_BYTES_MAX / LARGE {
        world.commit(vec![large(1)]);
    }
    world.commit(vec![put(1, "small")]);
    world.input(drained(4));
    let (id, request) = world.asked.pop_front().expect("what it missed");
    let reply = world.store.answer(request);
    assert_eq!(reply, Reply::Changes(Err(ChangesError::TooMuch)));
    world.input(Input::Store(Event::Reply(id, reply)));
    world.answer_all();
    let parts = advances(world.take());
    assert_eq!(parts.iter().map(|part| (part.changes.len(), part.snapshots.len())).collect::<Vec<_>>(), [(0, 1)]);
}

#[test]
fn history_that_is_gone_is_replaced_by_snapshots() {
    let (mut world, _) = behind();
    world.commit(vec![put(1, "small"), add(2, 1)]);
    world.store.low_watermark = world.position();
    world.input(drained(4));
    world.answer_all();
    let parts = advances(world.take());
    assert_eq!(parts.len(), 1);
    assert_eq!(parts[0].snapshots[0].rows.len(), 2);
}

#[test]
fn outcomes_wait_with_the_session_that_is_behind() {
    let (mut world, _) = behind();
    world.say(1, submit(1, vec![add(2, 1)]));
    world.answer_all();
    world.publish();
    assert_eq!(world.take(), vec![]);
    world.input(drained(4));
    world.answer_all();
    let at = world.store.log.last().expect("one").at;
    let outcomes = vec![outcome(1, Verdict::Committed(at))];
    let expected = Advance { outcomes, ..advance(world.position(), vec![add(2, 1)]) };
    assert_eq!(world.take(), vec![told(1, expected)], "in the advance that contains the commit");
}

#[test]
fn a_session_that_stays_stuck_is_given_up() {
    let (mut world, _) = behind();
    world.wait(limits::SLOW_TIME_MAX - Duration::from_secs(1));
    assert_eq!(world.take(), vec![]);
    world.wait(Duration::from_secs(1));
    assert_eq!(world.goodbye(1).0, GoodbyeReason::Slow);
    world.answer_all();
    assert_eq!(world.gateway.sessions(), 0);
}

#[test]
fn a_session_that_caught_up_is_not_given_up() {
    let (mut world, _) = behind();
    world.input(drained(4));
    world.answer_all();
    world.wait(limits::SLOW_TIME_MAX + Duration::from_secs(5));
    assert!(world.gateway.open(SessionId(1)).is_some_and(|open| open.is_live()));
}

#[test]
fn a_host_that_counts_too_much_drained_does_no_harm() {
    let (mut world, _) = behind();
    world.input(drained(usize::MAX));
    world.answer_all();
    assert!(world.gateway.open(SessionId(1)).is_some_and(|open| open.is_live()));
}

/// Why subscription 1 was declined, with what else the answer said.
fn declined(world: &mut World) -> (Declination, Vec<Snapshot>) {
    let mut told = advances(world.take()).into_iter().filter(|advance| !advance.declined.is_empty());
    let advance = told.next().expect("it was answered");
    (advance.declined[0].why.clone(), advance.snapshots)
}

#[test]
fn an_interest_of_too_many_rows_is_declined_and_the_session_goes_on() {
    let mut world = World::new();
    let rows = limits::ANSWER_ROWS_MAX as i64 + 1;
    world.store.write((0..rows).map(|row| add(row, 1)).collect());
    world.publish();
    world.join(1);
    world.subscribe(1, vec![(1, all_rows()), (2, one_cell(1))]);
    world.answer_all();
    let (why, snapshots) = declined(&mut world);
    assert!(matches!(&why, Declination::TooLarge(text) if text.contains("smaller ranges")), "{why:?}");
    assert_eq!(snapshots.len(), 1, "the other one is answered");
    let to = world.commit(vec![add(1, 1), add(2, 1)]);
    assert_eq!(world.take(), vec![told(1, advance(to, vec![add(1, 1)]))], "nothing comes of what was declined");
    world.subscribe(1, vec![(3, one_cell(2))]);
    world.answer_all();
    assert_eq!(advances(world.take())[0].snapshots.len(), 1);
}

#[test]
fn an_interest_of_too_many_bytes_is_declined() {
    let mut world = World::new();
    let bytes = limits::ROW_BYTES_MAX - 100;
    for row in 0..=(limits::ANSWER_BYTES_MAX / bytes) as i64 {
        world.store.write(vec![put(row, "x".repeat(bytes))]);
    }
    world.publish();
    world.join(1);
    world.subscribe(1, vec![(1, all_rows())]);
    world.answer_all();
    let (why, snapshots) = declined(&mut world);
    assert!(matches!(&why, Declination::TooLarge(text) if text.contains("smaller ranges")), "{why:?}");
    assert_eq!(snapshots, []);
}

#[test]
fn what_is_too_much_only_beside_the_others_of_its_answer_may_be_asked_for_again() {
    let mut world = World::new();
    let half = limits::ANSWER_ROWS_MAX as i64 / 2 + 1;
    world.store.write((0..2 * half).map(|row| add(row, 1)).collect());
    world.publish();
    world.join(1);
    world.subscribe(1, vec![(1, range(0, half)), (2, range(half, 2 * half))]);
    world.answer_all();
    assert_eq!(declined(&mut world).0, Declination::Later);
    world.subscribe(1, vec![(3, range(half, 2 * half))]);
    world.answer_all();
    assert!(advances(world.take()).iter().all(|advance| advance.declined.is_empty()));
}

#[test]
fn what_was_declined_is_told_although_the_rest_was_left_meanwhile() {
    let mut world = World::new();
    let rows = limits::ANSWER_ROWS_MAX as i64 + 1;
    world.store.write((0..rows).map(|row| add(row, 1)).collect());
    world.publish();
    world.join(1);
    world.subscribe(1, vec![(1, all_rows()), (2, one_cell(1))]);
    world.answer(0);
    world.say(1, unsubscribe(&[2]));
    world.answer_all();
    assert!(matches!(declined(&mut world), (Declination::TooLarge(_), snapshots) if snapshots.is_empty()));
}

fn range(from: i64, to: i64) -> Interest {
    let range = KeyRange { lower: key(from).as_bytes().into(), upper: Some(key(to).as_bytes().into()) };
    Interest::Range { table: TableId::of(TABLE), range }
}

fn advances(said: Vec<Said>) -> Vec<Advance> {
    said.into_iter()
        .map(|said| match said {
            Said::To(1, FromGateway::Advance(advance)) => advance,
            other => panic!("{other:?}"),
        })
        .collect()
}

#[test]
fn a_gateway_may_have_narrower_limits() {
    let mut world = World::starting(Broken::Nothing);
    let narrow = Limits { undrained_bytes_max: 200, catch_up_undrained_bytes: 50, ..Limits::default() };
    world.gateway = Gateway::new(Settings { limits: narrow, ..settings_of(Broken::Nothing) });
    world.greet_the_store();
    world.join_and_watch(1);
    world.sockets_take = false;
    world.commit(vec![put(1, "x".repeat(100))]);
    assert!(!world.gateway.open(SessionId(1)).expect("open").is_behind());
    world.commit(vec![put(1, "x".repeat(100))]);
    assert!(world.gateway.open(SessionId(1)).expect("open").is_behind());
}
