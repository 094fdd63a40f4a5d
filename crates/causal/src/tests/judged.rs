//! Transactions that a gateway has judged by rows: what they were judged by is unchanged when they commit, or the gateway hears of a conflict.

use iolite_store::{CommitReply, Reply};
use iolite_values::{Cell, ColumnId, Element, Read, RowKey, Value};

use super::world::{World, id, table};

/// The set that every transaction of these tests changes.
fn names() -> Read {
    let row = RowKey::new(&[Value::Int(1)]).expect("short");
    Read::Cell { cell: Cell { table: table(), row, column: ColumnId::of("names") }, element: Element::Whole }
}

/// A row that nobody changes.
fn another() -> Read {
    let row = RowKey::new(&[Value::Int(2)]).expect("short");
    Read::Cell { cell: Cell::row(table(), row), element: Element::Whole }
}

/// Two data centres that both have to have a transaction, and have one. The link is cut.
fn cut_off() -> World {
    let mut world = World::new(2, 2);
    world.commit(0, id(1, 1));
    world.settle();
    world.pass(20_000);
    assert_eq!(world.nodes[0].shown, [id(1, 1)]);
    world.cut(0, 1);
    world
}

#[test]
fn what_was_judged_by_a_row_that_has_changed_in_what_is_held_back_is_told_a_conflict() {
    let mut world = cut_off();
    world.commit(0, id(1, 2));
    world.settle();
    assert_eq!(world.nodes[0].shown, [id(1, 1)], "it is held back");
    let at = world.nodes[0].store.commits.last().expect("it was committed").at;
    let judged = world.commit_judged(0, id(2, 1), 10, vec![names()]);
    world.settle();
    let reply = world.nodes[0].replies.get(&judged);
    assert!(matches!(reply, Some(Reply::Commit(CommitReply::Conflict { at_least })) if *at_least == at), "{reply:?}");
    assert!(!world.nodes[0].store.ids(table()).contains(&id(2, 1)));
    // It does not hold up others, and is judged again when that is to be seen.
    let other = world.commit_judged(0, id(3, 1), 10, vec![another()]);
    world.settle();
    assert!(world.nodes[0].committed(other).is_some());
    world.heal(0, 1);
    world.pass(20_000);
    let again = world.commit_judged(0, id(2, 1), 10, vec![names()]);
    world.settle();
    assert!(world.nodes[0].committed(again).is_some());
}

#[test]
fn a_page_that_is_turned_is_no_conflict_of_what_was_judged() {
    let mut world = cut_off();
    let requests: Vec<u64> =
        (1..=40).map(|counter| world.commit_judged(0, id(4, counter), 8 * 1024, vec![another()])).collect();
    world.settle();
    assert!(requests.iter().all(|request| world.nodes[0].committed(*request).is_some()));
}

#[test]
fn what_changes_while_a_commit_is_with_the_store_is_told_a_conflict() {
    let mut world = World::new(2, 1);
    world.commit(0, id(1, 1));
    world.settle();
    let [first, second] = [1, 2].map(|client| world.commit_judged(0, id(10 + client, 1), 10, vec![names()]));
    world.settle();
    let ended = [first, second].map(|request| world.nodes[0].committed(request).is_some());
    assert_eq!(ended.into_iter().filter(|is| *is).count(), 1, "each changes what the other one was judged by");
}

#[test]
fn a_read_of_what_the_feed_has_not_reached_waits_for_it() {
    let mut world = cut_off();
    let request = world.commit(0, id(1, 2));
    world.settle();
    let at = world.nodes[0].committed(request).expect("it is here").at;
    let read = world.read_at(0, at);
    world.settle();
    assert!(matches!(world.nodes[0].replies.get(&read), Some(Reply::ReadAt(Ok(_)))), "nobody waits for the other one");
}
