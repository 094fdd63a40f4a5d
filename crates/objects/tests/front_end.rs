//! LoadBalancedFrontEnd: its copies, and the coordinator that looks after them.

#[allow(dead_code, reason = "each test file uses its own part of the world")]
mod world;

use std::time::Duration;

use iolite_objects::{Placing, Right};
use iolite_values::{DeviceRight, ObjectEpoch};
use iolite_wire::objects::{Answer, CallFailure, Component, FromDevice, NotRun, Rpc};

use self::world::{At, World, answer, call, hello, object};

const MANAGERS: &str = "LoadBalancedFrontEnd copies=3";

/// Nodes of the service with the class, and a device that calls.
fn world_of(servers: usize) -> (World, Vec<At>, At) {
    let mut world = if servers == 2 { World::two([false, false]) } else { World::new(false) };
    world.managers = MANAGERS.to_owned();
    let nodes = (0..5).map(|at| world.device_at(at % servers, true, true)).collect();
    world.managers = String::new();
    let caller = world.device(false, false);
    world.place_under(caller, "home", MANAGERS, Placing::AtServer).expect("it begins");
    (world, nodes, caller)
}

/// How many calls each node has run.
fn runs(world: &mut World, nodes: &[At]) -> Vec<usize> {
    nodes.iter().map(|node| world.app(*node).callers.len()).collect()
}

fn has_it(world: &mut World, nodes: &[At]) -> usize {
    nodes.iter().filter(|node| world.app(**node).objects.contains_key(&object("home"))).count()
}

fn pass(world: &mut World, seconds: u64) {
    for _second in 0..seconds {
        world.pass(Duration::from_secs(1));
    }
}

#[test]
fn calls_go_to_three_copies_evenly() {
    let (mut world, nodes, caller) = world_of(1);
    assert_eq!(has_it(&mut world, &nodes), 3);
    for _call in 0..9 {
        world.call(caller, "home", "add").expect("it runs");
    }
    let mut runs = runs(&mut world, &nodes);
    runs.sort_unstable();
    assert_eq!(runs, [0, 0, 3, 3, 3]);
}

/// One of three is killed under load: first a copy, then the object itself.
#[test]
fn a_lost_copy_is_replaced_and_no_call_fails_that_was_not_under_way() {
    let (mut world, mut nodes, caller) = world_of(1);
    for is_owner in [false, true] {
        lose(&mut world, &mut nodes, is_owner);
        for _second in 0..20 {
            world.call(caller, "home", "add").expect("another copy runs it");
            pass(&mut world, 1);
        }
        assert_eq!(has_it(&mut world, &nodes), 3, "three again");
        let before = runs(&mut world, &nodes);
        for _call in 0..9 {
            world.call(caller, "home", "add").expect("it runs");
        }
        let after = runs(&mut world, &nodes);
        let more: usize = before.iter().zip(&after).filter(|(before, after)| **after == **before + 3).count();
        assert_eq!(more, 3, "{before:?} {after:?}");
    }
}

/// The node with the object itself is gone for good, or one with a copy.
fn lose(world: &mut World, nodes: &mut Vec<At>, is_owner: bool) {
    let owner = world.rows[&object("home")].places[0];
    let mut has =
        |node: At| world.app(node).objects.contains_key(&object("home")) && (world.node(node) == owner) == is_owner;
    let at = nodes.iter().position(|node| has(*node)).expect("there is one");
    let At::Device(lost) = nodes.remove(at) else { panic!("it is a device") };
    world.devices[lost].is_away = true;
    world.cut(lost);
}

/// The memory of a coordinator is in the row: the next server goes on with the same copies.
#[test]
fn a_coordinator_survives_its_server() {
    let (mut world, mut nodes, caller) = world_of(2);
    let has = |world: &mut World, nodes: &[At]| -> Vec<bool> {
        nodes.iter().map(|node| world.app(*node).objects.contains_key(&object("home"))).collect()
    };
    let before = has(&mut world, &nodes);
    assert_eq!(has_it(&mut world, &nodes), 3);
    world.call(caller, "home", "add").expect("it runs");
    world.coordinate_at(1);
    pass(&mut world, 6);
    assert_eq!(before, has(&mut world, &nodes), "no copy is made anew");
    lose(&mut world, &mut nodes, false);
    pass(&mut world, 6);
    assert_eq!(has_it(&mut world, &nodes), 3, "the second server has made another one");
    for _call in 0..6 {
        world.call(caller, "home", "add").expect("it runs");
    }
}

/// The store begins anew while the memory of a coordinator is on its way, and the buckets stay with their server.
#[test]
fn a_coordinator_whose_memory_is_in_doubt_goes_on_looking_after_its_copies() {
    for is_kept in [false, true] {
        let (mut world, mut nodes, caller) = world_of(1);
        lose(&mut world, &mut nodes, false);
        world.tracking_waits = true;
        pass(&mut world, 5);
        world.track_to_memory();
        world.doubt_answers(is_kept);
        pass(&mut world, 6);
        assert_eq!(has_it(&mut world, &nodes), 3, "no copy is made twice");
        lose(&mut world, &mut nodes, false);
        pass(&mut world, 6);
        assert_eq!(has_it(&mut world, &nodes), 3, "the next one is replaced too");
        for _call in 0..6 {
            world.call(caller, "home", "add").expect("it runs");
        }
    }
}

