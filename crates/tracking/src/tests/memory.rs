//! The memory of the coordinators of an object.

use iolite_values::{NodeId, ObjectEpoch};
use iolite_wire::objects::{NotRun, TrackAnswer};

use super::world::*;
use crate::limits::MEMORY_BYTES_MAX;
use crate::{Ask, Told};

fn recall() -> Ask {
    Ask::Recall(object("a"))
}

fn remember(was: &str, memory: &str) -> Ask {
    remember_of(1, was, memory)
}

fn remember_of(epoch: u64, was: &str, memory: &str) -> Ask {
    Ask::Remember { object: object("a"), from: ObjectEpoch(epoch), was: was.into(), memory: memory.into() }
}

/// The object is at this node in this epoch.
fn recalled(epoch: u64, at: NodeId, is_over: bool, memory: &str) -> Told {
    Told::Recalled { placed: placed(epoch, &[at]), is_over, memory: memory.into() }
}

fn move_to(from: u64, to: NodeId) -> Ask {
    Ask::Move { object: object("a"), from: ObjectEpoch(from), places: vec![to] }
}

/// Two trackers and devices 1 and 2. Device 1 has an object.
fn one_object() -> World {
    let mut world = World::with_devices(2, 2);
    world.answer(0, begin("a", node(1, 1)));
    world
}

#[test]
fn a_memory_is_kept_over_a_move_and_empty_when_the_object_begins() {
    let mut world = World::with_devices(2, 2);
    for ask in [recall(), remember("", "1")] {
        assert_eq!(world.answer(0, ask), unknown());
    }
    world.answer(0, begin("a", node(1, 1)));
    assert_eq!(world.answer(0, recall()), recalled(1, node(1, 1), false, ""));
    assert_eq!(world.answer(0, remember("", "1")), Told::Remembered);
    world.answer(0, move_to(1, node(2, 1)));
    assert_eq!(world.answer(1, recall()), recalled(2, node(2, 1), false, "1"));
    world.answer(0, Ask::Remove { object: object("a"), from: ObjectEpoch(2) });
    for ask in [recall(), remember("1", "2"), remember("", "2")] {
        assert_eq!(world.answer(0, ask), unknown());
    }
    world.answer(0, begin("a", node(1, 1)));
    let now = recalled(4, node(1, 1), false, "");
    assert_eq!(world.answer(0, remember_of(3, "", "3")), now, "the one before it had the same memory");
    assert_eq!(world.answer(0, remember_of(4, "", "3")), Told::Remembered);
    world.answer(0, register(1, 0, 7));
    world.answer(0, begin("a", node(2, 1)));
    assert_eq!(world.answer(0, recall()), recalled(5, node(2, 1), false, ""), "it has begun anew");
}

#[test]
fn of_two_that_remember_at_once_one_does_and_the_other_recalls_that() {
    let mut world = one_object();
    world.ask(0, 1, remember("", "first"));
    world.ask(1, 1, remember("", "second"));
    world.settle();
    assert_eq!(world.take(0), [(1, Told::Remembered)]);
    assert_eq!(world.take(1), [(1, recalled(1, node(1, 1), false, "first"))]);
    assert_eq!(world.answer(1, remember("first", "first")), Told::Remembered);
    assert_eq!(world.answer(1, remember("first", "")), Told::Remembered);
    assert_eq!(world.answer(0, recall()), recalled(1, node(1, 1), false, ""));
}

#[test]
fn a_memory_hinders_no_move() {
    let mut world = one_object();
    world.hold_commits(1);
    world.ask(1, 1, move_to(1, node(2, 1)));
    world.settle();
    world.hold_feed(1);
    assert_eq!(world.answer(0, remember("", "1")), Told::Remembered);
    world.release_commits(1);
    assert_eq!(world.take(1), [(1, Told::Moved(placed(2, &[node(2, 1)])))]);
}

#[test]
fn a_tracker_that_is_behind_recalls_what_was_remembered_before_the_question() {
    let mut world = one_object();
    world.hold_feed(1);
    world.answer(0, remember("", "1"));
    world.ask(1, 1, recall());
    world.settle();
    assert_eq!(world.take(1), []);
    world.release_feed(1);
    assert_eq!(world.take(1), [(1, recalled(1, node(1, 1), false, "1"))]);
}

#[test]
fn a_recall_says_whether_the_object_would_begin_anew() {
    for (serves, managers, after_mark, after_end) in
        [(false, "Any", false, true), (true, "Any", true, true), (true, "KeepInPlace", false, false)]
    {
        let mut world = World::with_devices(1, 1);
        if serves {
            world.answer(0, register_serving(1, 1, 7));
        }
        world.answer(0, begin_with(managers.into(), "a", node(1, 1)));
        let is_over = |world: &mut World| match world.answer(0, recall()) {
            Told::Recalled { is_over, .. } => is_over,
            other => panic!("{other:?}"),
        };
        assert!(!is_over(&mut world), "{managers}");
        world.answer(0, gone(1, 7));
        assert_eq!(is_over(&mut world), after_mark, "{managers}, serves: {serves}");
        world.answer(0, register(1, 0, 7));
        assert_eq!(is_over(&mut world), after_end, "{managers}, serves: {serves}");
    }
}

#[test]
fn coordinators_of_an_object_remember_so_many_bytes() {
    let mut world = one_object();
    let most = "x".repeat(MEMORY_BYTES_MAX);
    assert_eq!(world.answer(0, remember("", &most)), Told::Remembered);
    let told = world.answer(0, remember(&most, &(most.clone() + "x")));
    assert!(matches!(told, Told::Track(TrackAnswer::Refused(NotRun::TooLarge(_)))), "{told:?}");
    assert_eq!(world.answer(0, recall()), recalled(1, node(1, 1), false, &most));
}
