//! Instances of nodes that were taken for lost, or whose store is another one, and rows that name a node which has nothing.

#[allow(dead_code, reason = "each test file uses its own part of the world")]
mod world;

use std::time::Duration;

use iolite_machine::{Machine, Now};
use iolite_objects::{Created, FromApp, Placing, ServerInput, ServerOutput, Ticket, ToApp};
use iolite_values::{DeviceRight, Id, ObjectEpoch, StoreIncarnation};
use iolite_wire::objects::Begin;

use self::world::{At, World, declared, object};

#[test]
fn a_move_that_is_refused_after_a_lapse_leaves_the_object_to_whom_its_row_names() {
    let mut world = World::two([true, true]);
    let one = world.device(true, true);
    world.create(At::Server, "home", Placing::Here).expect("it begins");
    world.keep(0);
    let to = world.node(one);
    let ticket = world.start_move(At::Server, "home", to);
    world.pass(Duration::from_secs(3600));
    // The second server has begun it anew meanwhile.
    let mut placed = world.rows[&object("home")].clone();
    (placed.epoch, placed.places) = (ObjectEpoch(2), vec![world.node(At::Second)]);
    world.rows.insert(object("home"), placed.clone());
    world.lease(0, Duration::from_secs(5));
    world.pass(Duration::ZERO);
    // The device, which was to hold it, is lost: the move is refused.
    world.cut(0);
    assert_eq!(world.app(At::Server).objects.len(), 0, "it is the second server's");
    assert_eq!(world.app(At::Server).moved.remove(&ticket), Some(Ok(placed)));
}

#[test]
fn an_answer_to_an_earlier_move_says_nothing_of_the_next_one() {
    let mut world = World::two([true, true]);
    let (one, two) = (world.device(true, true), world.device(true, true));
    world.create(At::Server, "home", Placing::Here).expect("it begins");
    world.keep(0);
    let to = world.node(one);
    world.start_move(At::Server, "home", to);
    // After a lapse the server takes its object back.
    world.pass(Duration::from_secs(3600));
    world.lease(0, Duration::from_secs(5));
    world.pass(Duration::ZERO);
    assert_eq!(world.rows[&object("home")].epoch, ObjectEpoch(2));
    // The first move ends as its device is lost. Before the server hears of it, the second one is under way.
    (world.tracking_waits, world.devices[0].is_away) = (true, true);
    world.cut(0);
    let to = world.node(two);
    world.start_move(At::Server, "home", to);
    world.track_next();
    assert_eq!(world.servers[0].kernel().serving(), [], "it may be the other node's by now");
    world.track(true);
    assert_eq!(world.rows[&object("home")].places, [to]);
    assert_eq!((world.app(At::Server).objects.len(), world.app(two).objects.len()), (0, 1));
}

#[test]
fn devices_of_another_store_register_anew_and_what_they_held_is_gone() {
    let mut world = World::new(true);
    let one = world.device(false, true);
    world.create(one, "home", Placing::Here).expect("it begins");
    world.other_store(0);
    world.pass(Duration::from_secs(2));
    assert_eq!(world.app(one).objects.len(), 0);
    assert!(world.call(one, "home", "add").is_err(), "it has no such object under this store");
}

#[test]
fn what_was_known_of_objects_under_another_store_is_forgotten() {
    let mut world = World::new(true);
    let (one, two) = (world.device(false, true), world.device(false, true));
    world.create(one, "home", Placing::Here).expect("it begins");
    // A call of the second device waits while the object comes there.
    world.start(one, "home", "wait");
    let to = world.node(two);
    world.start_move(one, "home", to);
    let ticket = world.start(two, "home", "get");
    let run = world.run(one);
    world.end(one, run);
    assert_eq!(world.answer(two, ticket), Some(Ok(vec![0])));
    // The other store has an older row.
    world.rows.clear();
    world.other_store(0);
    world.pass(Duration::from_secs(2));
    world.create(At::Server, "home", Placing::Here).expect("it begins");
    assert_eq!(world.rows[&object("home")].epoch, ObjectEpoch(1));
    for at in [one, two, At::Server] {
        assert_eq!(world.call(at, "home", "get"), Ok(vec![0]), "{at:?}");
    }
}

#[test]
fn a_move_that_began_under_another_store_changes_no_row_of_this_one() {
    let mut world = World::two([true, true]);
    let two = world.device_at(1, true, true);
    world.create(At::Server, "home", Placing::Here).expect("it begins");
    let (to, elsewhere) = (world.node(two), world.node(At::Second));
    world.tracking_waits = true;
    // The server asks where the device is.
    world.start_move(At::Server, "home", to);
    // The other store has the object in the same epoch, at another node.
    let placed = world.rows.get_mut(&object("home")).expect("it has begun");
    placed.places = vec![elsewhere];
    let before = world.rows.clone();
    world.other_store(0);
    world.other_store(1);
    world.track(true);
    world.pass(Duration::from_secs(10));
    assert_eq!(world.rows, before);
}

