//! Replicas are replaced, added, removed and moved, and shards split, while clients work: what was acknowledged stays, and a lost disk does not come back as if nothing
//! had been on it.

use std::process::{Command, Stdio};
use std::time::Instant;

use crate::support::folder::{PATIENCE, PROGRAM};
use crate::support::marks::{self, Marking, open};
use crate::support::up::Up;
use iolite_cluster::{LocalNode, Signal};

#[tokio::test(flavor = "multi_thread")]
async fn replicas_are_replaced_added_removed_and_moved_and_shards_split_while_clients_work() {
    let up = Up::start("members", &["--shards", "2", "--gateways", "2"]);
    let cluster = up.cluster();
    let url = |gateway: usize| {
        let address = cluster.gateways().nth(gateway).and_then(|node| node.address).expect("gateways have addresses");
        format!("ws://{address}/sync")
    };
    let token = cluster.token().expect("it was made");
    let clients = [open(&url(0), &token), open(&url(1), &token)];
    let marking = [Marking::start(&clients[0], 0), Marking::start(&clients[1], 1)];
    let go_on = async || {
        for client in &clients {
            marks::settles(client, 20).await;
        }
    };
    go_on().await;

    // A disk is lost under a replica that runs. The replica ends by itself and says why; its group goes on.
    let lost = up.node("store-1");
    std::fs::remove_dir_all(lost.data()).expect("it is there");
    lost.wait_for_end().expect("it ends by itself");
    assert!(lost.last_words().contains("a restart would not find"), "{}", lost.last_words());
    let refused = up.try_to(&["up"]).expect_err("it has lost its disk");
    assert!(refused.contains("There is no replica") || refused.contains("there is no replica"), "{refused}");
    go_on().await;
    up.run(&["replace", "store-1"]);
    assert_eq!(up.names(), ["store-0", "store-2", "store-3", "store-4", "store-5", "store-6"]);
    go_on().await;
    up.run(&["resize", "--shard", "1", "--replicas", "5"]);
    go_on().await;
    up.run(&["resize", "--shard", "1", "--replicas", "1"]);
    go_on().await;
    let moved = ["move", "--shard", "0", "--from", "store-0,store-2,store-6"];
    up.run(&moved);
    assert_eq!(up.names(), ["store-3", "store-9", "store-10", "store-11"]);
    assert_eq!(up.run(&moved), "nothing was to be done\n");
    assert_eq!(up.names(), ["store-3", "store-9", "store-10", "store-11"]);
    go_on().await;
    // Between the marks of the one client and the other's.
    up.run(&["split", "--at", "marks:1."]);
    go_on().await;
    let status = up.run(&["status"]);
    assert_eq!(status.matches("ready").count(), up.names().len() + 2, "{status}");

    let mut acknowledged = std::collections::BTreeSet::new();
    for marking in marking {
        acknowledged.extend(marking.end().await);
    }
    up.kill_all();
    up.run(&["up"]);
    for gateway in [0, 1] {
        marks::come_to(&open(&url(gateway), &token), &acknowledged).await;
    }
}

#[test]
fn a_change_that_would_stop_a_shard_is_refused_and_one_that_was_cut_off_goes_on() {
    let up = Up::start("refused", &[]);
    let error = |arguments: &[&str]| up.try_to(arguments).expect_err("it is refused");
    assert!(error(&["replace", "store-9"]).contains("no group of the cluster has the replica 9"));
    assert!(error(&["replace", "gateway-0"]).contains("start another gateway"));
    assert!(error(&["resize", "--shard", "0", "--replicas", "2"]).contains("1, 3, 5 or 7"));
    assert!(error(&["move", "--shard", "4", "--from", "store-0"]).contains("no shard 4"));
    assert!(error(&["move", "--shard", "0", "--from", "store-0,store-1"]).contains("kept by store-0,store-1,store-2"));
    // Two of three are down: nothing can be chosen.
    for name in ["store-0", "store-1"] {
        up.kill(&up.node(name));
    }
    let stopped = error(&["replace", "store-0", "--within", "3"]);
    assert!(stopped.contains("nothing was changed") || stopped.contains("no majority"), "{stopped}");
    up.run(&["up"]);
    // The replica that was made is there already. It cannot start without its key, which is told, and not that it is silent.
    assert!(up.names().contains(&"store-3".to_owned()));
    up.kill(&up.node("store-3"));
    let key = up.path().join("store-3").join("certificates").join("node.key");
    let aside = key.with_extension("aside");
    std::fs::rename(&key, &aside).expect("it has one");
    let ended = error(&["replace", "store-0"]);
    assert!(ended.contains("store-3 ended after it was started") && ended.contains("node.key"), "{ended}");
    std::fs::rename(&aside, &key).expect("it was put there");
    up.run(&["replace", "store-0"]);
    assert_eq!(up.names(), ["store-1", "store-2", "store-3"]);
    assert_eq!(up.run(&["resize", "--shard", "0", "--replicas", "3"]), "nothing was to be done\n");
    // A command was killed as it began to make the next one.
    std::fs::create_dir_all(up.path().join("store-4").join("certificates")).expect("its own");
    up.run(&["resize", "--shard", "0", "--replicas", "5"]);
    assert_eq!(up.names(), ["store-1", "store-2", "store-3", "store-4", "store-5"]);
}

