//! The failure test of each manager, and what the framework does for all of them.

#[allow(dead_code, reason = "each test file uses its own part of the world")]
mod world;

use std::time::Duration;

use iolite_objects::{CallError, CallResult, Placing};
use iolite_values::{DeviceRight, ObjectEpoch};
use iolite_wire::objects::{Begin, Declared, FromDevice, NotRun, ToDevice, TrackAnswer};

use self::world::{At, World, declared, hello, object};

fn not_run(why: NotRun) -> CallResult {
    Err(CallError::NotRun(why))
}

#[test]
fn a_manager_that_is_not_there_is_a_clear_error() {
    let mut world = World::new(true);
    for (text, word) in [("Raft", "no manager is called"), ("KeepInPlace; ExplicitMigration", "both do placement")] {
        let created = world.create_under(At::Server, "home", text);
        let Err(CallError::NotRun(NotRun::BadArguments(problem))) = created else { panic!("{created:?}") };
        assert!(problem.contains(word), "{problem}");
    }
}

/// A device that looks at nothing itself.
#[test]
fn a_server_refuses_managers_that_it_knows_to_be_wrong_and_passes_on_those_of_an_app() {
    let mut world = World::new(false);
    let session = world.stranger();
    world.says(session, hello());
    let mut begin = |number, managers: &str| {
        let declared = Declared { managers: managers.into(), ..declared(DeviceRight::Hold) };
        let begin = Begin { object: object("home"), declared };
        match world.says(session, FromDevice::Begin { number, begin }).pop() {
            Some(ToDevice::Told { answer, .. }) => answer,
            other => panic!("{other:?}"),
        }
    };
    for (number, text) in [(1, "Audit; KeepInPlace; ExplicitMigration"), (2, "Audit; KeepInPlace for=ever")] {
        let refused = begin(number, text);
        assert!(matches!(&refused, TrackAnswer::Refused(NotRun::BadArguments(_))), "{refused:?}");
    }
    assert!(matches!(begin(3, "Audit last=7; KeepInPlace"), TrackAnswer::Begun(_)));
}

/// At-least-once: the link is cut after the call was sent, and before its reply.
#[test]
fn at_least_once_a_call_whose_connection_broke_runs_again_until_it_has_a_result() {
    let mut world = World::new(false);
    let (one, caller) = (world.device(false, true), world.device(false, false));
    world.create_under(one, "home", "AtLeastOnceRPC within=5000").expect("it begins");
    // The method runs, and its answer is lost with the connection of the caller.
    let ticket = world.start(caller, "home", "wait");
    world.cut(1);
    assert_eq!(world.answer(caller, ticket), None, "the manager tries again");
    for _fifth in 0..8 {
        world.pass(Duration::from_millis(200));
    }
    let first = world.run(one);
    world.end(one, first);
    let second = world.run(one);
    world.end(one, second);
    assert_eq!(world.answer(caller, ticket), Some(Ok(vec![42])));
    // The owner is away for a moment, and the call waits for it.
    world.devices[0].is_away = true;
    world.cut(0);
    let ticket = world.start(caller, "home", "add");
    world.pass(Duration::from_secs(1));
    assert_eq!(world.answer(caller, ticket), None);
    world.devices[0].is_away = false;
    for _half in 0..8 {
        world.pass(Duration::from_millis(500));
    }
    assert!(matches!(world.answer(caller, ticket), Some(Ok(_))));
}

#[test]
fn at_least_once_ends_within_its_time_and_repeats_no_error_of_the_app() {
    let mut world = World::new(false);
    let (one, caller) = (world.device(false, true), world.device(false, false));
    world.create_under(one, "home", "AtLeastOnceRPC within=2000").expect("it begins");
    assert_eq!(world.call(caller, "home", "fail"), Err(CallError::App(vec![13])));
    assert_eq!(world.app(one).callers.len(), 1, "it ran once");
    world.devices[0].is_away = true;
    world.cut(0);
    let ticket = world.start(caller, "home", "add");
    for _tenth in 0..20 {
        world.pass(Duration::from_millis(100));
    }
    assert_eq!(world.answer(caller, ticket), Some(not_run(NotRun::Unreachable)));
}

