//! Objects that move, and end.

use iolite_values::{NodeId, ObjectEpoch};

use super::world::*;
use crate::{Ask, Told};

fn move_to(from: u64, places: &[NodeId]) -> Ask {
    Ask::Move { object: object("a"), from: ObjectEpoch(from), places: places.to_vec() }
}

fn remove(from: u64) -> Ask {
    Ask::Remove { object: object("a"), from: ObjectEpoch(from) }
}

#[test]
fn of_two_moves_from_one_epoch_one_happens_and_the_other_sees_where_the_object_is() {
    let mut world = World::with_devices(2, 3);
    let places = [node(1, 1), node(2, 1), node(3, 1)];
    world.answer(0, begin("a", places[0]));
    world.ask(0, 1, move_to(1, &places[1..]));
    world.ask(1, 1, move_to(1, &places[..1]));
    world.settle();
    let row = placed(2, &places[1..]);
    assert_eq!(world.take(0), [(1, Told::Moved(row.clone()))]);
    assert_eq!(world.take(1), [(1, Told::Stands(row.clone()))]);
    assert_eq!(world.answer(1, Ask::Find(object("a"))), found(row));
    assert_eq!(world.answer(1, move_to(2, &places[..1])), Told::Moved(placed(3, &places[..1])));
}

#[test]
fn an_object_that_was_removed_is_unknown_and_the_next_one_has_a_higher_epoch() {
    let mut world = World::with_devices(1, 2);
    for ask in [move_to(1, &[node(1, 1)]), remove(1), Ask::Find(object("a"))] {
        assert_eq!(world.answer(0, ask), unknown());
    }
    world.answer(0, begin("a", node(1, 1)));
    assert_eq!(world.answer(0, remove(7)), Told::Stands(placed(1, &[node(1, 1)])));
    assert_eq!(world.answer(0, remove(1)), Told::Removed);
    for ask in [move_to(2, &[node(1, 1)]), remove(2), Ask::Find(object("a"))] {
        assert_eq!(world.answer(0, ask), unknown());
    }
    assert_eq!(world.answer(0, begin("a", node(2, 1))), begun(placed(3, &[node(2, 1)])));
}
