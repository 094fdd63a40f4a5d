//! Nodes that come, and come back.

use std::collections::BTreeMap;

use iolite_values::{CellState, ColumnId, Row, Value};

use super::world::*;
use crate::tables::Place;
use crate::{Ask, Told};

fn scalar(value: Value) -> CellState {
    CellState::Scalar(value)
}

#[test]
fn a_node_that_comes_back_keeps_its_life_and_any_other_gets_the_next() {
    let mut world = World::new(1);
    let lives = [(0, 1), (1, 1), (0, 2), (1, 3), (3, 3), (9, 4)];
    for (known, life) in lives {
        assert_eq!(world.answer(0, register(1, known, 7)), registered(node(1, life), 0), "known: {known}");
    }
    assert_eq!(world.answer(0, register(2, 0, 7)), registered(node(2, 1), 0), "lives are each node's own");
}

#[test]
fn of_two_that_come_at_once_under_one_name_each_gets_a_life_of_its_own() {
    let mut world = World::new(2);
    world.answer(0, register(1, 0, 7));
    world.ask(0, 1, register(1, 0, 7));
    world.ask(1, 1, register(1, 0, 8));
    world.settle();
    assert_eq!(world.take(0), [(1, registered(node(1, 2), 0))]);
    assert_eq!(world.take(1), [(1, registered(node(1, 3), 0))]);
}

#[test]
fn the_row_of_a_node_has_its_server_and_its_classes() {
    let mut world = World::new(1);
    world.answer(0, register(1, 0, 7));
    world.answer(0, register_on(4, 1, 1, 8));
    let line = Value::string("3 hold LeaseCaching { lease: 5 s }");
    let classes = CellState::Map(BTreeMap::from([("To do".into(), line)]));
    let cells = [
        ("life", scalar(Value::Int(1))),
        ("serves", scalar(Value::Bool(false))),
        ("at", scalar(Value::Int(8))),
        ("connection", scalar(Value::Int(4))),
        ("lapses", scalar(Value::Int(0))),
        ("classes", classes),
    ];
    let row = Row::from_parts(true, cells.map(|(column, state)| (ColumnId::of(column), state)));
    assert_eq!(world.row(&Place::of_node(device(1))), Some(row));
}

#[test]
fn a_registration_by_an_earlier_connection_changes_nothing_and_the_same_may_come_again() {
    let mut world = World::new(1);
    for (connection, known, at, told) in [
        (5, 0, 7, registered(node(1, 1), 0)),
        (5, 1, 7, registered(node(1, 1), 0)),
        (4, 1, 8, Told::Elsewhere),
        (6, 1, 8, registered(node(1, 1), 0)),
        (5, 1, 7, Told::Elsewhere),
        (1, 0, 9, registered(node(1, 2), 0)),
    ] {
        let before = world.row(&Place::of_node(device(1)));
        assert_eq!(world.answer(0, register_on(connection, 1, known, at)), told, "{connection}");
        let is_same = world.row(&Place::of_node(device(1))) == before;
        assert_eq!(is_same, told == Told::Elsewhere || connection == 5 && known == 1);
    }
}

#[test]
fn the_server_of_a_device_is_told_while_it_is_not_lost_and_in_that_life() {
    let mut world = World::with_devices(2, 1);
    let at = |world: &mut World, life| world.answer(1, Ask::Where(node(1, life)));
    assert_eq!(at(&mut world, 1), Told::At(Some(server(7))));
    assert_eq!(at(&mut world, 2), Told::At(None));
    assert_eq!(world.answer(1, Ask::Where(node(9, 1))), Told::At(None));
    world.hold_feed(1);
    world.answer(0, gone(1, 7));
    world.ask(1, 1, Ask::Where(node(1, 1)));
    world.settle();
    assert_eq!(world.take(1), [], "it is behind");
    world.release_feed(1);
    assert_eq!(world.take(1), [(1, Told::At(None))]);
    world.answer(0, register_on(2, 1, 1, 8));
    assert_eq!(at(&mut world, 1), Told::At(Some(server(8))));
}

#[test]
fn a_registration_tells_how_often_the_life_was_marked_as_lost() {
    let mut world = World::with_devices(2, 1);
    for told in [Told::Lost, Told::Lost] {
        assert_eq!(world.answer(0, gone(1, 7)), told);
    }
    assert_eq!(world.answer(0, register(1, 1, 7)), registered(node(1, 1), 1), "a mark counts once");
    world.hold_commits(1);
    world.ask(1, 1, register(1, 1, 7));
    world.settle();
    world.answer(0, gone(1, 7));
    world.release_commits(1);
    assert_eq!(world.take(1), [(1, registered(node(1, 1), 2))], "a mark that came before it counts");
    assert_eq!(world.answer(0, register(1, 0, 7)), registered(node(1, 2), 0));
}

#[test]
fn a_device_that_two_mark_at_once_has_lapsed_once() {
    let mut world = World::with_devices(2, 1);
    world.ask(0, 1, gone(1, 7));
    world.ask(1, 1, gone(1, 7));
    world.settle();
    assert_eq!((world.take(0), world.take(1)), (vec![(1, Told::Lost)], vec![(1, Told::Lost)]));
    assert_eq!(world.answer(0, register(1, 1, 7)), registered(node(1, 1), 1));
}
