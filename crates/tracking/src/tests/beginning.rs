//! Objects that begin, and are found.

use super::world::*;
use crate::Ask;
use crate::tables::Place;

#[test]
fn of_two_that_begin_an_object_at_once_one_begins_it_and_the_other_finds_it() {
    let mut world = World::with_devices(2, 1);
    let (first, second) = (node(1, 1), node(2, 7));
    world.ask(0, 1, begin("a", first));
    world.ask(1, 1, begin("a", second));
    world.settle();
    let row = placed(1, &[first]);
    assert_eq!(world.take(0), [(1, begun(row.clone()))]);
    assert_eq!(world.take(1), [(1, found(row.clone()))]);
    assert_eq!(world.answer(1, Ask::Find(object("a"))), found(row));
}

#[test]
fn a_begin_in_doubt_is_asked_again_until_it_is_known_and_happens_once() {
    for doubts in [vec![Doubt::Lost], vec![Doubt::Done], vec![Doubt::Done, Doubt::Lost, Doubt::Lost]] {
        let mut world = World::new(1);
        world.trackers[0].doubts = doubts;
        assert_eq!(world.answer(0, begin("a", node(1, 1))), begun(placed(1, &[node(1, 1)])));
        assert!(world.trackers[0].doubts.is_empty());
    }
}

#[test]
fn an_object_that_began_before_the_question_is_found_by_one_that_is_behind() {
    let mut world = World::with_devices(2, 1);
    world.hold_feed(1);
    assert_eq!(world.answer(0, begin("a", node(1, 1))), begun(placed(1, &[node(1, 1)])));
    world.ask(1, 1, Ask::Find(object("a")));
    world.ask(1, 2, begin("a", node(2, 1)));
    world.ask(1, 3, Ask::Find(object("b")));
    world.settle();
    assert_eq!(world.take(1), [(3, unknown())], "it is known only that there is no other");
    world.release_feed(1);
    let row = found(placed(1, &[node(1, 1)]));
    assert_eq!(world.take(1), [(1, row.clone()), (2, row)]);
}

#[test]
fn the_store_forgets_outcomes_that_are_known_here() {
    let mut world = World::new(1);
    for number in 0..5 {
        world.answer(0, begin(&number.to_string(), node(1, 1)));
    }
    assert!(world.row(&Place::of_object(&object("4"))).is_some());
    assert_eq!(world.outcomes(0), []);
}
