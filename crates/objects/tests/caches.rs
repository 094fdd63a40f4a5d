//! The managers that keep copies at callers: the normal use of each, and the test in which it could fail.

#[allow(dead_code, reason = "each test file uses its own part of the world")]
mod world;

use std::time::Duration;

use iolite_objects::limits::CACHES_MAX;
use iolite_objects::{Broken, CallError, CallResult, Created, Placing};
use iolite_values::DeviceRight;
use iolite_wire::objects::{Component, Declared, NotRun, ToDevice};

use self::world::{At, World, object};

fn not_run(why: NotRun) -> CallResult {
    Err(CallError::NotRun(why))
}

fn pass(world: &mut World, milliseconds: u64) {
    world.pass(Duration::from_millis(milliseconds));
}

/// An object at the first device, and so many more devices that have its class.
fn under(managers: &str, broken: Broken, others: usize) -> (World, At, Vec<At>) {
    let mut world = World::new(false);
    world.broken = broken;
    let owner = world.device(false, true);
    let others = (0..others).map(|_| world.device(false, true)).collect();
    world.create_under(owner, "home", managers).expect("it begins");
    (world, owner, others)
}

/// How many methods have run at a node.
fn runs(world: &mut World, at: At) -> usize {
    world.app(at).callers.len()
}

#[test]
fn an_object_that_never_changes_is_read_at_its_callers_also_after_its_node_has_ended() {
    let (mut world, owner, others) = under("Immutable", Broken::Nothing, 2);
    assert_eq!(world.call(others[0], "home", "get"), Ok(vec![0]));
    assert_eq!(runs(&mut world, owner), 0, "it ran at the caller");
    let plain = world.device(false, false);
    assert_eq!(world.call(plain, "home", "get"), Ok(vec![0]), "without the class it runs at the owner");
    for at in [owner, others[0], plain] {
        assert_eq!(world.call(at, "home", "add"), not_run(NotRun::NotPermitted));
    }
    world.restart(0);
    assert_eq!(world.call(others[0], "home", "get"), Ok(vec![0]));
    assert_eq!(world.call(others[1], "home", "get"), Err(CallError::Gone), "who has no copy gets none any more");
    // Asked for again, it is begun anew, and the copy is no more.
    world.create_under(others[0], "home", "Immutable").expect_err("the copy was here");
    world.create_under(others[0], "home", "Immutable").expect("it begins");
    assert_eq!(world.call(others[1], "home", "get"), Ok(vec![0]));
}

const EXPLICIT: &str = "ExplicitCaching";

#[test]
fn what_is_pushed_is_read_after_the_next_pull() {
    let (mut world, owner, others) = under(EXPLICIT, Broken::Nothing, 2);
    let (one, other) = (others[0], others[1]);
    assert_eq!(world.call(other, "home", "get"), Ok(vec![0]));
    assert_eq!(world.call(one, "home", "add"), Ok(vec![1]));
    assert_eq!(runs(&mut world, owner), 0, "it ran at the caller");
    assert_eq!(world.app(owner).objects[&object("home")], 0);
    assert_eq!(world.manage(one, "home", EXPLICIT, "push"), Ok(Vec::new()));
    assert_eq!(world.app(owner).objects[&object("home")], 1);
    assert_eq!(world.call(other, "home", "get"), Ok(vec![0]), "it has not pulled");
    assert_eq!(world.manage(other, "home", EXPLICIT, "pull"), Ok(Vec::new()));
    assert_eq!(world.call(other, "home", "get"), Ok(vec![1]));
    let refused = world.manage(one, "home", EXPLICIT, "send");
    assert!(format!("{refused:?}").contains("say pull or push"), "{refused:?}");
    let stranger = world.device(false, true);
    world.closed.insert("Counter".into());
    assert_eq!(world.call(stranger, "home", "get"), not_run(NotRun::NotPermitted));
}

