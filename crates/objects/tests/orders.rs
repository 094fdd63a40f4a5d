//! Managers that say in which order calls take effect, and those that keep an object on its side: normal use, and the failure test of each.

#[allow(dead_code, reason = "each test file uses its own part of the world")]
mod world;

use std::time::Duration;

use iolite_objects::limits::INSTANCE_CALLS_MAX;
use iolite_objects::{CallError, CallResult, Placing};
use iolite_wire::objects::NotRun;

use self::world::{At, World, object};

fn not_run(why: NotRun) -> CallResult {
    Err(CallError::NotRun(why))
}

/// An object under these managers at the first device, and two more devices that call it. All have the class.
fn three(managers: &str) -> (World, [At; 3]) {
    let mut world = World::new(false);
    let devices = [world.device(false, true), world.device(false, true), world.device(false, true)];
    world.create_under(devices[0], "home", managers).expect("it begins");
    (world, devices)
}

#[test]
fn serializable_calls_run_one_at_a_time_also_those_that_read_in_the_order_in_which_they_came() {
    let (mut world, [owner, one, two]) = three("SerializableRPC");
    let looks = [world.start(one, "home", "look"), world.start(two, "home", "look")];
    let add = world.start(one, "home", "add");
    let get = world.start(owner, "home", "get");
    assert_eq!(world.app(owner).open.len(), 1, "the second one waits, although both only read");
    for (at, look) in [(one, looks[0]), (two, looks[1])] {
        assert_eq!((world.answer(one, add), world.answer(owner, get)), (None, None));
        let run = world.run(owner);
        world.end(owner, run);
        assert_eq!(world.answer(at, look), Some(Ok(vec![42])));
    }
    assert_eq!(world.answer(one, add), Some(Ok(vec![1])));
    assert_eq!(world.answer(owner, get), Some(Ok(vec![1])), "it came after the write");
    // Who waits for a turn waits at the object, of which the limit is said.
    let _running = world.start(owner, "home", "look");
    let waiting: Vec<_> = (0..INSTANCE_CALLS_MAX).map(|_| world.start(owner, "home", "add")).collect();
    assert_eq!(world.call(one, "home", "add"), not_run(NotRun::Busy));
    let run = world.run(owner);
    world.end(owner, run);
    assert!(waiting.into_iter().all(|ticket| world.answer(owner, ticket).is_some_and(|result| result.is_ok())));
}

/// SerializableRPC: callers are killed, one in its call and one that waits for its turn.
#[test]
fn serializable_a_caller_that_is_gone_does_not_block_the_next() {
    let (mut world, [owner, one, two]) = three("SerializableRPC");
    world.start(one, "home", "wait");
    world.start(two, "home", "add");
    // This one waits no longer when its turn comes.
    let late = world.start(owner, "home", "add");
    world.restart(1);
    world.restart(2);
    world.pass(Duration::from_secs(9));
    let next = world.start(one, "home", "get");
    world.pass(Duration::from_secs(1));
    assert!(matches!(world.answer(owner, late), Some(Err(CallError::InDoubt(_)))));
    let run = world.run(owner);
    world.end(owner, run);
    assert_eq!(world.answer(one, next), Some(Ok(vec![0])), "neither of those that were given up ran");
    assert_eq!(world.call(two, "home", "add"), Ok(vec![1]));
}

#[test]
fn serializable_a_call_that_comes_back_by_another_object_is_refused_at_once() {
    let (mut world, [owner, one, _]) = three("SerializableRPC");
    world.create_under(one, "away", "").expect("it begins");
    let outer = world.start(one, "home", "look");
    let first = world.run(owner);
    let middle = world.start_within(owner, Some(first), "away", "look");
    let second = world.run(one);
    let inner = world.start_within(one, Some(second), "home", "get");
    let round = ["home", "away", "home"].map(object).to_vec();
    assert_eq!(world.answer(one, inner), Some(not_run(NotRun::WouldDeadlock(round))));
    world.end(one, second);
    assert_eq!(world.answer(owner, middle), Some(Ok(vec![42])));
    world.end(owner, first);
    assert_eq!(world.answer(one, outer), Some(Ok(vec![42])));
}

