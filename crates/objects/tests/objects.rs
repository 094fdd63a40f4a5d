//! Objects on a server and on devices: created, called, lost; and what nodes say that lie.

#[allow(dead_code, reason = "each test file uses its own part of the world")]
mod world;

use std::time::Duration;

use iolite_objects::limits::{HOPS_MAX, INSTANCE_CALLS_MAX, INSTANCES_MAX, SESSION_CALLS_MAX, SESSION_UNDRAINED_MAX};
use iolite_objects::{CallError, Created, LinkState, Placing};
use iolite_values::{DeviceRight, Id, NodeLife, ObjectEpoch};
use iolite_wire::message::{GoodbyeReason, ProtocolVersion};
use iolite_wire::objects::{
    Answer, Begin, CallFailure, CallMode, Component, DeviceHello, FromDevice, NotRun, OBJECTS_PROTOCOL_VERSION, Rpc,
    RpcId, ToDevice,
};

use world::{At, World, object};

fn not_run(why: NotRun) -> Result<Vec<u8>, CallError> {
    Err(CallError::NotRun(why))
}

#[test]
fn any_node_calls_an_object_wherever_it_is() {
    let mut world = World::new(true);
    let (one, other) = (world.device(false, true), world.device(false, false));
    assert!(matches!(world.create(At::Server, "on the server", Placing::Here), Ok(Created::New(_))));
    assert!(matches!(world.create(one, "on a device", Placing::Here), Ok(Created::New(_))));
    for id in ["on the server", "on a device"] {
        for (at, count) in [(At::Server, 1), (one, 2), (other, 3)] {
            assert_eq!(world.call(at, id, "add"), Ok(vec![count]), "{id} from {at:?}");
        }
        assert_eq!(world.call(other, id, "get"), Ok(vec![3]), "{id}");
    }
    assert_eq!(world.call(other, "nowhere", "add"), Err(CallError::Gone));
    assert_eq!(world.call(other, "on a device", "sing"), not_run(NotRun::NoSuchMethod));
    // Its owner is not asked where it is again.
    let node = world.node(one);
    assert_eq!(world.rows[&object("on a device")].places, [node]);
}

#[test]
fn an_object_begins_once() {
    let mut world = World::new(true);
    let (one, other) = (world.device(false, true), world.device(false, false));
    world.tracking_waits = true;
    let first = world.start_create(one, "home", Placing::Here);
    let second = world.start_create(other, "home", Placing::AtServer);
    assert!(world.app(one).created.is_empty(), "it is not committed");
    world.track(true);
    let first = world.app(one).created.remove(&first).expect("an answer").expect("no error");
    let second = world.app(other).created.remove(&second).expect("an answer").expect("no error");
    let (Created::New(new), Created::WasThere(was_there)) = (first, second) else { panic!("one of them is new") };
    assert_eq!(new, was_there);
    assert_eq!(world.app(At::Server).objects.len(), 0, "what the server held is dropped");
    assert_eq!(world.call(other, "home", "add"), Ok(vec![1]));
}

#[test]
fn who_creates_an_object_that_is_there_is_told_so() {
    let mut world = World::new(true);
    let one = world.device(false, true);
    for (id, owner) in [("on the server", At::Server), ("on a device", one)] {
        world.create(owner, id, Placing::Here).expect("it begins");
        for (at, placing) in [(owner, Placing::Here), (one, Placing::Here), (one, Placing::AtServer)] {
            let again = world.create(at, id, placing);
            assert!(matches!(again, Ok(Created::WasThere(_))), "{id}, {at:?}, {placing:?}: {again:?}");
        }
    }
}

#[test]
fn a_server_places_an_object_at_a_node_of_the_service_and_at_no_device() {
    let mut world = World::new(false);
    let (user, asker) = (world.device(false, true), world.device(false, false));
    let refused = Err(CallError::NotRun(NotRun::NoHostForClass));
    assert_eq!(world.create(asker, "home", Placing::AtServer), refused);
    let host = world.device(true, true);
    let created = world.create(asker, "home", Placing::AtServer).expect("there is a host now");
    let Created::New(placed) = created else { panic!("it is new") };
    assert_eq!(placed.places, [world.node(host)]);
    assert_eq!(world.call(user, "home", "add"), Ok(vec![1]));
}

