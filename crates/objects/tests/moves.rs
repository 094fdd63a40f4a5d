//! Objects that move, nodes that are lost and come back, and servers that reach each other's nodes.

#[allow(dead_code, reason = "each test file uses its own part of the world")]
mod world;

use std::time::Duration;

use iolite_objects::limits::STATE_BYTES_MAX;
use iolite_objects::{CallError, CallResult, Created, Placing};
use iolite_values::{DeviceRight, ObjectEpoch};
use iolite_wire::objects::{Answer, NotRun};

use self::world::{At, World, object};

fn not_run(why: NotRun) -> CallResult {
    Err(CallError::NotRun(why))
}

fn is_new(created: &Result<Created, CallError>) -> bool {
    matches!(created, Ok(Created::New(_)))
}

#[test]
fn an_object_moves_with_its_state_and_callers_follow_it() {
    let mut world = World::new(true);
    let (one, two) = (world.device(true, true), world.device(false, true));
    world.create(At::Server, "home", Placing::Here).expect("it begins");
    assert_eq!(world.call(two, "home", "add"), Ok(vec![1]));
    for (from, to, epoch) in [(At::Server, one, 2), (one, two, 3), (two, At::Server, 4)] {
        let moved = world.go(from, "home", to).expect("it moves");
        assert_eq!((moved.epoch, moved.places), (ObjectEpoch(epoch), vec![world.node(to)]));
        // Its caller knows where it was.
        let before = world.questions;
        assert_eq!(world.call(two, "home", "add"), Ok(vec![epoch as u8]));
        assert_eq!(world.questions, before, "the old owner says where it has gone, and tracking is not asked");
        assert_eq!(world.app(from).objects.len(), 0);
    }
}

#[test]
fn a_state_that_is_longer_than_a_message_moves_and_one_that_is_too_long_does_not() {
    let mut world = World::new(true);
    let one = world.device(true, true);
    world.create(At::Server, "home", Placing::Here).expect("it begins");
    world.app(At::Server).padding = STATE_BYTES_MAX;
    let refused = world.go(At::Server, "home", one);
    assert!(matches!(refused, Err(CallError::NotRun(NotRun::TooLarge(_)))), "{refused:?}");
    assert_eq!(world.call(one, "home", "add"), Ok(vec![1]), "it goes on where it is");
    for (from, to) in [(At::Server, one), (one, At::Server)] {
        world.app(from).padding = STATE_BYTES_MAX - 1;
        world.go(from, "home", to).expect("it moves");
    }
    assert_eq!(world.call(one, "home", "add"), Ok(vec![2]));
}

#[test]
fn a_move_waits_for_methods_that_run_and_calls_wait_for_the_move() {
    let mut world = World::new(true);
    let one = world.device(true, true);
    world.create(At::Server, "home", Placing::Here).expect("it begins");
    let runs = world.start(At::Server, "home", "wait");
    let to = world.node(one);
    let going = world.start_move(At::Server, "home", to);
    let waits = world.start(one, "home", "add");
    assert_eq!(world.answer(one, waits), None);
    let run = world.run(At::Server);
    world.end(At::Server, run);
    assert_eq!(world.answer(At::Server, runs), Some(Ok(vec![42])));
    assert!(world.app(At::Server).moved.remove(&going).expect("an answer").is_ok());
    assert_eq!(world.answer(one, waits), Some(Ok(vec![1])), "it ran at the new node");
    // A method that does not end keeps its object.
    world.start(one, "home", "wait");
    let to = world.node(At::Server);
    let going = world.start_move(one, "home", to);
    world.pass(Duration::from_secs(5));
    assert_eq!(world.app(one).moved.remove(&going), Some(Err(CallError::NotRun(NotRun::Busy))));
}

#[test]
fn a_move_whose_answer_is_lost_has_happened_or_not_and_one_node_serves() {
    for happened in [false, true] {
        let mut world = World::new(true);
        let one = world.device(true, true);
        world.create(At::Server, "home", Placing::Here).expect("it begins");
        world.tracking_waits = true;
        let to = world.node(one);
        let going = world.start_move(At::Server, "home", to);
        let waits = world.start(At::Server, "home", "add");
        world.lose_answers(happened);
        assert!(world.app(At::Server).moved.remove(&going).expect("an answer").is_ok(), "it is asked again");
        assert_eq!(world.answer(At::Server, waits), Some(Ok(vec![1])));
        assert_eq!(world.rows[&object("home")].epoch, ObjectEpoch(2));
    }
}