/// A proxy's tasks take turns too, and one that is given up while it waits leaves the row.
#[test]
fn a_call_that_is_given_up_before_its_turn_does_not_block_the_next() {
    let (mut world, [_, one, _]) = three("LeaseCaching lease=60000");
    let running = world.start(one, "home", "wait");
    let waiting = world.start(one, "home", "add");
    world.pass(Duration::from_secs(10));
    for ticket in [running, waiting] {
        assert!(matches!(world.answer(one, ticket), Some(Err(CallError::InDoubt(_)))));
    }
    let run = world.run(one);
    world.end(one, run);
    assert_eq!(world.call(one, "home", "get"), Ok(vec![0]));
}

/// KeepInCloud: no server has the class. It is no matter that a device has it, and may hold.
#[test]
fn an_object_that_is_kept_in_the_cloud_does_not_begin_where_only_devices_have_its_class() {
    let mut world = World::new(false);
    let (one, two) = (world.device(false, true), world.device(false, true));
    for (at, placing, why) in [
        (one, Placing::AtServer, NotRun::NoHostForClass),
        (At::Server, Placing::AtServer, NotRun::NoHostForClass),
        (one, Placing::Here, NotRun::NotPermitted),
    ] {
        assert_eq!(world.place_under(at, "home", "KeepInCloud", placing), Err(CallError::NotRun(why)));
    }
    assert!(world.rows.is_empty());
    assert!([one, two].into_iter().all(|at| world.app(at).objects.is_empty()), "no device has it");
}

#[test]
fn an_object_that_is_kept_in_the_cloud_moves_to_nodes_of_the_service_only() {
    let mut world = World::two([true, true]);
    let (device, behind) = (world.device(false, true), world.device_at(1, false, true));
    let serving = world.device(true, true);
    world.create_under(At::Server, "home", "KeepInCloud").expect("it begins");
    for to in [device, behind] {
        assert_eq!(world.go(At::Server, "home", to), Err(CallError::NotRun(NotRun::NotPermitted)));
    }
    assert_eq!(world.call(device, "home", "add"), Ok(vec![1]));
    for (from, to) in [(At::Server, serving), (serving, At::Second)] {
        world.go(from, "home", to).expect("it moves");
    }
    assert_eq!(world.go(At::Second, "home", device), Err(CallError::NotRun(NotRun::NotPermitted)));
    assert_eq!(world.call(device, "home", "add"), Ok(vec![2]));
    assert!([device, behind].into_iter().all(|at| world.app(at).objects.is_empty()), "no device had it");
}

const FOLLOWS: &str = "KeepOnDevice after=3 rest=5000";

/// The nodes that would run a method of the object now.
fn live(world: &World) -> usize {
    let servers = world.servers.iter().map(|server| server.kernel().serving());
    let devices = world.devices.iter().map(|peer| peer.device.kernel().serving());
    servers.chain(devices).flatten().filter(|(name, _)| *name == object("home")).count()
}

fn is_at(world: &World, at: At) -> bool {
    world.rows[&object("home")].places == [world.node(at)]
}

