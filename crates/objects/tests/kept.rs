//! Objects that a device keeps over the end of its process.

#[allow(dead_code, reason = "each test file uses its own part of the world")]
mod world;

use std::time::Duration;

use iolite_objects::{Broken, CallError, Created, Placing};
use iolite_values::{NodeId, NodeLife, ObjectEpoch};
use iolite_wire::objects::NotRun;

use self::world::{At, World, object};

#[test]
fn what_a_device_has_kept_is_there_after_its_process_has_ended() {
    let mut world = World::new(false);
    let (one, two) = (world.device(false, true), world.device(false, true));
    world.create(one, "home", Placing::Here).expect("it begins");
    world.call(two, "home", "add").expect("it runs");
    let node = world.node(one);
    world.resume(0);
    assert_eq!(world.node(one), node, "it is the same life");
    assert_eq!(world.rows[&object("home")].epoch, ObjectEpoch(2), "it is served after a commit");
    assert_eq!(world.call(two, "home", "add"), Ok(vec![2]));
    assert!(matches!(world.create(one, "home", Placing::Here), Ok(Created::WasThere(_))), "no new one begins");
}

#[test]
fn a_call_waits_for_what_was_kept_until_its_row_is_known() {
    let mut world = World::new(false);
    let one = world.device(false, true);
    world.create(one, "home", Placing::Here).expect("it begins");
    world.tracking_waits = true;
    world.resume(0);
    world.track_next();
    let ticket = world.start(one, "home", "add");
    assert_eq!(world.answer(one, ticket), None, "who owns it is not known");
    world.track(true);
    assert_eq!(world.answer(one, ticket), Some(Ok(vec![1])));
}

#[test]
fn what_has_gone_elsewhere_is_not_served_however_often_it_was_kept() {
    let mut world = World::new(false);
    let (one, two) = (world.device(false, true), world.device(false, true));
    world.create(one, "home", Placing::Here).expect("it begins");
    let before = world.app(one).kept.clone();
    world.go(one, "home", two).expect("it moves");
    assert_eq!(world.app(one).kept.len(), 0, "what has left is not kept");
    // The process has ended before it heard so.
    world.app(one).kept = before;
    world.resume(0);
    assert_eq!((world.app(one).objects.len(), world.app(one).kept.len()), (0, 0));
    assert_eq!(world.call(one, "home", "add"), Ok(vec![1]), "it is the other device's");
}

#[test]
fn an_object_that_was_held_when_the_process_ended_comes_when_its_move_is_decided() {
    for is_decided in [true, false] {
        let mut world = World::new(false);
        let (one, two) = (world.device(false, true), world.device(false, true));
        world.create(one, "home", Placing::Here).expect("it begins");
        world.call(one, "home", "add").expect("it runs");
        let to = world.node(two);
        world.tracking_waits = true;
        world.start_move(one, "home", to);
        world.track_next();
        assert_eq!(world.app(two).kept.len(), 1, "it is held there");
        world.resume(1);
        if is_decided {
            world.track_next();
        }
        // It registers, and asks for the row.
        world.track_last();
        world.track_last();
        assert_eq!(world.app(two).objects.len(), 1, "the row may name it soon");
        world.track(true);
        world.pass(Duration::from_secs(6));
        assert_eq!(world.call(one, "home", "add"), Ok(vec![2]), "it is there, with its state");
        assert_eq!([one, two].map(|at| world.app(at).objects.len()), [0, 1]);
        assert_eq!(world.rows[&object("home")].epoch, ObjectEpoch(3), "it is served after a commit of its own");
    }
}

#[test]
fn what_an_app_cannot_make_again_stays_its_node_s_until_one_comes_that_can() {
    let mut world = World::new(false);
    let (one, two) = (world.device(false, true), world.device(false, true));
    world.create(one, "home", Placing::Here).expect("it begins");
    world.call(one, "home", "add").expect("it runs");
    world.resume_without(0, &["home"]);
    let refused = Err(CallError::NotRun(NotRun::WrongVersion(7)));
    assert_eq!(world.call(two, "home", "add"), refused);
    assert_eq!(world.call(one, "home", "add"), refused);
    assert!(matches!(world.create(one, "home", Placing::Here), Ok(Created::WasThere(_))), "it does not begin anew");
    assert_eq!(world.app(one).kept[&object("home")].1, 1, "it is kept still");
    world.resume(0);
    assert_eq!(world.call(two, "home", "add"), Ok(vec![2]));
    // One that is gone begins anew, whatever was left of it.
    world.rows.clear();
    world.resume_without(0, &["home"]);
    assert_eq!(world.create(one, "home", Placing::Here), Err(CallError::NotRun(NotRun::Busy)), "it asks");
    assert!(matches!(world.create(one, "home", Placing::Here), Ok(Created::New(_))));
}