#[test]
fn at_least_once_says_that_a_call_may_have_run_if_only_its_last_try_did_not() {
    let mut world = World::new(false);
    let (one, caller) = (world.device(false, true), world.device(false, false));
    world.create_under(one, "home", "AtLeastOnceRPC within=2000").expect("it begins");
    let ticket = world.start(caller, "home", "add");
    assert_eq!(world.answer(caller, ticket), Some(Ok(vec![1])));
    world.keep(1);
    let ticket = world.start(caller, "home", "add");
    world.devices[0].is_away = true;
    world.cut(0);
    world.kept(1);
    world.cut(1);
    for _tenth in 0..20 {
        world.pass(Duration::from_millis(100));
    }
    assert!(matches!(world.answer(caller, ticket), Some(Err(CallError::InDoubt(_)))), "the first try ran");
}

#[test]
fn an_object_that_is_kept_in_place_does_not_move_and_is_never_begun_anew() {
    let mut world = World::new(true);
    let one = world.device(true, true);
    world.create_under(one, "home", "KeepInPlace").expect("it begins");
    assert_eq!(world.go(one, "home", At::Server), Err(CallError::NotRun(NotRun::NotPermitted)));
    assert_eq!(world.call(At::Server, "home", "add"), Ok(vec![1]));
    world.restart(0);
    assert_eq!(world.call(At::Server, "home", "add"), not_run(NotRun::Unreachable));
    let again = world.create(At::Server, "home", Placing::Here);
    assert!(matches!(again, Ok(iolite_objects::Created::WasThere(_))), "{again:?}");
}

#[test]
fn an_object_migrates_when_a_caller_says_so() {
    let mut world = World::new(true);
    let (one, two, caller) = (world.device(true, true), world.device(true, true), world.device(false, false));
    world.create_under(one, "home", "ExplicitMigration").expect("it begins");
    assert_eq!(world.call(caller, "home", "add"), Ok(vec![1]));
    let to = world.node(two).to_string();
    assert_eq!(world.manage(caller, "home", "ExplicitMigration", &to), Ok(Vec::new()));
    assert_eq!(world.rows[&object("home")].places, [world.node(two)]);
    assert_eq!(world.rows[&object("home")].epoch, ObjectEpoch(2));
    assert_eq!(world.call(caller, "home", "add"), Ok(vec![2]));
    // Its new owner has the manager too.
    let back = world.node(one).to_string();
    assert_eq!(world.manage(caller, "home", "ExplicitMigration", &back), Ok(Vec::new()));
    assert_eq!(world.call(caller, "home", "add"), Ok(vec![3]));
    let refused = world.manage(caller, "home", "ExplicitMigration", "nowhere");
    assert!(format!("{refused:?}").contains("NAME#LIFE"), "{refused:?}");
    let refused = world.manage(caller, "home", "KeepInPlace", "");
    assert!(format!("{refused:?}").contains("has no manager KeepInPlace"), "{refused:?}");
}

const LEASED: &str = "LeaseCaching lease=4000";

/// An object under leases at the first device, and two more devices that call it.
fn leased() -> (World, [At; 3]) {
    let mut world = World::new(false);
    let devices = [world.device(false, true), world.device(false, true), world.device(false, true)];
    world.create_under(devices[0], "home", LEASED).expect("it begins");
    (world, devices)
}

#[test]
fn who_has_the_lease_reads_without_asking_and_writes_at_the_owner_too() {
    let (mut world, [owner, one, other]) = leased();
    assert_eq!(world.call(one, "home", "add"), Ok(vec![1]));
    assert_eq!(world.app(owner).objects[&object("home")], 1, "the owner has it before the caller has a result");
    assert_eq!(world.app(owner).callers.len(), 0, "it ran at the caller");
    // Without a connection it reads, and a write is in doubt.
    world.devices[1].is_away = true;
    world.cut(1);
    assert_eq!(world.call(one, "home", "get"), Ok(vec![1]));
    assert!(matches!(world.call(one, "home", "add"), Err(CallError::InDoubt(_))));
    assert_eq!(world.call(other, "home", "get"), not_run(NotRun::LeaseUnavailable));
    world.pass(Duration::from_millis(4_500));
    assert_eq!(world.call(other, "home", "add"), Ok(vec![2]), "the lease is over");
    assert_eq!(world.call(owner, "home", "get"), not_run(NotRun::LeaseUnavailable), "the owner's own node waits too");
}