#[test]
fn a_device_that_loses_its_connection_in_a_move_takes_its_object_back_or_hears_that_it_has_gone() {
    for happened in [false, true] {
        let mut world = World::new(true);
        let one = world.device(true, true);
        world.create(one, "home", Placing::Here).expect("it begins");
        // The server looks at the row first, and then holds the object itself.
        world.tracking_waits = true;
        let to = world.node(At::Server);
        let going = world.start_move(one, "home", to);
        if happened {
            world.track(false);
        } else {
            world.forget_questions();
        }
        world.cut(0);
        world.track(true);
        for _second in 0..7 {
            world.pass(Duration::from_secs(1));
        }
        let moved = world.app(one).moved.remove(&going).expect("an answer");
        let at = world.rows[&object("home")].places[0];
        assert_eq!(at == to, happened, "{moved:?}");
        assert_eq!(world.call(one, "home", "add"), Ok(vec![1]));
        assert_eq!(world.call(At::Server, "home", "add"), Ok(vec![2]));
        let here = [At::Server, one].map(|at| world.app(at).objects.len());
        assert_eq!(here.into_iter().sum::<usize>(), 1, "nobody keeps a copy");
    }
}

#[test]
fn a_device_that_holds_an_object_and_was_not_told_asks_what_has_become_of_it() {
    let mut world = World::new(true);
    let (one, two) = (world.device(true, true), world.device(true, true));
    world.create(one, "home", Placing::Here).expect("it begins");
    world.tracking_waits = true;
    let to = world.node(two);
    world.start_move(one, "home", to);
    // The row is looked at, the object is held, and the commit is under way when the new node's connection breaks.
    world.track(false);
    world.cut(1);
    world.track(true);
    world.pass(Duration::from_secs(1));
    assert_eq!(world.call(one, "home", "add"), Ok(vec![1]));
    assert_eq!(world.app(two).objects.len(), 1);
}

#[test]
fn a_device_drops_what_it_holds_of_a_move_that_was_refused_as_it_could_not_be_reached() {
    let mut world = World::new(true);
    let (one, two) = (world.device(true, true), world.device(true, true));
    world.create(one, "home", Placing::Here).expect("it begins");
    world.keep(1);
    let to = world.node(two);
    let moved = world.start_move(one, "home", to);
    // The object comes, and the answer is lost with the connection.
    let hold = world.kept(1);
    world.cut(1);
    hold.into_iter().for_each(|message| world.deliver(1, message));
    assert_eq!(world.app(one).moved.remove(&moved), Some(Err(CallError::NotRun(NotRun::Unreachable))));
    assert_eq!(world.app(two).objects.len(), 1);
    world.pass(Duration::from_secs(1));
    assert_eq!(world.app(two).objects.len(), 0);
    assert_eq!(world.call(two, "home", "add"), Ok(vec![1]), "it is where it was");
}

#[test]
fn devices_of_users_get_no_object_of_a_class_that_is_not_for_them() {
    let mut world = World::new(true);
    let (user, service) = (world.device(false, true), world.device(true, true));
    world.create_as(At::Server, "home", Placing::Here, DeviceRight::Call).expect("it begins");
    assert_eq!(world.go(At::Server, "home", user), Err(CallError::NotRun(NotRun::NotPermitted)));
    assert!(world.go(At::Server, "home", service).is_ok());
    let created = world.create_as(user, "other", Placing::Here, DeviceRight::Call);
    assert_eq!(created, Err(CallError::NotRun(NotRun::NotPermitted)));
}

#[test]
fn a_door_that_says_no_lets_no_call_no_creation_and_no_object_through() {
    let mut world = World::new(true);
    let (one, two) = (world.device(false, true), world.device(false, true));
    world.create(one, "home", Placing::Here).expect("the door is open");
    world.create(At::Server, "own", Placing::Here).expect("the server asks nobody");
    let knocks = world.knocks;
    for _again in 0..3 {
        world.call(two, "home", "add").expect("the door is open");
    }
    assert_eq!(world.knocks, knocks + 1, "a yes is kept");
    world.closed.insert("Counter".into());
    assert_eq!(world.call(two, "home", "get"), not_run(NotRun::NotPermitted));
    for placing in [Placing::Here, Placing::AtServer] {
        assert_eq!(world.create(two, "more", placing), Err(CallError::NotRun(NotRun::NotPermitted)));
    }
    assert_eq!(world.go(At::Server, "own", two), Err(CallError::NotRun(NotRun::NotPermitted)));
    assert_eq!(world.app(two).objects.len(), 0);
}