/// ExplicitCaching: two push from one version.
#[test]
fn the_second_of_two_pushes_from_one_version_is_refused_and_loses_nothing_of_its_own() {
    let (mut world, owner, others) = under(EXPLICIT, Broken::Nothing, 2);
    let (one, other) = (others[0], others[1]);
    for (at, times) in [(one, 1), (other, 2)] {
        (0..times).for_each(|_| drop(world.call(at, "home", "add")));
    }
    assert_eq!(world.manage(one, "home", EXPLICIT, "push"), Ok(Vec::new()));
    assert_eq!(world.manage(other, "home", EXPLICIT, "push"), not_run(NotRun::Conflict));
    // Not even if it asks for the object, which is there.
    world.create_under(other, "home", EXPLICIT).expect("it is there");
    assert_eq!(world.call(other, "home", "get"), Ok(vec![2]));
    assert_eq!(world.app(owner).objects[&object("home")], 1);
    assert_eq!(world.manage(other, "home", EXPLICIT, "pull"), Ok(Vec::new()));
    assert_eq!(world.call(other, "home", "add"), Ok(vec![2]));
    assert_eq!(world.manage(other, "home", EXPLICIT, "push"), Ok(Vec::new()));
}

#[test]
fn a_push_whose_reply_was_lost_is_sent_again_and_does_not_conflict_with_itself() {
    let (mut world, owner, others) = under(EXPLICIT, Broken::Nothing, 1);
    assert_eq!(world.call(others[0], "home", "add"), Ok(vec![1]));
    world.keep(1);
    let ticket = world.start_manage(others[0], "home", EXPLICIT, "push");
    drop(world.kept(1));
    world.cut(1);
    assert!(matches!(world.answer(others[0], ticket), Some(Err(CallError::InDoubt(_)))));
    pass(&mut world, 500);
    assert_eq!(world.call(others[0], "home", "add"), Ok(vec![2]));
    assert_eq!(world.manage(others[0], "home", EXPLICIT, "push"), Ok(Vec::new()));
    assert_eq!(world.app(owner).objects[&object("home")], 2);
}

#[test]
fn a_push_fits_after_a_move_and_the_object_does_not_move_over_what_was_not_pushed() {
    let (mut world, owner, others) = under("ExplicitCaching; ExplicitMigration", Broken::Nothing, 3);
    for at in &others[..2] {
        assert_eq!(world.call(*at, "home", "add"), Ok(vec![1]));
    }
    assert_eq!(world.go(owner, "home", others[0]), Err(CallError::NotRun(NotRun::Conflict)));
    world.go(owner, "home", others[2]).expect("it moves");
    assert_eq!(world.manage(others[0], "home", EXPLICIT, "push"), Ok(Vec::new()));
    assert_eq!(world.app(others[2]).objects[&object("home")], 1);
    assert_eq!(world.call(others[0], "home", "add"), Ok(vec![2]));
    assert_eq!(world.manage(others[0], "home", EXPLICIT, "push"), Ok(Vec::new()));
    assert_eq!(world.manage(others[1], "home", EXPLICIT, "push"), not_run(NotRun::Conflict));
    world.go(others[2], "home", others[0]).expect("it has pushed all");
    assert_eq!(world.call(others[0], "home", "add"), Ok(vec![3]));
}

/// The server begins an object anew at a node that has a copy with something to push.
#[test]
fn an_object_that_is_gone_begins_again_where_a_copy_was_not_pushed() {
    let mut world = World::new(false);
    world.managers = EXPLICIT.to_owned();
    let (owner, cache, caller) = (world.device(false, true), world.device(true, true), world.device(false, false));
    world.create_under(owner, "home", EXPLICIT).expect("it begins");
    assert_eq!(world.call(cache, "home", "add"), Ok(vec![1]));
    let there = world.place_under(caller, "home", EXPLICIT, Placing::AtServer);
    assert!(matches!(there, Ok(Created::WasThere(_))), "{there:?}");
    assert_eq!(world.call(cache, "home", "get"), Ok(vec![1]), "the copy stays while its object is there");
    world.restart(0);
    let refused = world.place_under(caller, "home", EXPLICIT, Placing::AtServer);
    assert_eq!(refused, Err(CallError::NotRun(NotRun::Busy)), "the copy is there until the node has looked");
    let begun = world.place_under(caller, "home", EXPLICIT, Placing::AtServer);
    assert!(matches!(begun, Ok(Created::New(_))), "{begun:?}");
    assert_eq!(world.call(caller, "home", "add"), Ok(vec![1]));
    assert_eq!(world.rows[&object("home")].places, [world.node(cache)]);
}

