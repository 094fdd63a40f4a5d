//! Queries: who comes, stays and goes is told as it happens.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use iolite_store::{Event, Refusal, Reply, Request};
use iolite_values::{
    Cell, ColumnId, Condition, IndexRange, Interest, KeyRange, Operation, Query, Row, TableId, Test, Timestamp, Value,
    Write,
};
use iolite_wire::message::{Advance, FromGateway, GoodbyeReason, RowSnapshot, Snapshot, SubscriptionId, Verdict};

use super::world::*;
use crate::{Input, SessionId, limits};

pub const TASKS: &str = "tasks";

pub fn task(row: i64, column: &str, operation: Operation) -> Write {
    let column = if column.is_empty() { ColumnId::ROW } else { ColumnId::of(column) };
    Write { cell: Cell { table: TableId::of(TASKS), row: key(row), column }, operation }
}

pub fn state(row: i64, state: &str) -> Write {
    task(row, "state", Operation::Put(Value::string(state)))
}

pub fn vote(row: i64, votes: i64) -> Write {
    task(row, "votes", Operation::Add(votes))
}

pub fn title(row: i64, title: &str) -> Write {
    task(row, "title", Operation::Put(Value::string(title)))
}

pub fn create(row: i64) -> Write {
    task(row, "", Operation::Create)
}

pub fn delete(row: i64) -> Write {
    task(row, "", Operation::Delete)
}

pub fn create_task(row: i64, own: &str, votes: i64) -> Vec<Write> {
    vec![create(row), state(row, own), vote(row, votes)]
}

/// The tasks in a state, by their votes.
pub fn in_state(state: &str) -> Query {
    let schema = schema();
    let table = schema.table(TASKS).expect("declared");
    let range = IndexRange::new(&[Value::string(state)], Bound::Unbounded, Bound::Unbounded).range;
    let index = table.index_fields("byState").expect("declared");
    Query { index, range, ..Query::all(TableId::of(TASKS), false) }
}

/// The tasks with more votes than this, in the order of their keys.
pub fn with_votes_above(votes: i64) -> Query {
    let schema = schema();
    let field = schema.table(TASKS).expect("declared").field("votes").expect("declared");
    let conditions = vec![Condition { field, test: Test::Greater(Value::Int(votes)) }];
    Query { conditions, ..Query::all(TableId::of(TASKS), false) }
}

pub fn query(query: &Query) -> Interest {
    Interest::Query(Arc::new(query.clone()))
}

pub fn row(number: i64, writes: &[Write]) -> RowSnapshot {
    let mut row = Row::default();
    for write in writes {
        row.apply(write.cell.column, &write.operation).expect("one type a column");
    }
    RowSnapshot { table: TableId::of(TASKS), key: key(number), row }
}

pub fn answer(name: u32, rows: Vec<RowSnapshot>) -> Snapshot {
    Snapshot { subscription: SubscriptionId(name), rows, reaches: None }
}

pub fn entered(to: Timestamp, entered: Vec<RowSnapshot>) -> Advance {
    Advance { to, entered, ..Advance::default() }
}

/// Task 1 is open and 2 is done, and session 1 is subscribed to those that are open.
pub fn watched() -> World {
    let mut world = World::new();
    world.commit([create_task(1, "open", 3), create_task(2, "done", 5)].concat());
    world.join(1);
    world.subscribe(1, vec![(1, query(&in_state("open")))]);
    world.answer_all();
    let told_first = with_snapshots(world.position(), vec![answer(1, vec![row(1, &create_task(1, "open", 3))])]);
    assert_eq!(world.take(), vec![told(1, told_first)]);
    world
}

#[test]
fn an_answer_that_stays_is_told_by_its_changes() {
    let mut world = watched();
    let to = world.commit(vec![title(1, "a"), title(2, "b"), vote(1, 1)]);
    assert_eq!(world.take(), vec![told(1, advance(to, vec![title(1, "a"), vote(1, 1)]))]);
    assert!(world.asked.is_empty(), "nothing is read for a row that nobody asks for");
}