#[test]
fn an_object_of_a_service_node_that_stays_away_begins_anew_and_the_old_one_is_fenced() {
    let mut world = World::new(true);
    let (service, user) = (world.device(true, true), world.device(false, true));
    for (at, id) in [(service, "shared"), (service, "kept"), (user, "own")] {
        world.create(at, id, Placing::Here).expect("it begins");
        assert_eq!(world.call(at, id, "add"), Ok(vec![1]));
    }
    world.devices[0].is_away = true;
    world.devices[1].is_away = true;
    world.cut(0);
    world.cut(1);
    for _second in 0..20 {
        world.pass(Duration::from_secs(1));
    }
    // A node of the service serves nobody without its server, and a device of a user does.
    assert_eq!(world.call(service, "shared", "add"), not_run(NotRun::LeaseUnavailable));
    assert_eq!(world.call(user, "own", "add"), Ok(vec![2]));
    assert_eq!(world.call(At::Server, "shared", "get"), not_run(NotRun::Unreachable), "it may come back");
    assert_eq!(world.find(At::Server, "shared"), Ok(None), "whoever wants it may begin it anew");
    assert!(matches!(world.find(At::Server, "own"), Ok(Some(_))));
    assert!(is_new(&world.create(At::Server, "shared", Placing::Here)));
    assert!(!is_new(&world.create(At::Server, "own", Placing::Here)));
    world.devices[0].is_away = false;
    world.devices[1].is_away = false;
    for _second in 0..6 {
        world.pass(Duration::from_secs(1));
    }
    assert_eq!(world.rows[&object("shared")].epoch, ObjectEpoch(2));
    assert_eq!(world.call(service, "shared", "add"), Ok(vec![1]), "the one that began anew");
    assert_eq!(world.call(service, "kept", "add"), Ok(vec![2]), "nobody has taken it");
    assert_eq!(world.call(At::Server, "own", "add"), Ok(vec![3]));
    assert_eq!(world.app(service).objects.len(), 1);
}

#[test]
fn an_object_whose_process_has_ended_is_gone_and_begins_anew() {
    let mut world = World::new(true);
    let one = world.device(false, true);
    world.create(one, "home", Placing::Here).expect("it begins");
    world.restart(0);
    assert_eq!(world.call(At::Server, "home", "get"), Err(CallError::Gone));
    assert!(is_new(&world.create(At::Server, "home", Placing::Here)));
    assert_eq!(world.call(one, "home", "add"), Ok(vec![1]));
}

#[test]
fn a_row_that_names_a_node_which_has_no_such_object_is_removed() {
    let mut world = World::new(true);
    let one = world.device(false, true);
    world.create(one, "home", Placing::Here).expect("it begins");
    // As after a restore: the row is there, and the object is not.
    let placed = world.rows[&object("home")].clone();
    world.rows.insert(object("lost"), placed);
    assert_eq!(world.call(At::Server, "lost", "get"), not_run(NotRun::Unreachable));
    assert_eq!(world.call(At::Server, "lost", "get"), Err(CallError::Gone));
}

#[test]
fn an_owner_of_whom_others_know_a_later_epoch_looks_at_its_row_before_it_serves() {
    let mut world = World::new(true);
    let one = world.device(false, true);
    world.create(one, "home", Placing::Here).expect("it begins");
    // Somebody has begun it anew at the server, and the device has not heard.
    let mut placed = world.rows[&object("home")].clone();
    (placed.epoch, placed.places) = (ObjectEpoch(2), vec![world.node(At::Server)]);
    world.rows.insert(object("home"), placed);
    let session = world.stranger();
    world.says(session, world::hello());
    let replies = world.says(session, world::call(world.node(one), "home", ObjectEpoch(2)));
    assert!(matches!(world::answer(&replies), Some(Answer::NotHere)), "{replies:?}");
    assert_eq!(world.app(one).objects.len(), 0, "it is not its any more");
}

#[test]
fn servers_carry_calls_to_each_other_and_to_the_devices_behind_them() {
    let mut world = World::two([true, false]);
    let (here, there) = (world.device_at(0, false, true), world.device_at(1, false, true));
    world.create(At::Server, "server's", Placing::Here).expect("it begins");
    world.create(here, "device's", Placing::Here).expect("it begins");
    for id in ["server's", "device's"] {
        assert_eq!(world.call(there, id, "add"), Ok(vec![1]));
        assert_eq!(world.call(At::Second, id, "add"), Ok(vec![2]));
    }
    let before = world.questions;
    assert_eq!(world.call(there, "device's", "add"), Ok(vec![3]));
    assert_eq!(world.questions, before, "the way is known");
    // The second server does not run the class, and the first one does.
    assert!(is_new(&world.create(there, "placed", Placing::AtServer)));
    assert_eq!(world.rows[&object("placed")].places, [world.node(At::Server)]);
    assert_eq!(world.call(there, "placed", "add"), Ok(vec![1]));
    // An object moves over the link, and back.
    world.app(At::Server).padding = 1 << 20;
    world.go(At::Server, "placed", there).expect("it moves");
    assert_eq!(world.call(here, "placed", "add"), Ok(vec![2]));
    world.go(there, "placed", At::Server).expect("it moves");
    assert_eq!(world.call(there, "placed", "add"), Ok(vec![3]));
}