const THROUGH: &str = "WriteThroughCaching lease=4000";

#[test]
fn a_node_reads_its_own_writes_and_soon_those_of_others_without_asking() {
    let (mut world, owner, others) = under(THROUGH, Broken::Nothing, 2);
    for at in [others[0], others[1]] {
        assert_eq!(world.call(at, "home", "get"), Ok(vec![0]));
    }
    // The first update waits for the door, and comes after the answer.
    assert_eq!(world.call(others[0], "home", "add"), Ok(vec![1]));
    assert_eq!(world.call(others[0], "home", "get"), Ok(vec![1]));
    assert_eq!(world.call(others[0], "home", "add"), Ok(vec![2]));
    world.keep(0);
    for at in [others[0], others[1]] {
        assert_eq!(world.call(at, "home", "get"), Ok(vec![2]), "the owner is not asked");
    }
    assert_eq!(world.kept(0), []);
    // The update of its own write is lost.
    world.keep(1);
    let ticket = world.start(others[0], "home", "add");
    for message in world.kept(1) {
        if !is_update(&message) {
            world.deliver(1, message);
        }
    }
    assert_eq!(world.answer(others[0], ticket), Some(Ok(vec![3])));
    assert_eq!(world.call(others[0], "home", "get"), Ok(vec![3]));
    assert_eq!(runs(&mut world, owner), 3, "the writes ran there, and no read");
}

fn is_update(message: &ToDevice) -> bool {
    matches!(message, ToDevice::Run { rpc, .. } if matches!(rpc.component, Component::Proxy(_)))
}

/// WriteThroughCaching: updates are reordered and lost.
#[test]
fn whatever_becomes_of_updates_no_cache_goes_back_and_all_become_equal() {
    let (mut world, owner, others) = under(THROUGH, Broken::Nothing, 2);
    for at in [others[0], others[1]] {
        assert_eq!(world.call(at, "home", "get"), Ok(vec![0]));
    }
    world.keep(1);
    for count in 1..=4 {
        assert_eq!(world.call(owner, "home", "add"), Ok(vec![count]));
    }
    let mut updates = world.kept(1);
    assert!(updates.len() == 4 && updates.iter().all(is_update), "{updates:?}");
    for (at, count) in [(2, 3), (0, 3), (0, 3)] {
        world.deliver(1, updates.remove(at));
        assert_eq!(world.call(others[0], "home", "get"), Ok(vec![count]));
    }
    assert_eq!(world.call(others[1], "home", "get"), Ok(vec![4]));
    // The last one is lost.
    pass(&mut world, 4_500);
    assert_eq!(world.call(others[0], "home", "get"), Ok(vec![4]));
}

/// A node reads at the owner itself: inside of a call that goes round.
#[test]
fn a_node_that_has_read_at_the_owner_reads_nothing_older_from_its_copy() {
    let (mut world, owner, others) = under(THROUGH, Broken::Nothing, 1);
    world.create(others[0], "other", Placing::Here).expect("it begins");
    assert_eq!(world.call(others[0], "home", "get"), Ok(vec![0]));
    world.keep(1);
    assert_eq!(world.call(owner, "home", "add"), Ok(vec![1]));
    drop(world.kept(1));
    assert_eq!(world.call(others[0], "home", "get"), Ok(vec![0]), "the update is lost");
    world.start(owner, "home", "look");
    let outer = world.run(owner);
    world.start_within(owner, Some(outer), "other", "wait");
    let inner = world.run(others[0]);
    let read = world.start_within(others[0], Some(inner), "home", "get");
    assert_eq!(world.answer(others[0], read), Some(Ok(vec![1])));
    assert_eq!(world.call(others[0], "home", "get"), Ok(vec![1]));
}

