//! Objects whose owners have ended, or are lost.

use std::time::Duration;

use iolite_machine::Machine;
use iolite_values::{NodeId, ObjectEpoch};
use iolite_wire::objects::{Placed, TrackAnswer};

use super::world::*;
use crate::{Ask, Output, Told};

fn find() -> Ask {
    Ask::Find(object("a"))
}

fn move_to(from: u64, to: NodeId) -> Ask {
    Ask::Move { object: object("a"), from: ObjectEpoch(from), places: vec![to] }
}

/// Two trackers and devices 1 to 3. Device 1, which may be part of the service, has an object.
fn one_object(serves: bool) -> World {
    let mut world = World::with_devices(2, 3);
    if serves {
        world.answer(0, register_serving(1, 1, 7));
    }
    assert_eq!(world.answer(0, begin("a", node(1, 1))), begun(placed(1, &[node(1, 1)])));
    world
}

#[test]
fn an_object_is_gone_with_the_life_of_its_owner_and_begins_anew_in_the_next_epoch() {
    let mut world = one_object(false);
    world.answer(0, register(1, 0, 7));
    assert_eq!(world.answer(0, find()), unknown());
    assert_eq!(world.answer(0, begin("a", node(2, 1))), begun(placed(2, &[node(2, 1)])));
    assert_eq!(world.answer(0, find()), found(placed(2, &[node(2, 1)])));
    // A node without a row has no life.
    assert_eq!(world.answer(0, begin("b", node(9, 1))), begun(placed(1, &[node(9, 1)])));
    assert_eq!(world.answer(0, Ask::Find(object("b"))), unknown());
    assert_eq!(world.answer(0, begin("b", node(2, 1))), begun(placed(2, &[node(2, 1)])));
}

#[test]
fn an_object_of_a_lost_node_begins_anew_if_the_node_serves_and_is_said_to_be_lost_until_then() {
    let row = placed(1, &[node(1, 1)]);
    let lost = Told::Track(TrackAnswer::Lost);
    for (serves, where_it_is, answer) in
        [(false, found(row.clone()), found(row.clone())), (true, lost, begun(placed(2, &[node(2, 1)])))]
    {
        let mut world = one_object(serves);
        assert_eq!(world.answer(0, begin("a", node(2, 1))), found(row.clone()), "its owner is there");
        assert_eq!(world.answer(0, gone(1, 7)), Told::Lost);
        assert_eq!(world.answer(0, find()), where_it_is);
        assert_eq!(world.answer(0, begin("a", node(2, 1))), answer, "serves: {serves}");
    }
}

#[test]
fn an_object_that_is_kept_for_good_never_begins_anew() {
    let mut world = World::with_devices(2, 3);
    let Ask::Begin { begin, at } = begin_with("KeepInPlace".into(), "a", node(1, 1)) else { panic!("it begins") };
    let row = Placed { declared: begin.declared.clone(), ..placed(1, &[node(1, 1)]) };
    assert_eq!(world.answer(0, Ask::Begin { begin: begin.clone(), at }), begun(row.clone()));
    // Another process has the name of its owner.
    world.answer(0, register(1, 0, 7));
    assert_eq!(world.answer(0, find()), found(row.clone()));
    assert_eq!(world.answer(0, Ask::Begin { begin, at: node(2, 1) }), found(row));
}

#[test]
fn an_object_of_a_lost_server_begins_anew_and_none_moves_there() {
    let mut world = World::with_devices(2, 1);
    world.answer(0, register_server(1, 0));
    world.answer(0, begin("a", server_node(1, 1)));
    world.trackers[0].is_stopped = true;
    world.pass(Duration::from_secs(10));
    assert_eq!(world.answer(1, begin("a", node(1, 1))), begun(placed(2, &[node(1, 1)])));
    assert_eq!(world.answer(1, move_to(2, server_node(1, 1))), unreachable());
}

#[test]
fn a_find_of_a_tracker_that_is_behind_waits_until_it_hears_that_the_owner_has_ended() {
    let mut world = one_object(false);
    world.hold_feed(1);
    world.answer(0, register(1, 0, 7));
    world.ask(1, 1, find());
    world.settle();
    assert_eq!(world.take(1), []);
    world.release_feed(1);
    assert_eq!(world.take(1), [(1, unknown())]);
}

#[test]
fn an_object_and_its_owner_are_read_at_one_timestamp() {
    let mut world = one_object(false);
    world.ask(1, 1, find());
    let Some(Output::Request(id, read)) = world.trackers[1].tracking.poll() else { panic!("it reads the object") };
    world.answer(0, move_to(1, node(2, 1)));
    world.answer(0, register(1, 0, 7));
    world.carry_request(1, id, read);
    world.settle();
    assert_eq!(world.take(1), [(1, found(placed(2, &[node(2, 1)])))]);
}

#[test]
fn an_object_does_not_begin_anew_if_its_owner_is_heard_of_meanwhile() {
    let mut world = one_object(true);
    world.answer(0, gone(1, 7));
    world.hold_commits(1);
    world.ask(1, 1, begin("a", node(2, 1)));
    world.settle();
    world.answer(0, register_serving(1, 1, 7));
    world.release_commits(1);
    assert_eq!(world.take(1), [(1, found(placed(1, &[node(1, 1)])))]);
}

#[test]
fn an_object_moves_to_no_node_that_has_ended_or_is_lost() {
    let mut world = one_object(false);
    world.answer(0, gone(2, 7));
    world.answer(0, register(3, 0, 7));
    for to in [node(2, 1), node(3, 1), node(9, 1)] {
        assert_eq!(world.answer(0, move_to(1, to)), unreachable(), "{to}");
    }
    let stands = Told::Stands(placed(1, &[node(1, 1)]));
    assert_eq!(world.answer(0, move_to(7, node(2, 1))), stands, "the row is of another epoch");
    assert_eq!(world.answer(0, move_to(1, node(3, 2))), Told::Moved(placed(2, &[node(3, 2)])));
}

#[test]
fn an_owner_that_is_lost_takes_its_object_back_while_its_life_lasts() {
    let mut world = one_object(true);
    world.answer(0, gone(1, 7));
    assert_eq!(world.answer(0, move_to(1, node(1, 1))), Told::Moved(placed(2, &[node(1, 1)])));
    world.answer(0, register(1, 0, 7));
    assert_eq!(world.answer(0, move_to(2, node(1, 1))), unreachable());
}

#[test]
fn an_object_does_not_move_if_its_new_owner_is_lost_meanwhile() {
    let mut world = one_object(false);
    world.hold_commits(1);
    world.ask(1, 1, move_to(1, node(2, 1)));
    world.settle();
    world.answer(0, gone(2, 7));
    world.release_commits(1);
    assert_eq!(world.take(1), [(1, unreachable())]);
}

/// A coordinator has heard that the owner is lost. It may have come back since.
#[test]
fn a_copy_takes_the_place_of_an_owner_only_while_that_is_over() {
    let take = || Ask::Take { object: object("a"), from: ObjectEpoch(1), at: node(2, 1) };
    for serves in [false, true] {
        let (mut world, row) = (one_object(serves), placed(1, &[node(1, 1)]));
        assert_eq!(world.answer(0, take()), Told::Stands(row.clone()), "it is there");
        assert_eq!(world.answer(0, gone(1, 7)), Told::Lost);
        let taken = if serves { Told::Moved(placed(2, &[node(2, 1)])) } else { Told::Stands(row) };
        assert_eq!(world.answer(0, take()), taken, "serves: {serves}");
    }
}