/// The coordinator of an object that has gone knows nothing of the next one under its name.
#[test]
fn an_object_that_begins_anew_has_its_copies_again() {
    let (mut world, nodes, caller) = world_of(1);
    world.rows.remove(&object("home"));
    pass(&mut world, 6);
    nodes.iter().for_each(|node| world.app(*node).objects.clear());
    let At::Device(owner) = nodes[0] else { panic!("it is a device") };
    world.cut(owner);
    world.place_under(caller, "home", MANAGERS, Placing::AtServer).expect("it begins anew");
    pass(&mut world, 6);
    assert!(has_it(&mut world, &nodes) >= 3, "{:?}", world.rows[&object("home")]);
}

/// A device that does not own the object says something to the manager at another node.
#[test]
fn a_device_speaks_to_no_manager_at_another_node_unless_it_owns_the_object() {
    let mut world = World::new(false);
    let (owner, cache) = (world.device(false, true), world.device(false, true));
    world.create_under(owner, "home", "WriteThroughCaching lease=5000").expect("it begins");
    world.call(cache, "home", "get").expect("it reads a copy");
    let session = world.stranger();
    world.says(session, hello());
    let FromDevice::Call { number, to, rpc } = call(world.node(cache), "home", ObjectEpoch(1)) else {
        panic!("a call")
    };
    let rpc = Rpc { method: String::new(), component: Component::Proxy(0), ..rpc };
    let replies = world.says(session, FromDevice::Call { number, to, rpc });
    assert_eq!(answer(&replies), Some(&Answer::NotHere));
}

/// The coordinator has the state of the object itself, to make copies of it. Devices may ask for nothing of it.
#[test]
fn a_device_is_not_given_the_state_of_an_object_with_copies() {
    let (mut world, _, _) = world_of(1);
    let session = world.stranger();
    world.says(session, hello());
    let owner = world.rows[&object("home")].places[0];
    let FromDevice::Call { number, to, rpc } = call(owner, "home", ObjectEpoch(1)) else { panic!("a call") };
    let rpc = Rpc { method: String::new(), component: Component::Instance(0), ..rpc };
    let replies = world.says(session, FromDevice::Call { number, to, rpc });
    assert_eq!(answer(&replies), Some(&Answer::Failed(CallFailure::NotRun(NotRun::NotPermitted))));
}

/// A rule of a class may look at the name of the method. A device says that name, and which part of the object a call is for, and what it claims.
#[test]
fn a_device_has_the_right_of_each_method_that_it_runs_and_of_each_thing_that_it_claims() {
    let mut world = World::new(true);
    world.create_under(At::Server, "home", "WriteThroughCaching lease=5000").expect("it begins");
    let session = world.stranger();
    world.says(session, hello());
    let FromDevice::Call { to, rpc, .. } = call(world.node(At::Server), "home", ObjectEpoch(1)) else {
        panic!("a call")
    };
    let method = |name: &str| Right::Call { method: name.to_owned() };
    let (read, hold) = (Right::Read, Right::Hold);
    let parts = [
        (Component::Method, DeviceRight::Call, vec![method("set")]),
        (Component::Method, DeviceRight::Hold, vec![method("set"), hold.clone()]),
        (Component::Proxy(0), DeviceRight::Read, vec![method("set"), read.clone()]),
        (Component::Instance(0), DeviceRight::Call, vec![method("")]),
        (Component::Instance(0), DeviceRight::Read, vec![read]),
        (Component::Coordinator(0), DeviceRight::Hold, vec![hold]),
    ];
    for (number, (component, claim, rights)) in parts.into_iter().enumerate() {
        // An object of its own for each, so no yes is kept of one before.
        let object = object(&format!("home {number}"));
        let rpc = Rpc { method: "set".to_owned(), component, claim, object, ..rpc.clone() };
        world.asked_rights.clear();
        world.says(session, FromDevice::Call { number: 1 + number as u64, to, rpc });
        assert_eq!(world.asked_rights, rights, "{component:?} {claim:?}");
    }
}

/// The door may take back the first of two rights while it thinks about the second.
#[test]
fn a_right_that_is_withdrawn_while_another_one_is_asked_for_is_asked_for_again() {
    let mut world = World::new(true);
    world.create(At::Server, "home", Placing::Here).expect("it begins");
    let session = world.stranger();
    world.says(session, hello());
    let FromDevice::Call { number, to, rpc } = call(world.node(At::Server), "home", ObjectEpoch(1)) else {
        panic!("a call")
    };
    let run = Right::Call { method: rpc.method.clone() };
    world.slow_right = Some(Right::Hold);
    world.says(session, FromDevice::Call { number, to, rpc: Rpc { claim: DeviceRight::Hold, ..rpc } });
    world.withdraw(session, object("home"), run.clone());
    world.closed.insert("Counter".into());
    world.door_answers();
    assert_eq!(world.asked_rights, [run.clone(), Right::Hold, run]);
    let replies = world.hears(session);
    assert_eq!(answer(&replies), Some(&Answer::Failed(CallFailure::NotRun(NotRun::NotPermitted))));
}