#[test]
fn one_that_leaves_is_told_once_more_and_then_no_more() {
    let mut world = watched();
    let to = world.commit(vec![state(1, "done")]);
    assert_eq!(world.take(), vec![told(1, advance(to, vec![state(1, "done")]))]);
    world.commit(vec![title(1, "a")]);
    assert_eq!(world.take(), vec![]);
    world.commit(vec![vote(1, 1)]);
    world.answer_all();
    assert_eq!(world.take(), vec![], "it takes a look at it to know that it stays away");
    let to = world.commit(create_task(1, "open", 1));
    assert_eq!(world.take(), vec![told(1, entered(to, vec![row(1, &create_task(1, "open", 1))]))]);
    let to = world.commit(vec![delete(1)]);
    assert_eq!(world.take(), vec![told(1, advance(to, vec![delete(1)]))]);
}

#[test]
fn one_that_is_created_is_told_whole_without_reading_it() {
    let mut world = watched();
    let to = world.commit([create_task(3, "open", 1), create_task(4, "done", 1)].concat());
    assert_eq!(world.take(), vec![told(1, entered(to, vec![row(3, &create_task(3, "open", 1))]))]);
    assert!(world.asked.is_empty());
    let to = world.commit(vec![vote(3, 1)]);
    assert_eq!(world.take(), vec![told(1, advance(to, vec![vote(3, 1)]))]);
}

#[test]
fn one_that_comes_in_by_what_is_changed_is_read_and_told_whole() {
    let mut world = watched();
    world.store.write(vec![state(2, "open")]);
    world.store.write(vec![title(2, "b"), vote(1, 1)]);
    world.publish();
    let to = world.store.resolved;
    let interest = Interest::Range { table: TableId::of(TASKS), range: KeyRange::one(&key(2)) };
    let [(_, Request::ReadAt { interest: asked, at, .. })] = world.asked.make_contiguous() else { panic!("one read") };
    assert_eq!((&*asked, *at), (&interest, to), "as of the end of the segment");
    assert_eq!(world.take(), vec![]);
    world.answer_all();
    let whole = [create_task(2, "done", 5), vec![state(2, "open"), title(2, "b")]].concat();
    let expected = Advance { changes: vec![vote(1, 1)], ..entered(to, vec![row(2, &whole)]) };
    assert_eq!(world.take(), vec![told(1, expected)]);
}

#[test]
fn nothing_overtakes_a_segment_whose_rows_are_read() {
    let mut world = watched();
    world.join_and_watch(2);
    let before = world.position();
    world.commit(vec![state(2, "open"), add(1, 1)]);
    world.commit(vec![add(1, 2), vote(2, 1), vote(1, 1)]);
    world.say(2, submit(1, vec![add(9, 1)]));
    let reads = world.asked.len();
    world.answer(reads - 1);
    world.publish();
    assert_eq!((world.take(), world.position()), (vec![], before), "not even to others, nor an outcome");
    let committed = world.last_commit();
    world.answer_all();
    let said = world.take();
    let own = |session| {
        let own = said.iter().filter_map(move |said| match said {
            Said::To(to, FromGateway::Advance(advance)) if *to == session => Some(advance.clone()),
            Said::To(..) | Said::Closed(_) => None,
        });
        own.collect::<Vec<_>>()
    };
    let changes: Vec<_> = own(2).iter().map(|own| own.changes.clone()).collect();
    assert_eq!(changes, vec![vec![add(1, 1)], vec![add(1, 2), add(9, 1)]], "in order, and at once what has waited");
    assert_eq!(own(2)[1].outcomes, vec![outcome(1, Verdict::Committed(committed))]);
    let [first, second] = &own(1)[..] else { panic!("{said:?}") };
    assert_eq!(first.entered, vec![row(2, &[create_task(2, "done", 5), vec![state(2, "open")]].concat())]);
    assert_eq!(second.changes, vec![vote(2, 1), vote(1, 1)], "as of an answer");
    assert_eq!(world.position(), world.store.resolved);
}