/// The update of a write comes before the copy that was asked for earlier.
#[test]
fn a_copy_that_an_update_has_overtaken_is_not_read() {
    let (mut world, owner, others) = under(THROUGH, Broken::Nothing, 1);
    assert_eq!(world.call(others[0], "home", "add"), Ok(vec![1]));
    world.keep(1);
    let read = world.start(others[0], "home", "get");
    assert_eq!(world.call(owner, "home", "add"), Ok(vec![2]));
    let kept = world.kept(1);
    assert!(!is_update(&kept[0]) && is_update(&kept[1]), "{kept:?}");
    kept.into_iter().rev().for_each(|message| world.deliver(1, message));
    assert_eq!(world.answer(others[0], read), Some(Ok(vec![2])));
}

#[test]
fn a_cache_knows_the_states_of_a_new_owner_from_those_of_the_last_one() {
    for managers in [THROUGH, CONSISTENT] {
        let (mut world, owner, others) = under(&format!("{managers}; ExplicitMigration"), Broken::Nothing, 2);
        assert_eq!(world.call(owner, "home", "add"), Ok(vec![1]));
        assert_eq!(world.call(others[0], "home", "get"), Ok(vec![1]));
        world.go(owner, "home", others[1]).expect("it moves");
        pass(&mut world, 4_500);
        // The first write at either owner.
        assert_eq!(world.call(others[1], "home", "add"), Ok(vec![2]));
        assert_eq!(world.call(others[0], "home", "get"), Ok(vec![2]));
    }
}

#[test]
fn a_cache_that_writes_is_one_of_the_new_owner() {
    let (mut world, owner, others) = under("WriteThroughCaching; ExplicitMigration", Broken::Nothing, 2);
    assert_eq!(world.call(owner, "home", "add"), Ok(vec![1]));
    assert_eq!(world.call(others[0], "home", "get"), Ok(vec![1]));
    world.go(owner, "home", others[1]).expect("it moves");
    assert_eq!(world.call(others[1], "home", "add"), Ok(vec![2]));
    assert_eq!(world.call(others[0], "home", "get"), Ok(vec![1]), "the new owner does not know it");
    assert_eq!(world.call(others[0], "home", "add"), Ok(vec![3]));
    assert_eq!(world.call(others[0], "home", "get"), Ok(vec![3]));
    assert_eq!(world.call(others[1], "home", "add"), Ok(vec![4]));
    assert_eq!(world.call(others[0], "home", "get"), Ok(vec![4]), "it is a cache of the new owner");
}

const CONSISTENT: &str = "ConsistentCaching lease=4000";

#[test]
fn all_caches_read_what_was_written_last() {
    let (mut world, owner, others) = under(CONSISTENT, Broken::Nothing, 3);
    for count in 1..=3 {
        assert_eq!(world.call(others[usize::from(count) - 1], "home", "add"), Ok(vec![count]));
        for at in &others {
            assert_eq!(world.call(*at, "home", "get"), Ok(vec![count]));
        }
    }
    assert_eq!(runs(&mut world, owner), 3, "the writes ran there, and no read");
    // A lease that ends is given again, without the state.
    pass(&mut world, 4_500);
    assert_eq!(world.call(others[0], "home", "get"), Ok(vec![3]));
}

/// A write calls another object, whose method reads the first one by its node's copy.
#[test]
fn a_read_that_would_wait_for_the_write_around_it_is_refused_at_once() {
    for managers in [EXPLICIT, THROUGH, CONSISTENT] {
        let (mut world, owner, others) = under(managers, Broken::Nothing, 1);
        world.create(others[0], "other", Placing::Here).expect("it begins");
        world.start(owner, "home", "wait");
        let outer = world.run(owner);
        world.start_within(owner, Some(outer), "other", "wait");
        let inner = world.run(others[0]);
        let read = world.start_within(others[0], Some(inner), "home", "get");
        let refused = world.answer(others[0], read);
        assert!(matches!(refused, Some(Err(CallError::NotRun(NotRun::WouldDeadlock(_))))), "{refused:?}");
    }
}