#[test]
fn an_object_that_is_kept_on_its_device_follows_who_calls_several_times_in_a_row() {
    let (mut world, [owner, one, two]) = three(FOLLOWS);
    let (plain, service) = (world.device(false, false), world.device(true, true));
    assert_eq!(world.call(one, "home", "add"), Ok(vec![1]));
    assert_eq!(world.call(one, "home", "add"), Ok(vec![2]));
    assert_eq!(world.app(owner).callers.len(), 2);
    assert_eq!(world.call(one, "home", "add"), Ok(vec![3]));
    assert!(is_at(&world, one), "it has moved before the third call ran, once");
    assert_eq!((world.app(owner).callers.len(), world.app(one).callers.len()), (2, 1));
    // It rests; then it follows again, but no device without the class, nor one that may not hold, nor a node of the service.
    for _again in 0..4 {
        world.call(two, "home", "add").expect("it runs");
    }
    assert!(is_at(&world, one));
    world.pass(Duration::from_secs(5));
    for at in [plain, service] {
        for _again in 0..4 {
            world.call(at, "home", "get").expect("it runs");
        }
    }
    assert_eq!(world.call(two, "home", "get"), Ok(vec![7]));
    assert_eq!(world.manage(two, "home", "KeepOnDevice", "come"), not_run(NotRun::NoSuchMethod));
    world.closed.insert("Counter".into());
    world.pass(Duration::from_secs(5));
    let _asked = [world.call(two, "home", "get"), world.call(two, "home", "get")];
    assert!(is_at(&world, one));
}

#[test]
fn an_object_follows_its_user_while_calls_of_others_wait_for_their_turn() {
    let (mut world, [owner, one, two]) = three("SerializableRPC; KeepOnDevice after=3 rest=5000");
    for _twice in 0..2 {
        world.call(one, "home", "add").expect("it runs");
    }
    let look = world.start(one, "home", "look");
    let run = world.run(one);
    assert!(is_at(&world, one));
    world.pass(Duration::from_secs(5));
    let waiting = [world.start(two, "home", "add"), world.start(two, "home", "add")];
    world.end(one, run);
    assert_eq!(world.answer(one, look), Some(Ok(vec![42])));
    assert_eq!(waiting.map(|ticket| world.answer(two, ticket)), [3, 4].map(|number| Some(Ok(vec![number]))));
    let others = [world.start(owner, "home", "look"), world.start(owner, "home", "add")];
    let run = world.run(one);
    world.start(two, "home", "add");
    world.end(one, run);
    assert!(others.into_iter().all(|ticket| world.answer(owner, ticket).is_some_and(|result| result.is_ok())));
    assert_eq!(value(&mut world, one), 6, "each has run once");
}

#[test]
fn an_object_that_is_kept_on_its_device_does_not_go_to_and_fro_while_two_devices_alternate() {
    let (mut world, [owner, one, two]) = three(FOLLOWS);
    for _turn in 0..10 {
        for at in [one, two] {
            world.call(at, "home", "get").expect("it runs");
            world.pass(Duration::from_millis(600));
        }
    }
    assert!(is_at(&world, owner), "nobody called several times in a row");
    let mut moves = 0;
    for at in [one, two].into_iter().cycle().take(30) {
        let before = world.rows[&object("home")].epoch;
        for _call in 0..50 {
            world.call(at, "home", "get").expect("it runs");
        }
        moves += usize::from(world.rows[&object("home")].epoch > before);
        world.pass(Duration::from_secs(1));
    }
    assert!((2..=7).contains(&moves), "{moves} moves in 30 seconds, and it rests for 5 after each");
}

/// KeepOnDevice: two devices alternate in bursts, while links are cut in mid-move.
#[test]
fn devices_that_alternate_while_links_are_cut_in_mid_move_never_have_two_live_copies() {
    let (mut world, _) = three("KeepOnDevice after=2 rest=500");
    let mut in_mid_move = 0;
    let mut places = vec![world.rows[&object("home")].places.clone()];
    for (step, (at, other)) in [(1, 2), (2, 1)].into_iter().cycle().take(24).enumerate() {
        // A burst, in which a link is cut before the commit or after it.
        let owner = world.devices.iter().position(|peer| !peer.device.kernel().serving().is_empty()).expect("live");
        let _first = world.start(At::Device(at), "home", "get");
        world.tracking_waits = true;
        for _call in 0..5 {
            let _result = world.start(At::Device(at), "home", "add");
        }
        if live(&world) == 0 {
            // The owner's server has looked at the row, and the other device holds the object: now the commit is asked for.
            in_mid_move += 1;
            world.track_next();
        }
        let cut = [at, other, owner][step / 2 % 3];
        if step % 4 < 2 {
            world.cut(cut);
            world.lose_answers(step % 8 < 4);
        } else {
            world.track(true);
            world.cut(cut);
        }
        for _quarter in 0..8 {
            assert!(live(&world) <= 1, "a link is there again");
            world.pass(Duration::from_millis(250));
        }
        assert_eq!(live(&world), 1, "somebody has it");
        places.push(world.rows[&object("home")].places.clone());
    }
    places.dedup();
    assert!(places.len() > 9 && in_mid_move > 9, "{in_mid_move} times in mid-move; it was at {places:?}");
}

