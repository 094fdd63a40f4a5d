//! Tokens that run out, and devices whose names belong to their users.

#[allow(dead_code, reason = "each test file uses its own part of the world")]
mod world;

use std::time::Duration;

use iolite_objects::{CallError, LinkState, Placing, TokenSource};
use iolite_values::{Id, NodeName};
use iolite_wire::message::GoodbyeReason;
use iolite_wire::objects::{DeviceHello, FromDevice, ToDevice};

use self::world::{At, World, hello, object};

const SECOND: Duration = Duration::from_secs(1);

/// A device of ann, who signs in until then.
fn of_ann(world: &mut World, until: u64) -> At {
    world.token = TokenSource::Asked;
    let At::Device(at) = world.device(false, true) else { panic!("a device") };
    world.give_token(at, Ok(&format!("ann {until}")));
    At::Device(at)
}

fn refusals(world: &World, device: usize) -> Vec<&str> {
    let refused = world.devices[device].states.iter().filter_map(|state| match state {
        LinkState::Refused(why) => Some(why.as_str()),
        LinkState::Open(_) | LinkState::Lost | LinkState::Ended(_) => None,
    });
    refused.collect()
}

fn is_open(world: &World, device: usize) -> bool {
    matches!(world.devices[device].states.last(), Some(LinkState::Open(_)))
}

#[test]
fn a_device_asks_once_before_its_first_hello() {
    let mut world = World::new(true);
    world.token = TokenSource::Asked;
    world.device(false, true);
    world.pass(100 * SECOND);
    assert_eq!((world.devices[0].wants, world.devices[0].states.len()), (1, 0), "it waits for its host");
    world.give_token(0, Ok("ann 900"));
    let Some(LinkState::Open(welcome)) = world.devices[0].states.last() else { panic!("it is let in") };
    assert_eq!(welcome.token_left, Some(799 * SECOND + Duration::from_micros(999_000)));
    assert_ne!(welcome.device.name, NodeName::Device(Id::from_u128(100)), "the name belongs to ann");
    assert_eq!(world.node(At::Device(0)), welcome.device, "the kernel goes by it");
}

#[test]
fn another_token_takes_the_place_of_one_that_runs_out() {
    let mut world = World::new(true);
    let device = of_ann(&mut world, 100);
    world.create(device, "home", Placing::Here).expect("it begins");
    world.pass(79 * SECOND);
    assert_eq!(world.devices[0].wants, 1);
    world.pass(SECOND);
    assert_eq!(world.devices[0].wants, 2, "at 80 % of its time");
    world.give_token(0, Ok("ann 200"));
    world.pass(90 * SECOND);
    assert_eq!(world.devices[0].wants, 2, "the new one has its own time");
    world.pass(6 * SECOND);
    assert_eq!((world.devices[0].wants, world.devices[0].states.len()), (3, 1), "on the same connection");
    assert_eq!(world.call(At::Server, "home", "add"), Ok(vec![1]));
}

#[test]
fn a_session_whose_token_has_run_out_goes_on_with_another_one_and_its_call_is_in_doubt() {
    let mut world = World::new(true);
    let device = of_ann(&mut world, 100);
    world.create(At::Server, "home", Placing::Here).expect("it begins");
    let node = world.node(device);
    let ticket = world.start(device, "home", "wait");
    world.pass(9 * SECOND);
    world.close_door(0, "the token has run out");
    assert!(matches!(world.answer(device, ticket), Some(Err(CallError::InDoubt(_)))), "a call that was sent is told");
    assert_eq!(refusals(&world, 0), ["the token has run out"]);
    world.pass(2 * SECOND);
    assert_eq!(world.devices[0].wants, 2, "its host is asked");
    world.pass(100 * SECOND);
    assert!(!is_open(&world, 0) && world.devices[0].wants == 2, "it says no hello without a token, and asks once");
    world.give_token(0, Ok("ann 900"));
    assert_eq!((is_open(&world, 0), world.node(device)), (true, node), "the same node");
    assert!(world.create(device, "other", Placing::AtServer).is_ok());
}

#[test]
fn a_host_without_a_good_token_is_asked_again_after_pauses_that_grow() {
    let mut world = World::new(true);
    world.token = TokenSource::Asked;
    world.device(false, true);
    let mut wants = Vec::new();
    for _ in 0..100 {
        if world.devices[0].wants > wants.len() {
            wants.push(());
            // Refused by the host itself, then by the server.
            let token = if wants.len() % 2 == 0 { Ok("wrong") } else { Err("nobody is signed in") };
            world.give_token(0, token);
        }
        world.pass(SECOND);
    }
    assert!((4..12).contains(&wants.len()), "{}", wants.len());
    assert_eq!(refusals(&world, 0)[..2], ["nobody is signed in", "the token is wrong"]);
}