/// The group that takes the place of the first one has the other in it, which is silent for ever.
#[test]
fn of_two_replicas_that_are_lost_one_is_replaced_after_the_other() {
    let up = Up::start("two-lost", &["--replicas", "5"]);
    for name in ["store-3", "store-4"] {
        let lost = up.node(name);
        up.kill(&lost);
        std::fs::remove_dir_all(lost.data()).expect("it is there");
    }
    up.run(&["replace", "store-3", "--within", "30"]);
    assert_eq!(up.names(), ["store-0", "store-1", "store-2", "store-4", "store-5"]);
    up.run(&["replace", "store-4", "--within", "30"]);
    assert_eq!(up.names(), ["store-0", "store-1", "store-2", "store-5", "store-6"]);
}

/// `iolite shard` with these arguments: whether it succeeded, and what it said of errors.
fn shard(arguments: &[&str]) -> (bool, String) {
    let output = Command::new(PROGRAM).arg("shard").args(arguments).output().expect("the program can be run");
    (output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned())
}

/// Stops a replica as soon as it is there and runs.
fn stand_still(up: &Up, name: &str) -> LocalNode {
    let begun = Instant::now();
    loop {
        let cluster = up.cluster();
        let made = cluster.nodes().iter().find(|node| node.role.to_string() == name);
        if let Some(node) = made.filter(|node| node.signal(Signal::STOP).expect("it can be stopped")) {
            return node.clone();
        }
        assert!(begun.elapsed() < PATIENCE, "there is no {name}");
    }
}

/// Without this it would be as if the replicas were silent, for as long as a step may take.
#[test]
fn an_operator_is_told_that_another_one_works_and_why_links_are_refused() {
    let up = Up::start("operators", &[]);
    let folder = up.path().to_str().expect("a text");
    let begin = |arguments: &[&str]| {
        let mut command = up.command(arguments);
        command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("the program can be run")
    };
    // A change waits for the replica that is new, and that stands still. So that it does before it has what the others have, another one does, too, and each
    // look at the replicas takes its time.
    let slow = up.node("store-2");
    slow.signal(Signal::STOP).expect("it runs");
    let interrupted = begin(&["replace", "store-0"]);
    let stands = stand_still(&up, "store-3");
    let sent = Command::new("kill").args(["-INT", &interrupted.id().to_string()]).status();
    assert!(sent.is_ok_and(|status| status.success()), "it is there");
    let ended = interrupted.wait_with_output().expect("it was started");
    let said = String::from_utf8_lossy(&ended.stderr).into_owned();
    assert!(!ended.status.success() && said.contains("interrupted: if a change has begun"), "{said}");

    let looked_at = begin(&["replace", "store-0"]);
    for _ in 0..5 {
        let (succeeded, said) = shard(&["status", "--data", folder]);
        assert!(!succeeded && !said.contains("another command"), "one stands still, and nobody is ended: {said}");
    }
    stands.signal(Signal::CONT).expect("it is there");
    let done = looked_at.wait_with_output().expect("it was started");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));

    let mut first = begin(&["replace", "store-1"]);
    let stands = stand_still(&up, "store-4");
    let begun = Instant::now();
    while first.try_wait().expect("it was started").is_none() {
        assert!(begun.elapsed() < PATIENCE, "it goes on beside the others");
        // The later one of the two goes on. It waits for the same replica, for long enough to come up.
        shard(&["change", "--data", folder, "--shard", "0", "--replicas", "2,3,4", "--within", "6"]);
    }
    let ended = first.wait_with_output().expect("it was started");
    let said = String::from_utf8_lossy(&ended.stderr).into_owned();
    assert!(!ended.status.success() && said.contains("another command works as gateway-4095"), "{said}");

    stands.signal(Signal::CONT).expect("it is there");
    slow.signal(Signal::CONT).expect("it is there");

    let own = |name: &str| up.path().join("operator").join(name).to_str().expect("a text").to_owned();
    let certificate = |arguments: &[&str]| {
        let done = Command::new(PROGRAM).arg("certificate").args(arguments).output().expect("the program can be run");
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    };
    let (authority, issued) = (own("other-authority"), own("other"));
    certificate(&["authority", &authority]);
    certificate(&["issue", "gateway-4095", "--authority", &authority, "--into", &issued]);
    let file = up.cluster().file();
    let (succeeded, said) = shard(&["status", "--cluster", file.to_str().expect("a text"), "--certificates", &issued]);
    assert!(!succeeded && said.contains("store-3") && said.contains("of another authority"), "{said}");
}