#[test]
fn sessions_share_what_is_kept_of_a_query() {
    let mut world = watched();
    world.join(2);
    world.subscribe(2, vec![(7, query(&in_state("open"))), (8, query(&with_votes_above(4)))]);
    world.answer_all();
    world.take();
    assert_eq!(world.gateway.queries.followers(), 3);
    let to = world.commit(vec![state(2, "open")]);
    assert_eq!(world.asked.len(), 1, "read once for all");
    world.answer_all();
    let new = row(2, &[create_task(2, "done", 5), vec![state(2, "open")]].concat());
    let second = Advance { changes: vec![state(2, "open")], ..entered(to, vec![new.clone()]) };
    assert_eq!(world.take(), vec![told(1, entered(to, vec![new])), told(2, second)]);
    world.say(2, unsubscribe(&[7, 8]));
    let to = world.commit(vec![vote(2, 1)]);
    assert_eq!(world.take(), vec![told(1, advance(to, vec![vote(2, 1)]))]);
}

#[test]
fn nothing_is_kept_of_a_query_that_nobody_follows() {
    let mut world = watched();
    world.say(1, unsubscribe(&[1]));
    assert_eq!(format!("{:?}", world.gateway.queries), format!("{:?}", after_one()));
    world.commit(vec![state(2, "open")]);
    assert_eq!((world.take(), world.asked.len()), (vec![], 0));
    let mut world = watched();
    world.commit(vec![state(2, "open")]);
    world.input(Input::SessionClosed(SessionId(1)));
    world.answer_all();
    assert_eq!((world.take(), world.position()), (vec![], world.store.resolved), "the feed goes on");
    assert_eq!(world.gateway.queries.followers(), 0);
}

/// What is left when the first query that was followed is not any more.
fn after_one() -> crate::following::queries::Queries {
    let mut queries = crate::following::queries::Queries::default();
    let (query, target) = (Arc::new(in_state("open")), crate::gateway::target(SessionId(1), SubscriptionId(1)));
    queries.follow(&query, target, &BTreeMap::new(), &Default::default());
    queries.unfollow(&query, target);
    queries
}

#[test]
fn who_asks_for_rows_that_the_store_cannot_tell_has_to_come_back_and_others_go_on() {
    let too_old = |world: &mut World| {
        world.store.low_watermark = Timestamp::from_u64(world.store.resolved.as_u64() + 1);
        let (id, request) = world.asked.pop_front().expect("a row is read");
        (id, world.store.answer(request))
    };
    let refused = |world: &mut World| {
        let (id, _) = world.asked.pop_front().expect("a row is read");
        (id, Reply::Refused(Refusal::OtherShard { table: TableId::of(TASKS) }))
    };
    for is_refused in [true, false] {
        let mut world = watched();
        world.join_and_watch(2);
        // Of the same rows; of this one it is known that it is no answer.
        world.subscribe(2, vec![(2, query(&in_state("late")))]);
        world.answer_all();
        world.take();
        let to = world.commit(vec![state(2, "open"), add(1, 1)]);
        let (id, reply) = if is_refused { refused(&mut world) } else { too_old(&mut world) };
        world.input(Input::Store(Event::Reply(id, reply)));
        let said = world.take();
        let [Said::To(1, FromGateway::Goodbye(goodbye)), Said::Closed(1), rest] = &said[..] else { panic!("{said:?}") };
        assert_eq!(goodbye.reason, GoodbyeReason::Unavailable);
        assert_eq!(*rest, told(2, advance(to, vec![add(1, 1)])));
    }
}

#[test]
fn another_history_begins_without_what_was_to_be_read_for_the_one_before() {
    let mut world = watched();
    world.commit(vec![state(2, "open")]);
    world.commit(vec![vote(1, 1)]);
    let (late, request) = world.asked.pop_front().expect("a row is read");
    world.store_comes();
    world.answer_all();
    let reply = world.store.answer(request);
    world.input(Input::Store(Event::Reply(late, reply)));
    assert_eq!(world.position(), world.store.resolved);
    world.publish();
    assert_eq!(world.position(), world.store.resolved);
    assert_eq!(world.gateway.queries.followers(), 0);
}

