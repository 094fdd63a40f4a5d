//! Nodes that come, and come back.

use std::collections::BTreeMap;

use iolite_values::{CellState, ColumnId, Row, Value};

use super::world::*;
use crate::Told;
use crate::tables::Place;

fn scalar(value: Value) -> CellState {
    CellState::Scalar(value)
}

#[test]
fn a_node_that_comes_back_keeps_its_life_and_any_other_gets_the_next() {
    let mut world = World::new(1);
    let lives = [(0, 1), (1, 1), (0, 2), (1, 3), (3, 3), (9, 4)];
    for (known, life) in lives {
        assert_eq!(world.answer(0, register(1, known, 7)), Told::Registered(node(1, life)), "known: {known}");
    }
    assert_eq!(world.answer(0, register(2, 0, 7)), Told::Registered(node(2, 1)), "lives are each node's own");
}

#[test]
fn of_two_that_come_at_once_under_one_name_each_gets_a_life_of_its_own() {
    let mut world = World::new(2);
    world.answer(0, register(1, 0, 7));
    world.ask(0, 1, register(1, 0, 7));
    world.ask(1, 1, register(1, 0, 8));
    world.settle();
    assert_eq!(world.take(0), [(1, Told::Registered(node(1, 2)))]);
    assert_eq!(world.take(1), [(1, Told::Registered(node(1, 3)))]);
}

#[test]
fn the_row_of_a_node_has_its_server_and_its_classes() {
    let mut world = World::new(1);
    world.answer(0, register(1, 0, 7));
    world.answer(0, register(1, 1, 8));
    let line = Value::string("3 hold LeaseCaching { lease: 5 s }");
    let classes = CellState::Map(BTreeMap::from([("To do".into(), line)]));
    let cells = [
        ("life", scalar(Value::Int(1))),
        ("serves", scalar(Value::Bool(false))),
        ("at", scalar(Value::Int(8))),
        ("classes", classes),
    ];
    let row = Row::from_parts(true, cells.map(|(column, state)| (ColumnId::of(column), state)));
    assert_eq!(world.row(&Place::of_node(device(1))), Some(row));
}