/// LeaseCaching: the lease ends first as its holder counts, who asks for the next one at once.
#[test]
fn who_was_refused_the_lease_gets_the_next_one_though_its_holder_asks_more_often() {
    let (mut world, [owner, one, other]) = leased();
    assert_eq!(world.call(one, "home", "add"), Ok(vec![1]));
    assert_eq!(world.call(other, "home", "add"), not_run(NotRun::LeaseUnavailable));
    for milliseconds in [4_100, 500] {
        world.pass(Duration::from_millis(milliseconds));
        assert_eq!(world.call(one, "home", "get"), not_run(NotRun::LeaseUnavailable), "somebody comes first");
    }
    assert_eq!(world.call(other, "home", "add"), Ok(vec![2]));
    // Who does not come is waited for no longer than a quarter of a lease. The owner's own node comes next, too.
    for at in [owner, one] {
        assert_eq!(world.call(at, "home", "get"), not_run(NotRun::LeaseUnavailable));
    }
    world.pass(Duration::from_millis(4_600));
    assert_eq!(world.call(one, "home", "get"), not_run(NotRun::LeaseUnavailable), "the owner's node comes first");
    world.pass(Duration::from_millis(1_000));
    assert_eq!(world.call(one, "home", "get"), Ok(vec![2]));
}

/// LeaseCaching: the holder stands still beyond its lease, in mid-write, and goes on.
#[test]
fn a_holder_that_stood_still_beyond_its_lease_is_refused_and_its_caller_is_told() {
    let (mut world, [owner, one, other]) = leased();
    assert_eq!(world.call(one, "home", "add"), Ok(vec![1]));
    let ticket = world.start(one, "home", "wait");
    let run = world.run(one);
    world.pass(Duration::from_millis(4_500));
    assert_eq!(world.call(other, "home", "add"), Ok(vec![2]));
    world.end(one, run);
    assert_eq!(world.answer(one, ticket), Some(Err(CallError::Fenced)));
    assert_eq!(world.app(owner).objects[&object("home")], 2, "nothing of it is left");
}

#[test]
fn a_node_without_the_class_calls_the_owner_and_one_that_may_not_hold_gets_no_lease() {
    let (mut world, [owner, one, _]) = leased();
    let plain = world.device(false, false);
    assert_eq!(world.call(plain, "home", "add"), Ok(vec![1]));
    assert_eq!(world.app(owner).callers.len(), 1);
    world.closed.insert("Counter".into());
    assert_eq!(world.call(one, "home", "add"), not_run(NotRun::NotPermitted));
}

#[test]
fn a_call_that_goes_round_is_refused_at_once_also_where_the_lease_is() {
    let (mut world, [_, one, _]) = leased();
    world.start(one, "home", "wait");
    let outer = world.run(one);
    let round = world.start_within(one, Some(outer), "home", "add");
    let refused = world.answer(one, round);
    assert!(matches!(refused, Some(Err(CallError::NotRun(NotRun::WouldDeadlock(_))))), "{refused:?}");
}

#[test]
fn the_next_owner_gives_no_lease_until_those_of_the_last_one_are_over() {
    let (mut world, [owner, one, next]) = leased();
    assert_eq!(world.call(one, "home", "add"), Ok(vec![1]));
    world.go(owner, "home", next).expect("it moves");
    assert_eq!(world.call(one, "home", "get"), Ok(vec![1]), "it has its lease");
    for at in [owner, next] {
        assert_eq!(world.call(at, "home", "add"), not_run(NotRun::LeaseUnavailable));
    }
    world.pass(Duration::from_millis(4_500));
    assert_eq!(world.call(owner, "home", "add"), Ok(vec![2]));
}

#[test]
fn a_holder_whose_caller_has_given_its_write_up_reads_nothing_that_the_owner_does_not_have() {
    let mut world = World::new(false);
    let (owner, one) = (world.device(false, true), world.device(false, true));
    world.create_under(owner, "home", "LeaseCaching lease=60000").expect("it begins");
    assert_eq!(world.call(one, "home", "get"), Ok(vec![0]));
    // The state that it has written is lost on its way.
    world.keep(0);
    let ticket = world.start(one, "home", "add");
    world.pass(Duration::from_secs(10));
    assert!(matches!(world.answer(one, ticket), Some(Err(CallError::InDoubt(_)))));
    drop(world.kept(0));
    assert_eq!(world.call(one, "home", "get"), Ok(vec![0]));
}
