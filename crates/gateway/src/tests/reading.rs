//! How much is read for a session at one time.

use std::collections::BTreeMap;

use iolite_store::{Event, ReadLimit, ReadReply, Reply, Request};
use iolite_values::{CellState, ColumnId, Interest, KeyRange, TableId};
use iolite_wire::message::{Advance, FromGateway, RowSnapshot};

use super::world::*;
use crate::{Input, limits};

/// The limits of the reads that the store was asked for and has not answered.
fn open_reads(world: &World) -> Vec<ReadLimit> {
    let limit = |request: &Request| match request {
        Request::ReadAt { limit, .. } => Some(*limit),
        Request::Commit { .. }
        | Request::Validate { .. }
        | Request::Changes { .. }
        | Request::Completions { .. }
        | Request::LastOutcome { .. }
        | Request::Acknowledge { .. } => None,
    };
    world.asked.iter().filter_map(|(_, request)| limit(request)).collect()
}

fn rows_from(from: i64, to: i64) -> Interest {
    let range = KeyRange { lower: key(from).as_bytes().into(), upper: Some(key(to).as_bytes().into()) };
    Interest::Range { table: TableId::of(TABLE), range }
}

fn advances(world: &mut World) -> Vec<Advance> {
    let said = world.take().into_iter();
    said.map(|said| match said {
        Said::To(1, FromGateway::Advance(advance)) => advance,
        other => panic!("{other:?}"),
    })
    .collect()
}

fn count(row: &RowSnapshot) -> i64 {
    match row.row.cell(ColumnId::of("n")) {
        Some(CellState::Counter(count)) => *count,
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_is_read_for_a_session_at_one_time_is_bounded_however_much_it_asks_for() {
    let mut world = World::new();
    world.commit((0..300).map(|row| add(row, 1)).collect());
    world.join(1);
    world.subscribe(1, (0..200).map(|row| (row, one_row(row.into()))).collect());
    world.subscribe(1, (200..300).map(|row| (row, one_row(row.into()))).collect());
    let mut answered = 0;
    while !world.asked.is_empty() {
        let open = open_reads(&world);
        assert!(open.len() <= limits::READS_OPEN_MAX);
        assert!(open.iter().map(|limit| limit.rows).sum::<usize>() <= limits::ANSWER_ROWS_MAX);
        assert!(open.iter().map(|limit| limit.bytes).sum::<usize>() <= limits::ANSWER_BYTES_MAX);
        world.answer(0);
        answered += 1;
    }
    assert_eq!(answered, 300);
    let answers: Vec<usize> = advances(&mut world).iter().map(|advance| advance.snapshots.len()).collect();
    assert_eq!(answers, [200, 100], "one for each `Subscribe`");
}

#[test]
fn what_needs_more_than_its_share_is_read_again_one_at_a_time_as_of_the_same_moment() {
    let mut world = World::new();
    let each = (limits::ANSWER_ROWS_MAX / limits::READS_OPEN_MAX) as i64 + 1;
    world.commit((0..2 * each).map(|row| add(row, 1)).collect());
    let begun = world.position();
    world.join(1);
    world.subscribe(1, vec![(1, rows_from(0, each)), (2, rows_from(each, 2 * each)), (3, one_cell(1))]);
    for left in [2, 1, 0] {
        world.answer(0);
        let whole = open_reads(&world).into_iter().filter(|limit| limit.rows == limits::ANSWER_ROWS_MAX).count();
        assert_eq!(whole, usize::from(left == 0), "the others come first: they tell how much room is left");
    }
    let to = world.commit(vec![add(0, 1)]);
    for _ in 0..2 {
        let [(_, Request::ReadAt { at, limit, .. })] = world.asked.make_contiguous() else { panic!("one at a time") };
        assert_eq!((*at, limit.rows), (begun, limits::ANSWER_ROWS_MAX));
        world.answer(0);
    }
    let mut counts = BTreeMap::new();
    for advance in advances(&mut world) {
        assert_eq!((advance.to, advance.declined.len()), (to, 0));
        for snapshot in &advance.snapshots {
            *counts.entry(snapshot.subscription.0).or_insert(0) += snapshot.rows.iter().map(count).sum::<i64>();
        }
    }
    assert_eq!(counts, [(1, each + 1), (2, each), (3, 1)].into(), "with the change since");
}

#[test]
fn what_the_store_calls_cut_is_read_again_however_little_came() {
    let mut world = World::new();
    world.commit(vec![add(0, 1), add(1, 1)]);
    world.join(1);
    world.subscribe(1, vec![(1, all_rows())]);
    let Some((id, Request::ReadAt { interest, at, .. })) = world.asked.pop_front() else { panic!("it is read") };
    let rows = world.store.rows(&interest, at).into_iter().take(1).collect();
    world.input(Input::Store(Event::Reply(id, Reply::ReadAt(Ok(ReadReply { at, rows, is_cut: true })))));
    assert_eq!(open_reads(&world).iter().map(|limit| limit.rows).collect::<Vec<_>>(), [limits::ANSWER_ROWS_MAX]);
    world.answer_all();
    assert_eq!(advances(&mut world)[0].snapshots[0].rows.len(), 2);
}

#[test]
fn an_interest_that_is_left_while_it_is_read_again_holds_up_no_other() {
    let mut world = World::new();
    let each = (limits::ANSWER_ROWS_MAX / limits::READS_OPEN_MAX) as i64 + 1;
    world.commit((0..each).map(|row| add(row, 1)).collect());
    world.join(1);
    world.subscribe(1, vec![(1, all_rows())]);
    world.subscribe(1, vec![(2, all_rows())]);
    (0..2).for_each(|_| world.answer(0));
    assert_eq!(open_reads(&world).len(), 1);
    world.say(1, unsubscribe(&[1]));
    assert_eq!(open_reads(&world).len(), 2, "nobody waits for the first any more");
    world.answer(1);
    assert!(advances(&mut world).iter().any(|advance| !advance.snapshots.is_empty()));
}