#[test]
fn an_object_whose_beginning_is_in_doubt_begins_or_not_as_tracking_says_later() {
    for (happened, placing) in
        [false, true].into_iter().flat_map(|one| [(one, Placing::Here), (one, Placing::AtServer)])
    {
        let mut world = World::new(true);
        world.tracking_waits = true;
        let ticket = world.start_create(At::Server, "home", placing);
        world.lose_answers(happened);
        let created = world.app(At::Server).created.remove(&ticket).expect("an answer");
        assert!(matches!(created, Ok(Created::New(_))), "{happened}, {placing:?}: {created:?}");
        assert_eq!(world.call(At::Server, "home", "add"), Ok(vec![1]));
    }
}

#[test]
fn a_device_that_loses_its_connection_while_an_object_begins_asks_again() {
    let mut world = World::new(false);
    let one = world.device(false, true);
    world.tracking_waits = true;
    let ticket = world.start_create(one, "home", Placing::Here);
    world.cut(0);
    world.track(true);
    world.pass(Duration::from_secs(1));
    let created = world.app(one).created.remove(&ticket).expect("an answer");
    assert!(matches!(created, Ok(Created::New(_))), "{created:?}");
    assert_eq!(world.call(one, "home", "add"), Ok(vec![1]));
}

#[test]
fn a_call_whose_connection_breaks_is_in_doubt_if_it_was_sent_and_not_run_if_it_was_not() {
    let mut world = World::new(true);
    let (one, other) = (world.device(false, true), world.device(false, false));
    world.create(one, "home", Placing::Here).expect("it begins");
    // The owner's connection breaks while the method runs.
    let ticket = world.start(other, "home", "wait");
    world.cut(0);
    assert!(matches!(world.answer(other, ticket), Some(Err(CallError::InDoubt(_)))));
    assert_eq!(world.call(other, "home", "add"), not_run(NotRun::Unreachable));
    world.pass(Duration::from_secs(1));
    // The device is back in the same life, and its object waits for its method still.
    let run = world.run(one);
    world.end(one, run);
    assert_eq!(world.call(other, "home", "add"), Ok(vec![1]));
    // The caller's connection breaks.
    let ticket = world.start(other, "home", "wait");
    world.cut(1);
    assert!(matches!(world.answer(other, ticket), Some(Err(CallError::InDoubt(_)))));
    assert_eq!(world.call(other, "home", "add"), not_run(NotRun::Unreachable));
}

#[test]
fn writes_run_alone_and_reads_together_in_the_order_in_which_they_came() {
    let mut world = World::new(true);
    world.create(At::Server, "home", Placing::Here).expect("it begins");
    let reads = [world.start(At::Server, "home", "look"), world.start(At::Server, "home", "look")];
    assert_eq!(world.app(At::Server).open.len(), 2, "reads run together");
    let write = world.start(At::Server, "home", "wait");
    let late = world.start(At::Server, "home", "get");
    assert_eq!(world.app(At::Server).open.len(), 2, "a write waits for reads, and a later read for the write");
    for read in reads {
        assert_eq!(world.answer(At::Server, read), None);
        let run = world.run(At::Server);
        world.end(At::Server, run);
    }
    assert_eq!(world.app(At::Server).open.len(), 1);
    assert_eq!(world.answer(At::Server, late), None);
    let run = world.run(At::Server);
    world.end(At::Server, run);
    assert_eq!(world.answer(At::Server, write), Some(Ok(vec![42])));
    assert_eq!(world.answer(At::Server, late), Some(Ok(vec![0])));
}