#[test]
fn a_move_whose_first_try_was_refused_comes_to_a_device_that_was_closed_meanwhile() {
    let mut world = World::new(false);
    let (one, two) = (world.device(false, true), world.device(true, true));
    world.create(one, "home", Placing::Here).expect("it begins");
    let to = world.node(two);
    world.tracking_waits = true;
    world.start_move(one, "home", to);
    world.track_next();
    // The second device holds it, is lost, and is marked before the move is decided.
    world.devices[1].is_away = true;
    world.cut(1);
    world.pass(Duration::from_secs(20));
    world.track_last();
    world.track(true);
    assert_eq!(world.rows[&object("home")].epoch, ObjectEpoch(1), "the move is refused");
    world.devices[1].is_away = false;
    world.resume(1);
    assert_eq!(world.app(two).objects.len(), 1, "it waits for a move that nobody decides");
    world.call(two, "home", "add").expect("the first device has it");
    world.go(one, "home", two).expect("it moves");
    assert_eq!(world.call(one, "home", "add"), Ok(vec![2]));
}

#[test]
fn a_door_that_says_no_lets_no_kept_object_through() {
    let mut world = World::new(false);
    let (one, two) = (world.device(false, true), world.device(false, true));
    world.create(one, "home", Placing::Here).expect("it begins");
    world.closed.insert("Counter".to_owned());
    world.resume(0);
    assert_eq!(world.rows[&object("home")].epoch, ObjectEpoch(1), "no commit");
    world.closed.clear();
    world.pass(Duration::from_secs(1));
    assert_eq!(world.call(two, "home", "add"), Ok(vec![1]));
}

#[test]
fn a_life_that_has_ended_meanwhile_leaves_nothing() {
    let mut world = World::new(false);
    let one = world.device(false, true);
    world.create(one, "home", Placing::Here).expect("it begins");
    let kept = world.app(one).kept.clone();
    // Another process takes the name, and ends.
    world.restart(0);
    let NodeId { life, .. } = world.node(one);
    assert_eq!(life, NodeLife(2));
    world.app(one).kept = kept;
    world.resume(0);
    assert_eq!(world.app(one).objects.len(), 0, "its row is of a life that is over");
}

#[test]
fn a_lease_that_the_ended_process_gave_is_over_before_another_one_is_given() {
    let lease = "LeaseCaching lease=5000";
    for broken in [Broken::Nothing, Broken::ServeWhatWasKept] {
        let mut world = World::new(false);
        (world.managers, world.broken) = (lease.to_owned(), broken);
        let nodes = [(); 3].map(|()| world.device(false, true));
        let [owner, holder, other] = nodes;
        world.create_under(owner, "home", lease).expect("it begins");
        assert_eq!(world.call(holder, "home", "add"), Ok(vec![1]));
        let At::Device(place) = owner else { panic!("it is a device") };
        world.resume(place);
        let ticket = world.start(other, "home", "add");
        let given_at_once = world.answer(other, ticket).is_some_and(|answer| answer.is_ok());
        assert_eq!(given_at_once, broken != Broken::Nothing, "the holder may read still");
        world.pass(Duration::from_secs(6));
        assert_eq!(world.call(other, "home", "add"), Ok(vec![2 + u8::from(given_at_once)]));
    }
}

#[test]
fn a_state_that_a_transaction_has_not_committed_is_not_kept() {
    for manager in ["LockingTransactions", "OptimisticTransactions"] {
        let mut world = World::new(false);
        manager.clone_into(&mut world.managers);
        let one = world.device(false, true);
        world.create_under(one, "home", manager).expect("it begins");
        world.manage(one, "home", manager, "begin").expect("it begins");
        world.call(one, "home", "add").expect("it runs aside");
        let number = |world: &mut World| world.app(one).kept[&object("home")].1;
        assert_eq!(number(&mut world), 0, "nothing is committed");
        world.manage(one, "home", manager, "commit").expect("it commits");
        assert_eq!(number(&mut world), 1);
    }
}
