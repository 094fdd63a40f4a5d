//! Snapshots and changes: what is told comes in an order in which everything is as of `to`.

use iolite_values::{Operation, Timestamp, Write};
use iolite_wire::message::{Advance, Declination, Declined, FromGateway, SubscriptionId};

use super::world::*;

#[test]
fn a_new_interest_is_answered_with_its_rows() {
    let mut world = World::new();
    world.commit(vec![add(1, 5)]);
    world.commit(vec![add(2, 6), add(1, 1)]);
    world.join(1);
    world.subscribe(1, vec![(1, all_rows()), (2, one_cell(2)), (3, one_row(9))]);
    world.answer_all();
    let answer = vec![snapshot(1, &[(1, 6), (2, 6)]), snapshot(2, &[(2, 6)]), snapshot(3, &[])];
    assert_eq!(world.take(), vec![told(1, with_snapshots(world.position(), answer))]);
}

#[test]
fn nothing_to_subscribe_to_is_answered_too() {
    let mut world = World::new();
    world.join(1);
    world.subscribe(1, vec![]);
    assert_eq!(world.take(), vec![told(1, with_snapshots(world.position(), vec![]))]);
}

#[test]
fn changes_reach_those_who_subscribe_to_them_and_nobody_else() {
    let mut world = World::new();
    world.join_and_watch(1);
    world.join(2);
    world.subscribe(2, vec![(1, one_cell(1))]);
    world.join_and_take(3);
    let to = world.commit(vec![add(2, 1)]);
    assert_eq!(world.take(), vec![told(1, advance(to, vec![add(2, 1)]))]);
    let to = world.commit(vec![add(1, 1), put(1, "x"), add(2, 1)]);
    let all = vec![add(1, 1), put(1, "x"), add(2, 1)];
    assert_eq!(world.take(), vec![told(1, advance(to, all)), told(2, advance(to, vec![add(1, 1)]))]);
}

#[test]
fn changes_of_a_segment_come_in_one_advance_in_commit_order() {
    let mut world = World::new();
    world.join_and_watch(1);
    world.store.write(vec![add(1, 1), add(2, 2)]);
    world.store.write(vec![add(2, 3), add(1, 4)]);
    world.publish();
    let changes = vec![add(1, 1), add(2, 2), add(2, 3), add(1, 4)];
    assert_eq!(world.take(), vec![told(1, advance(world.position(), changes))]);
}

#[test]
fn what_commits_while_rows_are_read_is_in_the_answer_once() {
    let mut world = World::new();
    world.commit(vec![add(1, 5)]);
    world.join(1);
    world.subscribe(1, vec![(1, all_rows()), (2, one_cell(2))]);
    world.commit(vec![add(1, 1), add(2, 2)]);
    world.answer(0);
    world.commit(vec![add(2, 4)]);
    assert_eq!(world.take(), vec![], "half an answer is none");
    world.answer(0);
    let answer = vec![snapshot(1, &[(1, 6), (2, 6)]), snapshot(2, &[(2, 6)])];
    assert_eq!(world.take(), vec![told(1, with_snapshots(world.position(), answer))]);
    let to = world.commit(vec![add(2, 1)]);
    assert_eq!(world.take(), vec![told(1, advance(to, vec![add(2, 1)]))]);
}

#[test]
fn held_interests_go_on_while_new_ones_are_read() {
    let mut world = World::new();
    world.join(1);
    world.subscribe(1, vec![(1, one_row(1))]);
    world.answer_all();
    world.take();
    world.subscribe(1, vec![(2, all_rows())]);
    let to = world.commit(vec![add(1, 1), add(2, 1)]);
    assert_eq!(world.take(), vec![told(1, advance(to, vec![add(1, 1)]))]);
    world.answer_all();
    let answer = vec![snapshot(2, &[(1, 1), (2, 1)])];
    assert_eq!(world.take(), vec![told(1, with_snapshots(to, answer))]);
}

#[test]
fn two_subscriptions_that_overlap_have_an_answer_each_in_the_order_of_the_replies() {
    let mut world = World::new();
    world.join(1);
    world.subscribe(1, vec![(1, all_rows())]);
    world.commit(vec![add(1, 1)]);
    world.subscribe(1, vec![(2, one_row(1))]);
    let to = world.commit(vec![add(1, 2)]);
    world.answer(1);
    assert_eq!(world.take(), vec![told(1, with_snapshots(to, vec![snapshot(2, &[(1, 3)])]))]);
    let later = world.commit(vec![add(1, 4)]);
    assert_eq!(world.take(), vec![told(1, advance(later, vec![add(1, 4)]))], "for the second");
    world.answer(0);
    assert_eq!(world.take(), vec![told(1, with_snapshots(later, vec![snapshot(1, &[(1, 7)])]))]);
}

#[test]
fn an_interest_that_is_left_while_it_is_read_is_not_answered() {
    let mut world = World::new();
    world.join(1);
    world.subscribe(1, vec![(1, all_rows()), (2, one_cell(1))]);
    world.say(1, unsubscribe(&[1]));
    world.commit(vec![add(1, 1), add(2, 1)]);
    world.answer_all();
    let to = world.position();
    assert_eq!(world.take(), vec![told(1, with_snapshots(to, vec![snapshot(2, &[(1, 1)])]))]);
    world.subscribe(1, vec![(3, all_rows())]);
    world.say(1, unsubscribe(&[3]));
    world.answer_all();
    assert_eq!(world.take(), vec![]);
}

#[test]
fn the_last_open_interest_that_is_left_completes_the_answer() {
    let mut world = World::new();
    world.join(1);
    world.subscribe(1, vec![(1, all_rows()), (2, one_cell(1))]);
    world.answer(0);
    world.say(1, unsubscribe(&[2]));
    assert_eq!(world.take(), vec![told(1, with_snapshots(world.position(), vec![snapshot(1, &[])]))]);
}

