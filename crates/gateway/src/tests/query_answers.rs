//! Queries: what is read and sent before who comes and goes is told.

use std::collections::BTreeMap;

use iolite_store::{Event, Reply, Request};
use iolite_values::{Condition, Direction, Interest, Query, Test, Timestamp, Value, Write};
use iolite_wire::message::{
    Advance, Declination, First, FromClient, FromGateway, GoodbyeReason, Subscribe, SubscriptionId,
};

use super::queries::*;
use super::world::*;
use crate::telling::coalesce::coalesce;
use crate::{Input, SessionId, limits};

fn first(name: u32, interest: Interest, rows: u32, direction: Direction) -> FromClient {
    let name = SubscriptionId(name);
    let first = BTreeMap::from([(name, First { rows, direction })]);
    FromClient::Subscribe(Subscribe { held: false, interests: vec![(name, interest)], first })
}

#[test]
fn the_first_rows_say_how_far_they_reach_and_the_subscription_reaches_no_further() {
    for (direction, chosen) in [(Direction::Ascending, [1, 2]), (Direction::Descending, [4, 5])] {
        let mut world = World::new();
        world.commit((1..6).flat_map(|number| create_task(number, "open", 10 * number)).collect());
        world.join(1);
        let open = in_state("open");
        world.say(1, first(1, query(&open), 2, direction));
        world.answer_all();
        let said = world.take();
        let [Said::To(1, FromGateway::Advance(Advance { snapshots, .. }))] = &said[..] else { panic!("{said:?}") };
        let rows = chosen.map(|number| row(number, &create_task(number, "open", 10 * number)));
        assert_eq!(snapshots[0].rows, rows);
        let reaches = snapshots[0].reaches.clone().expect("there is more");
        let last = if direction == Direction::Ascending { &rows[1] } else { &rows[0] };
        assert_eq!(*reaches, open.range.ending_with(open.index_key(&last.key, &last.row).as_bytes(), direction));
        world.commit(vec![title(3, "beyond"), vote(3, 1)]);
        assert_eq!(world.take(), vec![], "beyond it nothing is told, and nothing needs to be read: {direction:?}");
        world.answer_all();
        assert_eq!(world.take(), vec![]);
        let inside = if direction == Direction::Ascending { 5 } else { 60 };
        let to = world.commit(create_task(9, "open", inside));
        assert_eq!(world.take(), vec![told(1, entered(to, vec![row(9, &create_task(9, "open", inside))]))]);
    }
}

#[test]
fn a_query_of_fewer_rows_than_were_asked_for_reaches_all_of_its_range() {
    for rows in [1, 2] {
        let mut world = watched();
        world.subscribe(1, vec![]);
        world.take();
        world.say(1, first(2, query(&in_state("open")), rows, Direction::Ascending));
        world.answer_all();
        let expected = with_snapshots(world.position(), vec![answer(2, vec![row(1, &create_task(1, "open", 3))])]);
        assert_eq!(world.take(), vec![told(1, expected)]);
    }
    let mut world = watched();
    world.say(1, first(2, query(&in_state("open")), 0, Direction::Ascending));
    world.answer_all();
    let said = world.take();
    let [Said::To(1, FromGateway::Advance(Advance { snapshots, .. }))] = &said[..] else { panic!("{said:?}") };
    assert!(snapshots[0].rows.is_empty() && snapshots[0].reaches.as_ref().is_some_and(|range| range.is_empty()));
}

#[test]
fn what_changes_while_a_query_is_read_is_in_its_answer() {
    let mut world = World::new();
    world.commit([create_task(1, "open", 1), create_task(2, "done", 2), create_task(3, "open", 3)].concat());
    world.join(1);
    world.subscribe(1, vec![(1, query(&in_state("open")))]);
    let begun = world.asked.pop_front().expect("it is read");
    world.commit(vec![state(1, "done"), vote(2, 1)]);
    world.commit([vec![state(2, "open"), vote(3, 1)], create_task(4, "open", 4), create_task(5, "done", 5)].concat());
    world.asked.push_front(begun);
    let Some((id, Request::ReadAt { interest, at, .. })) = world.asked.pop_front() else { panic!("it is read") };
    let reply = Reply::ReadAt(Ok(iolite_store::ReadReply { at, rows: world.store.rows(&interest, at), is_cut: false }));
    world.input(Input::Store(Event::Reply(id, reply)));
    assert_eq!(world.take(), vec![], "2 may be one, and has to be read");
    let before = world.position();
    world.commit(vec![vote(2, 1), vote(4, 1)]);
    assert_eq!(world.position(), before, "the feed waits for it");
    world.answer_all();
    let to = world.store.resolved;
    let rows = [
        row(2, &[create_task(2, "done", 2), vec![vote(2, 1), state(2, "open")]].concat()),
        row(3, &[create_task(3, "open", 3), vec![vote(3, 1)]].concat()),
        row(4, &create_task(4, "open", 4)),
    ];
    let changes = vec![vote(2, 1), vote(4, 1)];
    let expected = [told(1, with_snapshots(before, vec![answer(1, rows.into())])), told(1, advance(to, changes))];
    assert_eq!(world.take(), expected);
}