#[test]
fn calls_that_go_round_are_refused_at_once_but_for_reads_of_what_is_only_read() {
    let mut world = World::new(true);
    let one = world.device(false, true);
    world.create(At::Server, "a", Placing::Here).expect("it begins");
    world.create(one, "b", Placing::Here).expect("it begins");
    world.start(At::Server, "a", "wait");
    let outer = world.run(At::Server);
    world.start_within(At::Server, Some(outer), "b", "wait");
    let inner = world.run(one);
    let round = world.start_within(one, Some(inner), "a", "get");
    let chain = vec![object("a"), object("b"), object("a")];
    assert_eq!(world.answer(one, round), Some(not_run(NotRun::WouldDeadlock(chain))));
    world.end(one, inner);
    world.end(At::Server, outer);

    world.start(At::Server, "a", "look");
    let outer = world.run(At::Server);
    world.start(At::Server, "a", "add");
    world.start_within(At::Server, Some(outer), "b", "wait");
    let inner = world.run(one);
    let round = world.start_within(one, Some(inner), "a", "get");
    assert_eq!(world.answer(one, round), Some(Ok(vec![0])), "it does not wait behind the write");
}

#[test]
fn nested_calls_are_made_for_the_user_of_the_first_one() {
    let mut world = World::new(true);
    let one = world.device(false, false);
    world.create(At::Server, "a", Placing::Here).expect("it begins");
    world.create(At::Server, "b", Placing::Here).expect("it begins");
    world.start(one, "a", "wait");
    let outer = world.run(At::Server);
    world.start_within(At::Server, Some(outer), "b", "add");
    world.start(At::Server, "b", "add");
    assert_eq!(world.app(At::Server).callers, ["ann", "ann", "server"]);
}

#[test]
fn a_call_is_given_up_when_its_time_is_over() {
    let mut world = World::new(true);
    let one = world.device(false, false);
    world.create(At::Server, "home", Placing::Here).expect("it begins");
    let runs = world.start(one, "home", "wait");
    let waits = world.start(one, "home", "add");
    world.pass(Duration::from_secs(10));
    for ticket in [runs, waits] {
        assert!(matches!(world.answer(one, ticket), Some(Err(CallError::InDoubt(_)))));
    }
    let run = world.run(At::Server);
    world.end(At::Server, run);
    assert_eq!(world.call(one, "home", "get"), Ok(vec![0]), "nobody waited for the second one, and it did not run");
}

#[test]
fn so_many_calls_wait_for_an_instance() {
    let mut world = World::new(true);
    world.create(At::Server, "home", Placing::Here).expect("it begins");
    world.start(At::Server, "home", "wait");
    let waiting: Vec<_> = (0..INSTANCE_CALLS_MAX).map(|_| world.start(At::Server, "home", "add")).collect();
    assert_eq!(world.call(At::Server, "home", "add"), not_run(NotRun::Busy));
    let run = world.run(At::Server);
    world.end(At::Server, run);
    assert!(waiting.into_iter().all(|ticket| matches!(world.answer(At::Server, ticket), Some(Ok(_)))));
}

#[test]
fn so_many_callers_wait_for_each_other() {
    let mut world = World::new(true);
    let most = iolite_wire::limits::CALL_CHAIN.most;
    (0..=most + 1).for_each(|id| drop(world.create(At::Server, &id.to_string(), Placing::Here)));
    let mut ticket = world.start(At::Server, "0", "wait");
    for id in 1..=most + 1 {
        let outer = *world.app(At::Server).open.keys().last().expect("a method runs");
        ticket = world.start_within(At::Server, Some(outer), &id.to_string(), "wait");
    }
    let refused = world.answer(At::Server, ticket);
    assert!(matches!(refused, Some(Err(CallError::NotRun(NotRun::TooLarge(_))))), "{refused:?}");
}

#[test]
fn so_many_objects_are_at_a_node() {
    let mut world = World::new(true);
    for id in 0..INSTANCES_MAX {
        assert!(matches!(world.create(At::Server, &id.to_string(), Placing::Here), Ok(Created::New(_))));
    }
    assert_eq!(world.create(At::Server, "one more", Placing::Here), Err(CallError::NotRun(NotRun::Busy)));
    assert_eq!(world.create(At::Server, "one more", Placing::AtServer), Err(CallError::NotRun(NotRun::Busy)));
}