/// ConsistentCaching: a cache is cut off, with its connection or without a word. Says how many milliseconds the write has waited, and whether the cache read
/// something old after somebody had read what is new.
fn cut_off(broken: Broken, is_silent: bool) -> (u64, bool) {
    let (mut world, owner, others) = under(CONSISTENT, broken, 2);
    let (one, other) = (others[0], others[1]);
    for at in [one, other] {
        assert_eq!(world.call(at, "home", "get"), Ok(vec![0]));
    }
    if is_silent {
        world.keep(1);
    } else {
        world.devices[1].is_away = true;
        world.cut(1);
    }
    let write = world.start(other, "home", "add");
    let (mut waited, mut is_old) = (0, false);
    let mut answered = world.answer(other, write);
    while answered.is_none() {
        let is_new = world.call(owner, "home", "get") == Ok(vec![1]);
        let ticket = world.start(one, "home", "get");
        is_old |= is_new && world.answer(one, ticket) == Some(Ok(vec![0]));
        pass(&mut world, 500);
        waited += 500;
        answered = world.answer(other, write);
    }
    assert_eq!(answered, Some(Ok(vec![1])));
    let ticket = world.start(one, "home", "get");
    let got = world.answer(one, ticket);
    assert!(matches!(got, None | Some(Err(_))), "it serves nothing that it has: {got:?}");
    world.kept(1).into_iter().for_each(|message| world.deliver(1, message));
    world.devices[1].is_away = false;
    pass(&mut world, 5_000);
    for at in [one, other] {
        assert_eq!(world.call(at, "home", "get"), Ok(vec![1]));
    }
    (waited, is_old)
}

#[test]
fn a_write_waits_for_the_lease_of_a_cache_that_is_cut_off() {
    for is_silent in [false, true] {
        assert_eq!(cut_off(Broken::Nothing, is_silent), (4_500, false));
    }
}

#[test]
fn a_write_that_runs_before_the_caches_stop_is_found() {
    for is_silent in [false, true] {
        let (_, is_old) = cut_off(Broken::ExecuteThenInvalidate, is_silent);
        assert!(is_old, "one read the new state, and another one the old one afterwards");
    }
}

/// A lease that was on its way when a write ran is no lease.
#[test]
fn a_cache_that_is_told_to_stop_before_it_has_its_lease_does_not_begin() {
    let (mut world, owner, others) = under(CONSISTENT, Broken::Nothing, 1);
    assert_eq!(world.call(others[0], "home", "add"), Ok(vec![1]));
    world.keep(1);
    let read = world.start(others[0], "home", "get");
    let lease = world.kept(1);
    assert!(matches!(lease[..], [ToDevice::Answer { .. }]), "{lease:?}");
    assert_eq!(world.call(owner, "home", "add"), Ok(vec![2]), "the cache has stopped");
    lease.into_iter().for_each(|message| world.deliver(1, message));
    assert_eq!(world.answer(others[0], read), Some(Ok(vec![2])));
}

#[test]
fn the_next_owner_lets_a_write_wait_until_the_leases_of_the_last_one_are_over() {
    let (mut world, owner, others) = under("ConsistentCaching lease=4000; ExplicitMigration", Broken::Nothing, 2);
    let (one, next) = (others[0], others[1]);
    assert_eq!(world.call(one, "home", "get"), Ok(vec![0]));
    world.go(owner, "home", next).expect("it moves");
    let write = world.start(next, "home", "add");
    for _second in 0..4 {
        assert_eq!(world.call(one, "home", "get"), Ok(vec![0]));
        assert_eq!(world.call(next, "home", "get"), Ok(vec![0]), "reads do not wait");
        assert_eq!(world.answer(next, write), None);
        pass(&mut world, 1_000);
    }
    pass(&mut world, 500);
    assert_eq!(world.answer(next, write), Some(Ok(vec![1])));
    assert_eq!(world.call(one, "home", "get"), Ok(vec![1]));
    assert_eq!(world.call(next, "home", "add"), Ok(vec![2]), "the next one does not wait");
    assert_eq!(world.call(one, "home", "get"), Ok(vec![2]));
}