const LOCKING: &str = "LockingTransactions lock=4000";
const OPTIMISTIC: &str = "OptimisticTransactions";

/// Says a word to the transactions of the object.
fn say(world: &mut World, at: At, word: &str) -> Result<(), CallError> {
    world.manage(at, "home", name_of(world), word).map(drop)
}

fn name_of(world: &World) -> &'static str {
    let is_locking = world.rows[&object("home")].declared.managers.starts_with("Locking");
    if is_locking { "LockingTransactions" } else { OPTIMISTIC }
}

fn refused(why: NotRun) -> Result<(), CallError> {
    Err(CallError::NotRun(why))
}

fn value(world: &mut World, at: At) -> u8 {
    world.call(at, "home", "get").expect("it is read")[0]
}

/// Both, at the object's own node and at another one: the calls are seen at once by their node, and by others when they are committed.
#[test]
fn transactions_are_visible_when_they_are_committed_and_not_before() {
    for managers in [LOCKING, OPTIMISTIC] {
        for pair in [[0, 1], [1, 0], [1, 2]] {
            let (mut world, devices) = three(managers);
            let [own, other] = pair.map(|at| devices[at]);
            for (end, before, after) in [("commit", 0, 2), ("abort", 2, 2)] {
                assert_eq!(say(&mut world, own, "begin"), Ok(()));
                for at in 1..=2 {
                    assert_eq!(world.call(own, "home", "add"), Ok(vec![before + at]));
                }
                assert_eq!((value(&mut world, own), value(&mut world, other)), (before + 2, before));
                assert_eq!(say(&mut world, own, end), Ok(()));
                assert_eq!((value(&mut world, own), value(&mut world, other)), (after, after));
            }
            assert_eq!(world.call(other, "home", "add"), Ok(vec![3]), "nothing of it holds others back");
        }
    }
}

#[test]
fn transactions_that_cannot_begin_or_end_are_a_clear_error() {
    for managers in [LOCKING, OPTIMISTIC] {
        let (mut world, [owner, one, two]) = three(managers);
        let plain = world.device(false, false);
        assert_eq!(say(&mut world, plain, "begin"), refused(NotRun::NoHostForClass));
        for (word, problem) in
            [("commit", "no transaction is open"), ("abort", "no transaction"), ("end", "understands")]
        {
            let said = say(&mut world, one, word);
            assert!(
                matches!(&said, Err(CallError::NotRun(NotRun::BadArguments(why))) if why.contains(problem)),
                "{said:?}"
            );
        }
        say(&mut world, one, "begin").expect("it begins");
        let again = say(&mut world, one, "begin");
        assert!(
            matches!(&again, Err(CallError::NotRun(NotRun::BadArguments(why))) if why.contains("is open")),
            "{again:?}"
        );
        say(&mut world, one, "abort").expect("it ends");
        world.app(owner).padding = 2 * 1024 * 1024;
        assert!(matches!(say(&mut world, one, "begin"), Err(CallError::NotRun(NotRun::TooLarge(_)))));
        world.app(owner).padding = 0;
        world.closed.insert("Counter".into());
        assert_eq!(say(&mut world, two, "begin"), refused(NotRun::NotPermitted));
    }
}