#[test]
fn so_many_rows_are_read_at_one_time_for_the_feed() {
    let mut world = watched();
    let most = limits::ROWS_OPEN_MAX as i64;
    world.commit((10..10 + 2 * most).map(|row| state(row, "open")).collect());
    for left in (0..2 * most).rev() {
        assert!(world.asked.len() <= limits::ROWS_OPEN_MAX);
        world.answer(0);
        assert_eq!(world.position() == world.store.resolved, left == 0);
    }
    assert_eq!(world.take(), vec![], "none of them exists");
}

#[test]
fn a_segment_is_not_judged_anew_with_each_row_that_is_read_for_it() {
    let mut world = watched();
    let rows = 10 * limits::ROWS_OPEN_MAX;
    world.commit((10..10 + rows as i64).map(|row| state(row, "open")).collect());
    for _ in 0..rows {
        world.answer(0);
    }
    assert_eq!((world.position(), world.asked.len()), (world.store.resolved, 0), "each is read once");
    assert_eq!(world.gateway.feed.judgements, 2 * rows, "when the segment is next, and when each is read");
}

#[test]
fn a_segment_that_waits_for_rows_waits_also_for_those_of_a_query_that_is_followed_since() {
    let mut world = watched();
    world.join(2);
    world.subscribe(2, vec![(1, query(&in_state("late")))]);
    let to = world.commit(vec![state(1, "late"), state(2, "open")]);
    world.answer(0);
    let asked: Vec<_> = world.asked.iter().map(|(_, request)| format!("{request:?}")).collect();
    assert_eq!(asked.len(), 2, "whether 2 is open, and 1 late: {asked:?}");
    world.take();
    world.answer_all();
    let (first, second) =
        ([create_task(1, "open", 3), create_task(2, "done", 5)], [state(1, "late"), state(2, "open")]);
    let whole = |number: usize| row(number as i64, &[&first[number - 1][..], &second[number - 1..number]].concat());
    let to_first = Advance { changes: vec![state(1, "late")], ..entered(to, vec![whole(2)]) };
    assert_eq!(world.take(), vec![told(1, to_first), told(2, entered(to, vec![whole(1)]))]);
}

#[test]
fn a_row_of_a_live_table_stays_an_answer_whatever_else_of_it_is_written() {
    let mut world = World::new();
    world.commit(vec![add(1, 1)]);
    world.join(1);
    let field = schema().table(TABLE).expect("declared").field("text").expect("declared");
    let conditions = vec![Condition { field, test: Test::NotEqual(Value::string("x")) }];
    world.subscribe(1, vec![(1, query(&Query { conditions, ..Query::all(TableId::of(TABLE), true) }))]);
    world.answer_all();
    world.take();
    for written in [add(1, 1), add(1, 2), put(1, "x")] {
        let to = world.commit(vec![written.clone()]);
        assert_eq!((world.take(), world.asked.len()), (vec![told(1, advance(to, vec![written]))], 0));
    }
    world.commit(vec![put(1, "x")]);
    assert_eq!((world.take(), world.asked.len()), (vec![], 0), "it has left");
}

#[test]
fn who_comes_to_follow_a_query_for_which_a_row_could_not_be_read_is_sent_away_too() {
    let mut world = watched();
    world.commit(create_task(3, "done", 1));
    world.join(2);
    world.subscribe(2, vec![(1, query(&in_state("open")))]);
    world.commit(vec![state(2, "open"), state(3, "open")]);
    world.take();
    assert_eq!(world.asked.len(), 3, "its answer, and two rows for those who follow already");
    let kept = std::mem::replace(&mut world.store.low_watermark, Timestamp::MAX);
    world.answer(1);
    assert_eq!(world.goodbye(1).0, GoodbyeReason::Unavailable);
    world.store.low_watermark = kept;
    world.answer(0);
    let said = world.take();
    let [Said::To(2, FromGateway::Advance(_)), Said::To(2, FromGateway::Goodbye(goodbye)), Said::Closed(2)] = &said[..]
    else {
        panic!("its answer as it was, and that nobody can say whether task 2 came into it: {said:?}")
    };
    assert_eq!(goodbye.reason, GoodbyeReason::Unavailable);
}