#[test]
fn a_device_whose_connection_ends_while_it_is_registered_is_marked_too() {
    let mut world = World::new(false);
    let one = world.device(true, true);
    let two = world.device(true, true);
    world.create(one, "home", Placing::Here).expect("it begins");
    for happens in [true, false] {
        world.cut(0);
        world.tracking_waits = true;
        world.pass(Duration::from_secs(1));
        // It is about to be registered by its new connection, when that ends for good.
        world.devices[0].is_away = true;
        world.cut(0);
        if happens {
            world.track(true);
        } else {
            world.lose_answers(true);
        }
        world.pass(Duration::from_secs(20));
        let created = world.create(two, "home", Placing::Here);
        assert!(matches!(created, Ok(Created::New(_))), "its owner is marked as lost: {created:?}");
        world.devices[0].is_away = false;
        world.pass(Duration::from_secs(10));
        world.go(two, "home", one).expect("it is there again");
    }
}

#[test]
fn an_object_whose_row_names_its_node_already_begins_by_a_commit_of_its_own() {
    for placing in [Placing::Here, Placing::AtServer] {
        let mut world = World::new(true);
        world.create(At::Server, "home", Placing::Here).expect("it begins");
        // The row of an object that is gone.
        let stale = world.rows[&object("home")].clone();
        world.rows.insert(object("other"), stale);
        let created = world.create(At::Server, "other", placing);
        let Ok(Created::New(placed)) = created else { panic!("it is new: {created:?}") };
        assert_eq!(placed.epoch, ObjectEpoch(2), "whoever removes the row in the epoch before comes too late");
        assert_eq!(world.rows[&object("other")], placed);
        assert_eq!(world.call(At::Server, "other", "add"), Ok(vec![1]));
    }
}

#[test]
fn who_waits_for_an_object_that_is_being_made_hears_that_the_store_has_gone() {
    let mut world = World::new(true);
    let begin = Begin { object: object("home"), declared: declared(DeviceRight::Hold) };
    let create = FromApp::Create { ticket: Ticket(7), begin, state: vec![0], placing: Placing::AtServer };
    let now = Now::default();
    // Its app has not made the object yet.
    world.servers[0].handle(now, ServerInput::App(create));
    world.servers[0].handle(now, ServerInput::Ready(StoreIncarnation(Id::from_u128(10))));
    let ends = std::iter::from_fn(|| world.servers[0].poll());
    let created = ends.filter(|output| matches!(output, ServerOutput::App(ToApp::Created(Ticket(7), Err(_)))));
    assert_eq!(created.count(), 1);
}

#[test]
fn what_is_held_of_an_owner_that_is_lost_is_dropped_after_a_minute() {
    let mut world = World::new(false);
    let (one, two) = (world.device(true, true), world.device(true, true));
    world.create(one, "home", Placing::Here).expect("it begins");
    let to = world.node(two);
    world.tracking_waits = true;
    world.start_move(one, "home", to);
    // It says where the new node is.
    world.track_next();
    assert_eq!(world.app(two).objects.len(), 1);
    // The commit of the move is never decided, and the owner never comes back.
    world.forget_questions();
    world.tracking_waits = false;
    world.devices[0].is_away = true;
    world.cut(0);
    world.pass(Duration::from_secs(50));
    assert_eq!(world.app(two).objects.len(), 1, "it may be this node's yet");
    world.pass(Duration::from_secs(15));
    assert_eq!(world.app(two).objects.len(), 0);
}

#[test]
fn an_object_that_another_node_has_taken_which_is_lost_too_is_dropped_after_a_minute() {
    let mut world = World::new(false);
    let (one, two) = (world.device(true, true), world.device(true, true));
    world.create(one, "home", Placing::Here).expect("it begins");
    for device in [0, 1] {
        world.devices[device].is_away = true;
        world.cut(device);
    }
    world.pass(Duration::from_secs(20));
    let mut placed = world.rows[&object("home")].clone();
    (placed.epoch, placed.places) = (ObjectEpoch(2), vec![world.node(two)]);
    world.rows.insert(object("home"), placed);
    world.devices[0].is_away = false;
    world.pass(Duration::from_secs(10));
    world.pass(Duration::from_secs(50));
    assert_eq!(world.app(one).objects.len(), 1, "the mark may be its own");
    world.pass(Duration::from_secs(15));
    assert_eq!(world.app(one).objects.len(), 0);
}