#[test]
fn an_answer_that_waits_for_the_others_of_its_subscribe_is_kept_up_to_date() {
    let mut world = World::new();
    world.commit([create_task(1, "open", 1), create_task(2, "open", 2)].concat());
    world.join(1);
    world.subscribe(1, vec![(1, query(&in_state("open"))), (2, one_row(1))]);
    world.answer(0);
    world.commit([vec![state(1, "done"), vote(2, 1)], create_task(3, "open", 3)].concat());
    let to = world.commit(vec![vote(3, 1), add(1, 1)]);
    assert_eq!(world.take(), vec![]);
    world.answer_all();
    let rows = vec![
        row(2, &[create_task(2, "open", 2), vec![vote(2, 1)]].concat()),
        row(3, &[create_task(3, "open", 3), vec![vote(3, 1)]].concat()),
    ];
    assert_eq!(world.take(), vec![told(1, with_snapshots(to, vec![answer(1, rows), snapshot(2, &[(1, 1)])]))]);
}

#[test]
fn a_held_query_is_answered_whole_beside_the_changes_of_the_others() {
    let mut world = watched();
    world.input(Input::SessionClosed(SessionId(1)));
    let at = world.position();
    world.commit([vec![add(1, 1), state(1, "done")], create_task(3, "open", 3)].concat());
    world.rejoin(2, 1, at);
    assert_eq!(world.take(), vec![Said::To(2, welcome(true))]);
    world.say(2, subscribe(true, vec![(1, query(&in_state("open"))), (2, all_rows())]));
    let to = world.commit(vec![add(1, 2), vote(3, 1)]);
    assert_eq!(world.take(), vec![], "nothing overtakes it");
    world.answer_all();
    let rows = vec![row(3, &[create_task(3, "open", 3), vec![vote(3, 1)]].concat())];
    let expected = Advance { changes: vec![add(1, 3)], ..with_snapshots(to, vec![answer(1, rows)]) };
    assert_eq!(world.take(), vec![told(2, expected)]);
    let to = world.commit(vec![vote(3, 1), add(1, 1)]);
    assert_eq!(world.take(), vec![told(2, advance(to, vec![vote(3, 1), add(1, 1)]))]);
}

#[test]
fn who_waits_for_its_own_outcomes_is_told_then_who_came_and_went() {
    let mut world = watched();
    world.knows_outcomes = false;
    world.say(1, submit(1, vec![vote(1, 1)]));
    let (id, Request::Commit { transaction, floor, within }) = world.asked.pop_front().expect("asked") else {
        panic!("a commit")
    };
    // The feed is faster than the reply.
    let late = world.store.answer(Request::Commit { transaction, floor, within });
    let committed = world.last_commit();
    world.publish();
    world.commit(vec![vote(1, 1)]);
    let to_first = world.commit([create_task(3, "open", 3), create_task(4, "open", 4)].concat());
    let to = world.commit(vec![vote(3, 1), state(4, "done"), vote(1, 1)]);
    assert_eq!(world.take(), vec![]);
    world.answer_all();
    let new = vec![row(3, &create_task(3, "open", 3)), row(4, &create_task(4, "open", 4))];
    let first = Advance { changes: vec![vote(1, 2)], ..entered(to_first, new) };
    let second = told(1, advance(to, vec![vote(3, 1), state(4, "done"), vote(1, 1)]));
    assert_eq!(world.take(), vec![told_committed(1, committed, first), second], "nothing comes behind who moved");
    world.input(Input::Store(Event::Reply(id, late)));
}

/// Session 1 holds the open tasks and those with more than 4 votes, and is told nothing before the store answers what became of its mutation.
fn waiting_for_own_outcomes() -> World {
    let mut world = watched();
    world.subscribe(1, vec![(2, query(&with_votes_above(4)))]);
    world.answer_all();
    world.take();
    submit_unheard(&mut world, vec![title(1, "own")]);
    world
}