#[test]
fn an_object_that_begins_behind_another_server_serves_at_once() {
    let mut world = World::two([false, false]);
    world.device(true, true);
    let caller = world.device_at(1, false, false);
    assert!(is_new(&world.create(caller, "home", Placing::AtServer)));
    assert_eq!(world.call(caller, "home", "add"), Ok(vec![1]));
}

#[test]
fn a_node_that_was_not_told_to_serve_asks_after_a_while() {
    let mut world = World::two([true, false]);
    let there = world.device_at(1, false, true);
    world.create(At::Server, "home", Placing::Here).expect("it begins");
    world.call(At::Server, "home", "add").expect("it runs");
    // The object is held there, and the word that its epoch is committed is lost.
    world.tracking_waits = true;
    let to = world.node(there);
    world.start_move(At::Server, "home", to);
    world.track_next();
    world.peers_are_deaf = true;
    world.track(true);
    world.peers_are_deaf = false;
    let ticket = world.start(there, "home", "add");
    assert_eq!(world.answer(there, ticket), None, "its owner does not know it yet");
    world.pass(Duration::from_secs(5));
    assert_eq!(world.answer(there, ticket), Some(Ok(vec![2])));
}

#[test]
fn a_device_that_comes_back_at_another_server_is_found_there_at_once() {
    let mut world = World::two([true, false]);
    let (one, caller) = (world.device_at(0, false, true), world.device_at(1, false, false));
    world.create(one, "home", Placing::Here).expect("it begins");
    assert_eq!(world.call(caller, "home", "add"), Ok(vec![1]));
    world.roam(0, 1);
    assert_eq!(world.call(caller, "home", "add"), Ok(vec![2]));
    assert_eq!(world.call(At::Server, "home", "add"), Ok(vec![3]));
    world.roam(0, 0);
    // The first server knows the way; the second one has to ask anew.
    assert_eq!(world.call(At::Server, "home", "add"), Ok(vec![4]));
    assert_eq!(world.call(caller, "home", "add"), Ok(vec![5]));
}

#[test]
fn a_call_over_a_link_that_ends_is_in_doubt_and_over_none_it_does_not_run() {
    let mut world = World::two([true, false]);
    world.create(At::Server, "home", Placing::Here).expect("it begins");
    let ticket = world.start(At::Second, "home", "wait");
    for at in 0..2 {
        world.unlink(at);
    }
    assert!(matches!(world.answer(At::Second, ticket), Some(Err(CallError::InDoubt(_)))));
    assert_eq!(world.call(At::Second, "home", "add"), not_run(NotRun::Unreachable));
}

#[test]
fn a_call_that_a_link_has_dropped_is_in_doubt_when_its_time_is_over() {
    let mut world = World::two([true, false]);
    let caller = world.device_at(1, false, false);
    world.create(At::Server, "home", Placing::Here).expect("it begins");
    assert_eq!(world.call(caller, "home", "add"), Ok(vec![1]));
    world.peers_are_deaf = true;
    let ticket = world.start(caller, "home", "add");
    world.pass(Duration::from_secs(10));
    assert!(matches!(world.answer(caller, ticket), Some(Err(CallError::InDoubt(_)))));
}

#[test]
fn servers_of_different_stores_have_nothing_to_say_to_each_other() {
    let mut world = World::two([true, false]);
    world.create(At::Server, "home", Placing::Here).expect("it begins");
    world.other_store(1);
    assert_eq!(world.call(At::Second, "home", "add"), not_run(NotRun::Unreachable));
}

#[test]
fn a_server_without_a_lease_serves_nothing_and_looks_at_its_rows_when_it_has_one_again() {
    let mut world = World::two([true, true]);
    for id in ["taken", "kept"] {
        world.create(At::Server, id, Placing::Here).expect("it begins");
    }
    let runs = world.start(At::Server, "kept", "wait");
    world.pass(Duration::from_secs(3600));
    assert_eq!(world.call(At::Server, "kept", "add"), not_run(NotRun::LeaseUnavailable));
    let run = world.run(At::Server);
    world.end(At::Server, run);
    assert!(matches!(world.answer(At::Server, runs), Some(Err(CallError::InDoubt(_)))), "it may be lost");
    // The second server has begun one of them anew.
    let mut placed = world.rows[&object("taken")].clone();
    (placed.epoch, placed.places) = (ObjectEpoch(2), vec![world.node(At::Second)]);
    world.rows.insert(object("taken"), placed);
    world.lease(0, Duration::from_secs(5));
    assert_eq!(world.call(At::Server, "kept", "add"), Ok(vec![1]));
    assert_eq!(world.app(At::Server).objects.len(), 1);
}