#[test]
fn a_token_that_is_still_good_goes_on_when_the_host_has_no_other() {
    let mut world = World::new(true);
    let device = of_ann(&mut world, 100);
    world.create(At::Server, "home", Placing::Here).expect("it begins");
    world.pass(80 * SECOND);
    world.give_token(0, Err("offline"));
    assert_eq!(world.call(device, "home", "add"), Ok(vec![1]));
    assert_eq!(refusals(&world, 0), [""; 0]);
}

#[test]
fn a_token_of_somebody_else_ends_the_session_and_the_device() {
    let mut world = World::new(true);
    let device = of_ann(&mut world, 100);
    world.create(device, "home", Placing::Here).expect("it begins");
    let (node, row) = (world.node(device), world.rows[&object("home")].clone());
    world.pass(80 * SECOND);
    world.give_token(0, Ok("bob 900"));
    assert_eq!(refusals(&world, 0), ["the token is of another user"]);
    world.pass(2 * SECOND);
    world.give_token(0, Ok("bob 900"));
    let Some(LinkState::Ended(goodbye)) = world.devices[0].states.last() else { panic!("it has ended") };
    assert!(goodbye.reason == GoodbyeReason::OtherUser && goodbye.message.contains("of another user than before"));
    assert_eq!((world.node(device), &world.rows[&object("home")]), (node, &row), "nothing is bob's");
    assert_eq!(world.app(device).objects.len(), 1, "ann's objects stay");
    world.pass(1000 * SECOND);
    assert_eq!(world.devices[0].wants, 3, "it asks no more");
}

#[test]
fn what_was_kept_goes_on_under_the_name_that_the_server_gave() {
    let mut world = World::new(true);
    let device = of_ann(&mut world, 1000);
    world.create(device, "home", Placing::Here).expect("it begins");
    world.call(At::Server, "home", "add").expect("it runs");
    world.resume(0);
    world.pass(SECOND);
    world.give_token(0, Ok("ann 2000"));
    assert_eq!(world.call(At::Server, "home", "add"), Ok(vec![2]));
    world.resume(0);
    world.pass(SECOND);
    world.give_token(0, Ok("bob 2000"));
    assert!(matches!(world.devices[0].states.last(), Some(LinkState::Ended(_))), "what ann has kept is not bob's");
    assert_eq!(world.app(device).kept.len(), 1);
}

#[test]
fn a_stranger_who_knows_what_a_device_has_drawn_is_another_node() {
    let mut world = World::new(true);
    let device = of_ann(&mut world, 1000);
    world.create(device, "home", Placing::Here).expect("it begins");
    let node = world.node(device);
    let FromDevice::Hello(own) = hello() else { panic!("a hello") };
    let NodeName::Device(name) = node.name else { panic!("a device") };
    for known in [Id::from_u128(100), name] {
        let session = world.stranger();
        let hello = DeviceHello { token: "bob 900".into(), device: known, life: node.life, ..own.clone() };
        let replies = world.says(session, FromDevice::Hello(hello));
        let Some(ToDevice::Welcome(welcome)) = replies.first() else { panic!("{replies:?}") };
        assert_ne!(welcome.device.name, node.name);
        let keep = FromDevice::Keep { number: 1, object: object("home"), epoch: world.rows[&object("home")].epoch };
        world.says(session, keep);
        assert!(is_open(&world, 0), "ann's session goes on");
        assert_eq!(world.rows[&object("home")].places, [node]);
    }
    assert_eq!(world.call(At::Server, "home", "add"), Ok(vec![1]), "and she answers");
}

#[test]
fn a_user_is_no_part_of_the_service() {
    let mut world = World::new(true);
    let FromDevice::Hello(own) = hello() else { panic!("a hello") };
    let session = world.stranger();
    let hello = DeviceHello { token: "ann 900".into(), serves: true, ..own };
    let replies = world.says(session, FromDevice::Hello(hello));
    let Some(ToDevice::Goodbye(goodbye)) = replies.last() else { panic!("{replies:?}") };
    assert!(goodbye.message.contains("with the operator's token"), "{}", goodbye.message);
}