/// Session 1 submits something, and the feed tells of it before the store does. Returns when it was committed.
fn submit_unheard(world: &mut World, writes: Vec<Write>) -> Timestamp {
    world.knows_outcomes = false;
    world.say(1, submit(1, writes));
    let (_, request) = world.asked.pop_front().expect("asked");
    world.store.answer(request);
    world.publish();
    world.last_commit()
}

#[test]
fn who_waits_for_its_own_outcomes_is_told_how_a_row_left_that_had_entered_another_query() {
    let mut world = waiting_for_own_outcomes();
    let committed = world.last_commit();
    let anew = create_task(1, "open", 6);
    let entering = world.commit(anew.clone());
    let left = vec![state(1, "done"), vote(1, -5)];
    let to = world.commit(left.clone());
    assert_eq!(world.take(), vec![]);
    world.answer_all();
    let changes = [vec![title(1, "own")], anew.clone()].concat();
    let first = Advance { changes: coalesce(changes), ..entered(entering, vec![row(1, &anew)]) };
    assert_eq!(world.take(), vec![told_committed(1, committed, first), told(1, advance(to, left))]);
}

#[test]
fn who_waits_for_its_own_outcomes_is_told_whole_what_left_and_came_back() {
    let mut world = waiting_for_own_outcomes();
    let committed = world.last_commit();
    let left = world.commit(vec![state(1, "done")]);
    world.commit(vec![title(1, "of none of its queries")]);
    let back = create_task(1, "open", 3);
    let came = world.commit(back.clone());
    let to = world.commit(vec![title(1, "back")]);
    assert_eq!(world.take(), vec![]);
    world.answer_all();
    let first = told_committed(1, committed, advance(left, vec![title(1, "own"), state(1, "done")]));
    let others = [entered(came, vec![row(1, &back)]), advance(to, vec![title(1, "back")])];
    assert_eq!(world.take(), [vec![first], others.map(|own| told(1, own)).into()].concat());
}

#[test]
fn who_waits_for_its_own_outcomes_is_told_that_a_row_left_though_it_looks_like_an_answer_since() {
    let mut world = watched();
    let both = Query { conditions: with_votes_above(1).conditions, ..in_state("open") };
    world.say(1, unsubscribe(&[1]));
    world.subscribe(1, vec![(2, query(&both)), (3, Interest::Cell(state(1, "").cell))]);
    world.answer_all();
    world.take();
    let committed = submit_unheard(&mut world, vec![title(1, "own")]);
    let left = world.commit(vec![state(1, "done")]);
    for written in [vote(1, -5), state(1, "open")] {
        world.commit(vec![written]);
        world.answer_row();
    }
    assert_eq!(world.take(), vec![]);
    world.answer_all();
    let first = told_committed(1, committed, advance(left, vec![title(1, "own"), state(1, "done")]));
    let second = told(1, advance(world.position(), vec![state(1, "open")]));
    assert_eq!(world.take(), vec![first, second], "put together, it would have three votes still");
}

#[test]
fn who_waits_for_its_own_outcomes_has_read_what_it_missed_where_that_is_more_than_may_wait() {
    let mut world = waiting_for_own_outcomes();
    let committed = world.last_commit();
    world.gateway.settings.limits.load_buffer_bytes = 1000;
    let text = "x".repeat(200);
    for _ in 0..10 {
        world.commit(vec![title(1, &text)]);
    }
    let is_read = |world: &World| world.asked.iter().any(|(_, asked)| matches!(asked, Request::ReadAt { .. }));
    assert!(!is_read(&world), "of what is overwritten only the last counts");
    let new = |number: i64| vec![create(number), state(number, "open"), title(number, &text)];
    world.commit((10..20).flat_map(new).collect());
    assert!(is_read(&world), "of rows that enter all counts");
    let to = world.commit(vec![state(1, "done")]);
    assert_eq!(world.take(), vec![]);
    world.answer_all();
    let open = answer(1, (10..20).map(|number| row(number, &new(number))).collect());
    let expected = with_snapshots(to, vec![open, answer(2, vec![row(2, &create_task(2, "done", 5))])]);
    assert_eq!(world.take(), vec![told_committed(1, committed, expected)]);
}

/// Session 1 was told so much that it is behind.
fn behind() -> World {
    let mut world = watched();
    world.gateway.settings.limits.undrained_bytes_max = 1000;
    world.gateway.settings.limits.catch_up_undrained_bytes = 100;
    world.sockets_take = false;
    world.commit(vec![title(1, &"x".repeat(2000))]);
    assert!(world.gateway.open(SessionId(1)).expect("open").is_behind());
    world
}