fn hello(token: &str) -> FromDevice {
    FromDevice::Hello(DeviceHello {
        oldest_version: OBJECTS_PROTOCOL_VERSION,
        newest_version: OBJECTS_PROTOCOL_VERSION,
        token: token.into(),
        device: Id::from_u128(666),
        life: NodeLife(0),
        serves: false,
        classes: Vec::new(),
        connection: 1,
    })
}

fn rpc(id: &str, method: &str) -> Rpc {
    Rpc {
        id: RpcId { kernel: Id::from_u128(666), counter: 1, path: Vec::new() },
        object: object(id),
        epoch: ObjectEpoch(0),
        version: 1,
        method: method.into(),
        mode: CallMode::Write,
        chain: Vec::new(),
        time_left: Duration::from_secs(10),
        caller: "eve".into(),
        arguments: Vec::new(),
        from: None,
        component: Component::Method,
        claim: DeviceRight::Call,
        by_device: false,
    }
}

fn goodbye(replies: &[ToDevice]) -> Option<(GoodbyeReason, &str)> {
    match replies.last() {
        Some(ToDevice::Goodbye(goodbye)) => Some((goodbye.reason, &goodbye.message)),
        _other => None,
    }
}

#[test]
fn nobody_gets_in_without_a_token_or_by_another_version() {
    let mut world = World::new(true);
    let session = world.stranger();
    let replies = world.says(session, hello("wrong"));
    assert_eq!(goodbye(&replies), Some((GoodbyeReason::Unauthorized, "the token is wrong")));
    let session = world.stranger();
    let find = FromDevice::Find { number: 1, object: object("home") };
    assert!(goodbye(&world.says(session, find)).is_some_and(|(_, word)| word.contains("begins with a hello")));
    let session = world.stranger();
    let FromDevice::Hello(old) = hello("token") else { panic!("a hello") };
    let old = DeviceHello { oldest_version: ProtocolVersion(7), newest_version: ProtocolVersion(8), ..old };
    let replies = world.says(session, FromDevice::Hello(old));
    assert!(goodbye(&replies).is_some_and(|(reason, _)| reason == GoodbyeReason::Version));
}

#[test]
fn a_caller_that_a_device_writes_is_replaced() {
    let mut world = World::new(true);
    world.create(At::Server, "home", Placing::Here).expect("it begins");
    let session = world.stranger();
    world.says(session, hello("token"));
    let to = world.node(At::Server);
    let replies = world.says(session, FromDevice::Call { number: 1, to, rpc: rpc("home", "add") });
    assert_eq!(replies, [ToDevice::Answer { number: 1, answer: Answer::Returned(vec![1]) }]);
    assert_eq!(world.app(At::Server).callers, ["ann"]);
}

#[test]
fn a_node_answers_what_it_was_asked_and_once() {
    let mut world = World::new(true);
    let owner = world.device(false, true);
    world.create(owner, "home", Placing::Here).expect("it begins");
    let asker = world.device(false, false);
    let ticket = world.start(asker, "home", "wait");
    let session = world.stranger();
    world.says(session, hello("token"));
    // The number by which the owner was asked.
    let forged = FromDevice::Answer { number: 1, answer: Answer::Returned(vec![66]) };
    let replies = world.says(session, forged);
    assert!(goodbye(&replies).is_some_and(|(_, word)| word.contains("was not asked")), "{replies:?}");
    assert_eq!(world.answer(asker, ticket), None, "its owner has not answered");
    let run = world.run(owner);
    world.end(owner, run);
    assert_eq!(world.answer(asker, ticket), Some(Ok(vec![42])));
}