#[test]
fn a_lock_keeps_others_from_writing() {
    let (mut world, [owner, one, two]) = three(LOCKING);
    say(&mut world, one, "begin").expect("it begins");
    for at in [owner, two] {
        assert_eq!(world.call(at, "home", "add"), not_run(NotRun::LeaseUnavailable));
        assert_eq!(say(&mut world, at, "begin"), refused(NotRun::LeaseUnavailable));
    }
    world.call(one, "home", "add").expect("it is its own");
    say(&mut world, one, "commit").expect("it commits");
    assert_eq!(world.call(two, "home", "add"), Ok(vec![2]));
}

/// LockingTransactions: the client is killed in the middle, or stands still; a commit comes late.
#[test]
fn a_lock_ends_and_a_late_commit_is_refused() {
    let (mut world, [owner, one, two]) = three(LOCKING);
    for at in [one, two] {
        say(&mut world, at, "begin").expect("it begins");
        world.call(at, "home", "add").expect("it is its own");
        match at {
            At::Device(1) => world.restart(1),
            _stands_still => {}
        }
        assert_eq!(world.call(owner, "home", "add"), not_run(NotRun::LeaseUnavailable));
        world.pass(Duration::from_millis(4_501));
        world.call(owner, "home", "add").expect("the lock is over");
    }
    assert_eq!(world.call(two, "home", "add"), not_run(NotRun::Conflict), "it is no call outside of the transaction");
    assert_eq!(say(&mut world, two, "commit"), refused(NotRun::Conflict));
    assert_eq!(value(&mut world, owner), 2, "nothing of either is left");
    // This one is said in time, and comes to the owner when the lock is over.
    say(&mut world, one, "begin").expect("it begins");
    world.call(one, "home", "add").expect("it is its own");
    world.start(two, "home", "look");
    let commit = world.start_manage(one, "home", "LockingTransactions", "commit");
    world.pass(Duration::from_millis(4_501));
    let run = world.run(owner);
    world.end(owner, run);
    assert_eq!(world.answer(one, commit), Some(not_run(NotRun::Conflict)));
    assert_eq!(value(&mut world, owner), 2);
}

/// Both: the object moves in the middle, to another node and to the transaction's own.
#[test]
fn a_transaction_whose_object_has_moved_does_not_commit() {
    for managers in [LOCKING, OPTIMISTIC] {
        for own in 0..2 {
            for to in 0..3 {
                let (mut world, devices) = three(managers);
                say(&mut world, devices[own], "begin").expect("it begins");
                world.call(devices[own], "home", "add").expect("it is its own");
                if to == 0 {
                    world.go(devices[0], "home", devices[2]).expect("it moves");
                    world.go(devices[2], "home", devices[0]).expect("it moves");
                } else {
                    world.go(devices[0], "home", devices[to]).expect("it moves");
                }
                // Another one has the same number there.
                say(&mut world, devices[2], "begin").expect("it begins");
                world.call(devices[2], "home", "add").expect("it is its own");
                if own == 0 || to == own {
                    assert_eq!(world.call(devices[own], "home", "add"), not_run(NotRun::Conflict), "{own} {to}");
                }
                assert_eq!(say(&mut world, devices[own], "commit"), refused(NotRun::Conflict));
                assert_eq!(value(&mut world, devices[own]), 0, "nothing of it is visible");
                say(&mut world, devices[2], "commit").expect("this one commits");
                assert_eq!(value(&mut world, devices[own]), 1);
            }
        }
    }
}