#[test]
fn rows_of_an_interest_that_is_left_after_they_were_read_are_not_sent() {
    let mut world = World::new();
    world.commit(vec![add(1, 1)]);
    world.join(1);
    world.subscribe(1, vec![(1, all_rows()), (2, one_cell(1))]);
    world.answer(0);
    world.say(1, unsubscribe(&[1]));
    world.commit(vec![add(2, 1)]);
    world.answer_all();
    assert_eq!(world.take(), vec![told(1, with_snapshots(world.position(), vec![snapshot(2, &[(1, 1)])]))]);
}

#[test]
fn a_name_can_be_used_again_while_the_answer_to_its_first_use_is_on_the_way() {
    let mut world = World::new();
    world.commit(vec![add(1, 1), add(2, 2)]);
    world.join(1);
    world.subscribe(1, vec![(1, one_row(1))]);
    world.say(1, unsubscribe(&[1]));
    world.subscribe(1, vec![(1, one_row(2))]);
    world.answer_all();
    assert_eq!(world.take(), vec![told(1, with_snapshots(world.position(), vec![snapshot(1, &[(2, 2)])]))]);
}

#[test]
fn the_same_interest_under_two_names_gets_each_change_once() {
    let mut world = World::new();
    world.join(1);
    world.subscribe(1, vec![(1, all_rows()), (2, all_rows())]);
    world.answer_all();
    world.take();
    let to = world.commit(vec![add(1, 1)]);
    assert_eq!(world.take(), vec![told(1, advance(to, vec![add(1, 1)]))]);
    world.say(1, unsubscribe(&[1]));
    let to = world.commit(vec![add(1, 1)]);
    assert_eq!(world.take(), vec![told(1, advance(to, vec![add(1, 1)]))], "the other name still stands");
    world.say(1, unsubscribe(&[2]));
    world.commit(vec![add(1, 1)]);
    assert_eq!(world.take(), vec![]);
}

#[test]
fn the_end_of_a_row_reaches_those_who_watch_one_of_its_cells() {
    let mut world = World::new();
    world.commit(vec![add(1, 1)]);
    world.join(1);
    world.subscribe(1, vec![(1, one_cell(1))]);
    let gone = Write { cell: iolite_values::Cell::row(cell(1, "n").table, key(1)), operation: Operation::Delete };
    let to = world.commit(vec![gone.clone()]);
    world.answer_all();
    assert_eq!(world.take(), vec![told(1, with_snapshots(to, vec![snapshot(1, &[])]))]);
    let to = world.commit(vec![gone.clone()]);
    assert_eq!(world.take(), vec![told(1, advance(to, vec![gone]))]);
}

#[test]
fn rows_that_are_too_old_to_read_are_read_again_as_of_now() {
    let mut world = World::new();
    world.join(1);
    world.subscribe(1, vec![(1, all_rows())]);
    world.commit(vec![add(1, 1)]);
    world.store.low_watermark = world.position();
    world.answer_all();
    assert_eq!(world.take(), vec![told(1, with_snapshots(world.position(), vec![snapshot(1, &[(1, 1)])]))]);
}

#[test]
fn changes_that_fill_the_buffer_make_the_rows_be_read_again() {
    let mut world = World::new();
    world.join(1);
    world.subscribe(1, vec![(1, one_cell(1)), (2, one_row(2))]);
    let before = world.asked.len();
    world.commit(vec![put(2, "x".repeat(crate::limits::LOAD_BUFFER_BYTES_MAX))]);
    assert_eq!(world.asked.len(), 2 * before);
    world.commit(vec![add(1, 3)]);
    world.answer_all();
    let said = world.take();
    let [Said::To(1, FromGateway::Advance(first)), ..] = &said[..] else { panic!("{said:?}") };
    assert_eq!(first.snapshots[0], snapshot(1, &[(1, 3)]));
    assert!(first.to > Timestamp::ZERO);
}

#[test]
fn changes_that_later_ones_make_good_for_do_not_fill_the_buffer() {
    let mut world = World::new();
    world.join(1);
    world.subscribe(1, vec![(1, all_rows())]);
    for round in 0..10 {
        world.commit(vec![put(2, round.to_string().repeat(300_000)), add(1, 1)]);
    }
    assert_eq!(world.asked.len(), 1, "it is read once");
}

#[test]
fn what_is_written_faster_than_it_is_read_is_declined_for_now() {
    let mut world = World::new();
    world.join(1);
    world.subscribe(1, vec![(1, one_row(1000))]);
    world.answer_all();
    world.take();
    world.subscribe(1, vec![(2, all_rows())]);
    let (mut row, mut said) = (0, Vec::new());
    while said.is_empty() && row < 50 {
        row += 1;
        world.commit(vec![put(row, "x".repeat(700_000))]);
        said = world.take();
    }
    let why = Declination::Later;
    let declined = vec![Declined { subscription: SubscriptionId(2), why }];
    assert_eq!(said, vec![told(1, Advance { declined, ..advance(world.position(), vec![]) })]);
    assert_eq!(world.asked.len(), 4, "it was read again with room for twice as much, and then no more");
    let to = world.commit(vec![add(1000, 1), add(1, 1)]);
    assert_eq!(world.take(), vec![told(1, advance(to, vec![add(1000, 1)]))], "the others go on");
    world.asked.clear();
    world.subscribe(1, vec![(2, one_row(1))]);
    world.answer_all();
    assert_eq!(world.take().len(), 1, "and it can be asked for again");
}