#[test]
fn an_owner_that_sends_its_callers_round_is_asked_so_often_and_no_more() {
    let mut world = World::new(true);
    let asker = world.device(false, false);
    let session = world.stranger();
    let replies = world.says(session, hello("token"));
    let [ToDevice::Welcome(welcome)] = replies[..] else { panic!("{replies:?}") };
    let begin = Begin { object: object("home"), declared: world::declared(DeviceRight::Hold) };
    world.says(session, FromDevice::Begin { number: 1, begin });
    let ticket = world.start(asker, "home", "add");
    let mut asked = 0;
    while let Some(ToDevice::Run { number, .. }) = world.hears(session).pop() {
        asked += 1;
        assert!(asked <= u64::from(HOPS_MAX) + 1);
        let answer = Answer::Moved { to: welcome.device, epoch: ObjectEpoch(1 + asked) };
        let more = world.says(session, FromDevice::Answer { number, answer });
        world.strangers.extend(more.into_iter().map(|message| (session, message)));
    }
    assert_eq!(asked, u64::from(HOPS_MAX) + 1);
    assert_eq!(world.answer(asker, ticket), Some(not_run(NotRun::Unreachable)));
}

#[test]
fn a_number_is_used_once_on_a_connection() {
    let mut world = World::new(true);
    let session = world.stranger();
    world.says(session, hello("token"));
    let find = || FromDevice::Find { number: 1, object: object("home") };
    assert!(matches!(world.says(session, find())[..], [ToDevice::Told { number: 1, .. }]));
    assert!(goodbye(&world.says(session, find())).is_some_and(|(_, word)| word.contains("used before")));
}

#[test]
fn so_many_calls_of_a_session_are_open() {
    let mut world = World::new(true);
    world.create(At::Server, "home", Placing::Here).expect("it begins");
    let session = world.stranger();
    world.says(session, hello("token"));
    let to = world.node(At::Server);
    let most = SESSION_CALLS_MAX as u64;
    for number in 1..=most {
        let replies = world.says(session, FromDevice::Call { number, to, rpc: rpc("home", "look") });
        assert_eq!(replies, [], "{number}");
    }
    let replies = world.says(session, FromDevice::Call { number: most + 1, to, rpc: rpc("home", "look") });
    let busy = Answer::Failed(CallFailure::NotRun(NotRun::Busy));
    assert_eq!(replies, [ToDevice::Answer { number: most + 1, answer: busy }]);
    let run = world.run(At::Server);
    world.end(At::Server, run);
    let replies = world.says(session, FromDevice::Call { number: most + 2, to, rpc: rpc("home", "get") });
    assert!(matches!(replies.last(), Some(ToDevice::Answer { answer: Answer::Returned(_), .. })), "{replies:?}");
}

#[test]
fn a_node_that_takes_too_little_is_sent_away() {
    let mut world = World::new(true);
    let session = world.stranger();
    world.says(session, hello("token"));
    let most = SESSION_UNDRAINED_MAX as u64;
    let mut replies = Vec::new();
    // The welcome was the first one.
    for number in 1..=most {
        assert_eq!(goodbye(&replies), None, "{number}");
        replies = world.says(session, FromDevice::Find { number, object: object("home") });
    }
    assert!(goodbye(&replies).is_some_and(|(reason, _)| reason == GoodbyeReason::Slow), "{replies:?}");
}

#[test]
fn a_node_whose_name_another_process_has_taken_loses_its_objects() {
    let mut world = World::new(true);
    let one = world.device(false, true);
    world.create(one, "home", Placing::Here).expect("it begins");
    let ticket = world.start(one, "home", "wait");
    let session = world.stranger();
    let FromDevice::Hello(same) = hello("token") else { panic!("a hello") };
    world.says(session, FromDevice::Hello(DeviceHello { device: Id::from_u128(100), ..same }));
    world.cut(0);
    world.pass(Duration::from_secs(1));
    assert_eq!(world.answer(one, ticket), Some(Err(CallError::Fenced)));
    assert_eq!(world.app(one).objects.len(), 0);
    let lives = world.devices[0].states.iter().filter_map(|state| match state {
        LinkState::Open(welcome) => Some(welcome.device.life),
        LinkState::Lost | LinkState::Refused(_) | LinkState::Ended(_) => None,
    });
    assert_eq!(lives.collect::<Vec<_>>(), [NodeLife(1), NodeLife(3)]);
    assert_eq!(world.call(one, "home", "get"), Err(CallError::Gone));
    assert_eq!(world.rows[&object("home")].declared.devices, DeviceRight::Hold);
}