#[test]
fn so_many_nodes_are_caches_and_the_next_one_reads_at_the_owner() {
    for managers in [THROUGH, CONSISTENT] {
        let (mut world, owner, others) = under(managers, Broken::Nothing, CACHES_MAX + 1);
        for at in &others {
            assert_eq!(world.call(*at, "home", "get"), Ok(vec![0]));
        }
        assert_eq!(runs(&mut world, owner), 1, "that of the last one");
        assert_eq!(world.call(others[0], "home", "add"), Ok(vec![1]));
        for at in [others[0], others[CACHES_MAX]] {
            assert_eq!(world.call(at, "home", "get"), Ok(vec![1]));
        }
    }
}

#[test]
fn a_cache_gets_no_state_of_another_version_and_none_that_no_message_carries() {
    for managers in ["Immutable", EXPLICIT, THROUGH, CONSISTENT] {
        let (mut world, owner, others) = under(managers, Broken::Nothing, 1);
        world.app(owner).padding = 1024 * 1024 + 1;
        let got = world.call(others[0], "home", "get");
        if managers == EXPLICIT {
            assert!(matches!(got, Err(CallError::NotRun(NotRun::TooLarge(_)))), "{got:?}");
        } else {
            assert_eq!((got, runs(&mut world, owner)), (Ok(vec![0]), 1), "it runs at the owner");
        }
    }
    for managers in ["Immutable", EXPLICIT, THROUGH, CONSISTENT] {
        let mut world = World::new(false);
        let (owner, other) = (world.device(false, true), world.device(false, true));
        let declared = Declared { version: 2, managers: managers.into(), devices: DeviceRight::Hold };
        world.start_begin(owner, "home", Placing::Here, declared);
        assert_eq!(world.call(other, "home", "get"), not_run(NotRun::WrongVersion(2)));
    }
}

#[test]
fn a_node_that_has_had_the_object_itself_keeps_a_copy_again() {
    for managers in ["Immutable", EXPLICIT, THROUGH, CONSISTENT] {
        let (mut world, owner, others) = under(&format!("{managers}; ExplicitMigration"), Broken::Nothing, 2);
        assert_eq!(world.call(others[0], "home", "get"), Ok(vec![0]));
        world.go(owner, "home", others[0]).expect("it comes");
        world.go(others[0], "home", others[1]).expect("it goes");
        for _twice in 0..2 {
            assert_eq!(world.call(others[0], "home", "get"), Ok(vec![0]));
        }
        let before = runs(&mut world, others[1]);
        assert_eq!(world.call(others[0], "home", "get"), Ok(vec![0]));
        assert_eq!(runs(&mut world, others[1]), before, "{managers} reads its copy");
    }
}

/// The object comes to a node that is making a copy of it: who waited for the copy goes on without it.
#[test]
fn a_call_that_waits_for_a_copy_goes_on_when_the_object_itself_comes() {
    let mut world = World::new(true);
    let cache = world.device(true, true);
    world.create_under(At::Server, "home", "WriteThroughCaching lease=5000").expect("it begins");
    world.app(cache).is_slow = true;
    let ticket = world.start(cache, "home", "get");
    assert_eq!(world.answer(cache, ticket), None, "the app makes the copy");
    let to = world.node(cache);
    world.start_move(At::Server, "home", to);
    world.make_late(cache);
    assert_eq!(world.answer(cache, ticket), Some(Ok(vec![0])));
}