#[test]
fn a_session_that_is_behind_follows_nothing_and_is_caught_up_with_an_answer() {
    let mut world = behind();
    assert_eq!(world.gateway.queries.followers(), 0);
    world.take();
    world.commit(vec![state(1, "done"), state(2, "open")]);
    assert_eq!((world.take(), world.asked.len()), (vec![], 0), "it costs nothing");
    world.sockets_take = true;
    world.input(Input::Drained { session: SessionId(1), messages: 100 });
    world.answer_all();
    let rows = vec![row(2, &[create_task(2, "done", 5), vec![state(2, "open")]].concat())];
    assert_eq!(world.take(), vec![told(1, with_snapshots(world.position(), vec![answer(1, rows)]))]);
}

/// The session that is behind misses this, and has taken what it was told.
fn caught_up_after(missed: Vec<Write>) -> World {
    let mut world = behind();
    world.take();
    if !missed.is_empty() {
        world.commit(missed);
    }
    world.input(Input::Drained { session: SessionId(1), messages: 100 });
    world.answer_all();
    world
}

#[test]
fn an_answer_that_is_more_than_may_wait_is_not_told_again_to_who_took_it() {
    for missed in [vec![], vec![add(1, 1)]] {
        let mut world = caught_up_after(missed);
        assert_eq!(world.take(), vec![told(1, advance(world.position(), vec![]))]);
        assert!(!world.gateway.open(SessionId(1)).expect("open").is_behind());
        let to = world.commit(create_task(3, "open", 1));
        let new = row(3, &create_task(3, "open", 1));
        assert_eq!(world.take(), vec![told(1, entered(to, vec![new]))], "and yet it is followed again");
    }
}

#[test]
fn an_answer_is_told_again_if_anything_of_its_table_was_written() {
    let mut world = caught_up_after(vec![vote(2, 1)]);
    let rows = vec![row(1, &[create_task(1, "open", 3), vec![title(1, &"x".repeat(2000))]].concat())];
    assert_eq!(world.take(), vec![told(1, with_snapshots(world.position(), vec![answer(1, rows)]))]);
}

#[test]
fn a_query_with_too_many_answers_is_declined_and_told_no_more() {
    let mut world = World::new();
    let most = limits::ANSWER_ROWS_MAX as i64;
    world.commit((0..=most).flat_map(|row| [create(row), state(row, "open")]).collect());
    world.join(1);
    world.subscribe(1, vec![(1, query(&in_state("open")))]);
    world.answer_all();
    let said = world.take();
    let [Said::To(1, FromGateway::Advance(advance))] = &said[..] else { panic!("one advance") };
    assert!(matches!(&advance.declined[0].why, Declination::TooLarge(_)));
    world.commit(vec![vote(1, 1)]);
    assert_eq!(world.take(), vec![]);
    world.say(1, first(2, query(&in_state("open")), 3, Direction::Ascending));
    world.answer_all();
    let said = world.take();
    let [Said::To(1, FromGateway::Advance(advance))] = &said[..] else { panic!("one advance") };
    assert_eq!(advance.snapshots[0].rows.len(), 3, "the first ones of it can be had");
}

#[test]
fn a_sessions_queries_take_so_many_bytes() {
    let long = |length: usize| {
        let mut own = with_votes_above(0);
        let field = schema().table(TASKS).expect("declared").field("title").expect("declared");
        own.conditions.push(Condition { field, test: Test::Equal(Value::string("x".repeat(length))) });
        own
    };
    let mut world = watched();
    let large = query(&long(Query::CONDITIONS_BYTES_MAX - 100));
    let fitting = limits::QUERIES_BYTES_MAX / Query::CONDITIONS_BYTES_MAX - 1;
    for name in (2..).take(fitting) {
        world.subscribe(1, vec![(name, large.clone())]);
        world.answer_all();
        assert_eq!(world.take().len(), 1, "{name}");
    }
    world.subscribe(1, vec![(100, large.clone()), (101, large)]);
    assert_eq!(world.goodbye(1).0, GoodbyeReason::Limit);
}

#[test]
fn queries_that_do_not_fit_end_the_session() {
    let unknown = Query { index: in_state("x").index[..1].to_vec(), ..in_state("x") };
    let mut world = watched();
    world.subscribe(1, vec![(2, query(&unknown))]);
    assert_eq!(world.goodbye(1).0, GoodbyeReason::Schema);
    for (name, interest) in [(5, query(&in_state("x"))), (2, all_rows())] {
        let mut world = watched();
        let first = [(SubscriptionId(2), First { rows: 1, direction: Direction::Ascending })].into();
        let interests = vec![(SubscriptionId(name), interest)];
        world.say(1, FromClient::Subscribe(Subscribe { held: false, interests, first }));
        assert_eq!(world.goodbye(1).0, GoodbyeReason::Protocol);
    }
}