#[test]
fn of_two_transactions_that_conflict_one_commits() {
    let (mut world, [owner, one, two]) = three(OPTIMISTIC);
    for at in [owner, one, two] {
        say(&mut world, at, "begin").expect("it begins");
        world.call(at, "home", "add").expect("it is its own");
    }
    assert_eq!(say(&mut world, one, "commit"), Ok(()));
    for at in [owner, two] {
        assert_eq!(say(&mut world, at, "commit"), refused(NotRun::Conflict));
        assert_eq!(value(&mut world, at), 1);
    }
    // A call that writes is in conflict too. Two that read are not.
    say(&mut world, one, "begin").expect("it begins");
    world.call(one, "home", "add").expect("it is its own");
    world.call(two, "home", "add").expect("it runs");
    assert_eq!(say(&mut world, one, "commit"), refused(NotRun::Conflict));
    for word in ["begin", "commit"] {
        for at in [owner, one, two] {
            assert_eq!(say(&mut world, at, word), Ok(()));
            assert_eq!(value(&mut world, at), 2);
        }
    }
}

/// The transaction of a device, whose commit is sent, and whose reply is lost. It has added one.
fn commit_in_doubt(world: &mut World, [owner, one, two]: [At; 3]) {
    world.start(two, "home", "look");
    let commit = world.start_manage(one, "home", name_of(world), "commit");
    world.cut(1);
    assert!(matches!(world.answer(one, commit), Some(Err(CallError::InDoubt(_)))));
    let run = world.run(owner);
    world.end(owner, run);
    world.pass(Duration::from_secs(1));
    assert_eq!(world.call(one, "home", "add"), not_run(NotRun::Conflict), "it is being committed");
}

/// Both: a commit is said again after a lost reply.
#[test]
fn a_commit_that_is_said_again_gets_the_same_answer() {
    for (managers, is_in_conflict) in [(LOCKING, false), (OPTIMISTIC, false), (OPTIMISTIC, true)] {
        let (mut world, [owner, one, two]) = three(managers);
        say(&mut world, one, "begin").expect("it begins");
        world.call(one, "home", "add").expect("it is its own");
        if is_in_conflict {
            world.call(two, "home", "add").expect("it runs");
        }
        commit_in_doubt(&mut world, [owner, one, two]);
        assert_eq!(value(&mut world, owner), 1);
        // Others go on meanwhile.
        say(&mut world, two, "begin").expect("it begins");
        world.call(two, "home", "add").expect("it is its own");
        say(&mut world, two, "commit").expect("it commits");
        let answer = if is_in_conflict { refused(NotRun::Conflict) } else { Ok(()) };
        assert_eq!(say(&mut world, one, "commit"), answer);
        assert_eq!(value(&mut world, one), 2, "it was not committed again");
    }
}

/// Both: nobody remembers the commit, as the object has moved. The doubt stays.
#[test]
fn a_commit_in_doubt_stays_in_doubt_when_its_object_has_moved() {
    for managers in [LOCKING, OPTIMISTIC] {
        let (mut world, [owner, one, two]) = three(managers);
        say(&mut world, one, "begin").expect("it begins");
        world.call(one, "home", "add").expect("it is its own");
        commit_in_doubt(&mut world, [owner, one, two]);
        world.go(owner, "home", two).expect("it moves");
        for word in ["commit", "commit", "abort"] {
            assert!(matches!(say(&mut world, one, word), Err(CallError::InDoubt(_))));
        }
        assert_eq!(world.call(one, "home", "add"), Ok(vec![2]), "it was committed, once");
    }
}

/// The call of a transaction waits for the object when that goes: it has not run.
#[test]
fn a_call_of_a_transaction_whose_object_has_gone_is_not_said_to_have_run() {
    for manager in ["LockingTransactions", "OptimisticTransactions"] {
        let mut world = World::new(false);
        manager.clone_into(&mut world.managers);
        let (one, two) = (world.device(false, true), world.device(false, true));
        world.create_under(one, "home", manager).expect("it begins");
        world.manage(one, "home", manager, "begin").expect("it begins");
        world.start(two, "home", "look");
        let ticket = world.start(one, "home", "add");
        assert_eq!(world.answer(one, ticket), None, "somebody reads");
        world.other_store(0);
        world.pass(Duration::from_secs(2));
        let answer = world.answer(one, ticket);
        assert_eq!(answer, Some(Err(CallError::NotRun(NotRun::Conflict))), "{manager}");
    }
}
