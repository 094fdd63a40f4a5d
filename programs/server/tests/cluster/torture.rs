//! `iolite torture`: a cluster of real processes stands it, and one that does not keep its promise is found out.

use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use crate::support::folder::{Folder, PATIENCE, PROGRAM};
use iolite_cluster::{LocalCluster, LocalNode, Signal};

fn torture(arguments: &[&str]) -> (Output, String) {
    let mut command = Command::new(PROGRAM);
    let output = command.arg("torture").args(arguments).output().expect("the program can be run");
    let said = said(&output);
    (output, said)
}

fn said(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// A run of which the test reaches the nodes.
struct Running {
    folder: Folder,
    torture: Child,
}

impl Running {
    /// The name is to be used once among all tests.
    fn start(name: &str, arguments: &[&str]) -> Running {
        let folder = Folder::new(name);
        std::fs::create_dir(&folder.0).expect("the folder of temporary files is there");
        let mut command = Command::new(PROGRAM);
        command.arg("torture").args(arguments).env("TMPDIR", &folder.0);
        command.args(["--faults", ""]).arg("--history").arg(folder.0.join("own.jsonl"));
        let torture = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program can be run");
        Running { folder, torture }
    }

    /// A node of its cluster, once that is ready and its clients have worked for a moment.
    fn node(&self, name: &str) -> LocalNode {
        let begun = Instant::now();
        while begun.elapsed() < PATIENCE {
            std::thread::sleep(Duration::from_millis(20));
            let found =
                std::fs::read_dir(&self.folder.0).expect("it was made").filter_map(|entry| Some(entry.ok()?.path()));
            let Some(cluster) = found.filter_map(|path| LocalCluster::open(&path).ok()).next() else { continue };
            // It may be half made.
            let Some(node) = cluster.nodes().iter().find(|node| node.role.to_string() == name) else { continue };
            if cluster.unready().is_ok_and(|unready| unready.is_empty()) {
                std::thread::sleep(Duration::from_millis(1500));
                return node.clone();
            }
        }
        panic!("the cluster does not get ready");
    }

    /// What it said, and what both files of its history hold.
    fn failed(self) -> (String, String) {
        let output = self.torture.wait_with_output().expect("it ends");
        let said = said(&output);
        assert_eq!(output.status.code(), Some(1), "{said}");
        let (_, kept) = said.split_once("files and logs stay in ").expect("they stay");
        let read =
            |file: &std::path::Path| std::fs::read_to_string(file).unwrap_or_else(|error| panic!("{error}: {said}"));
        let history = read(&self.folder.0.join("own.jsonl"));
        let kept = std::path::Path::new(kept.lines().next().unwrap_or_default()).join("history.jsonl");
        assert!(history == read(&kept), "they are the same");
        (said, history)
    }
}

#[test]
fn a_cluster_under_all_faults_loses_nothing_and_stays_strictly_serializable() {
    let (output, said) = torture(&["--cluster", "2x3", "--seconds", "12", "--seed", "7"]);
    assert!(output.status.success(), "{said}");
    assert!(said.contains("0 acknowledged transactions lost") && said.contains("\nclean"), "{said}");
    assert!(said.contains("adya") && said.contains("lists and sets valid; registers valid"), "{said}");
}

/// Hosts and devices are processes of their own, and fail with the cluster.
#[test]
fn objects_under_faults_keep_what_their_managers_promise() {
    let arguments = ["--objects", "--seconds", "6", "--faults", "kill,pause,partition", "--seed", "3"];
    let (output, said) = torture(&arguments);
    assert!(output.status.success(), "{said}");
    assert!(said.contains("lists and sets valid") && said.contains("\nclean"), "{said}");
    let managers = ["no manager", "ExplicitMigration", "LeaseCaching", "ConsistentCaching", "WriteThroughCaching"];
    for manager in managers.into_iter().chain(["AtLeastOnceRPC"]) {
        let has_line = said.contains(&format!("{manager}: "));
        assert!(has_line && !said.contains(&format!("{manager}: 0 appended")), "{manager}: {said}");
    }
}

/// Without syncs a power cut of all replicas takes what was acknowledged.
#[test]
fn a_cluster_that_does_not_sync_is_found_out() {
    let arguments =
        ["--cluster", "1x1", "--gateways", "1", "--faults", "power", "--durability", "memory", "--seconds", "8"];
    let (output, said) = torture(&arguments);
    assert!(!output.status.success(), "{said}");
    // Its replica may have lost so much that it says so itself, or that clients start anew.
    assert!(said.contains("NOT CLEAN") || said.contains("its disk is lost"), "{said}");
    if let Some((_, folder)) = said.split_once("files and logs stay in ") {
        std::fs::remove_dir_all(folder.lines().next().unwrap_or_default()).expect("it is there");
    }
}

#[test]
fn a_node_that_ends_by_itself_fails_the_run_which_keeps_its_history() {
    let running = Running::start("torture-ends", &["--cluster", "1x3", "--gateways", "1", "--seconds", "40"]);
    assert!(running.node("store-1").signal(Signal::KILL).expect("it is ours"), "it does not run");
    let (said, history) = running.failed();
    assert!(said.contains("NOT CLEAN") && said.contains("store-1 ended by itself"), "{said}");
    // The others are a majority.
    assert!(said.contains("0 acknowledged transactions lost"), "{said}");
    assert!(history.lines().count() > 5, "{history}");
}

/// However long it waits: it is not given up.
#[test]
fn a_client_without_an_answer_fails_the_run_which_tells_what_it_waits_for() {
    let arguments =
        ["--cluster", "1x1", "--gateways", "1", "--clients", "2", "--seconds", "15", "--answers-within", "2"];
    let running = Running::start("torture-waits", &arguments);
    assert!(running.node("gateway-0").signal(Signal::STOP).expect("it is ours"), "it does not run");
    let (said, history) = running.failed();
    assert!(said.contains("NOT CLEAN") && said.contains("not every client had an answer"), "{said}");
    for client in 0..2 {
        let told = format!("no answer within 2s after the faults: client {client} waits since ");
        assert!(said.contains(&told), "{said}");
    }
    assert!(history.lines().count() > 5, "{history}");
}

#[test]
fn a_node_that_ends_while_answers_are_awaited_is_told() {
    let arguments =
        ["--cluster", "1x1", "--gateways", "1", "--clients", "2", "--seconds", "5", "--answers-within", "15"];
    let running = Running::start("torture-ends-late", &arguments);
    let gateway = running.node("gateway-0");
    assert!(gateway.signal(Signal::STOP).expect("it is ours"), "it does not run");
    // Past the five seconds. On a machine where they are longer it ends before, and is told as well.
    std::thread::sleep(Duration::from_secs(6));
    assert!(gateway.signal(Signal::KILL).expect("it is ours"), "it does not run");
    let (said, _) = running.failed();
    assert!(said.contains("NOT CLEAN") && said.contains("gateway-0 ended by itself"), "{said}");
}

#[test]
fn a_history_that_cannot_be_written_is_told_before_the_run() {
    let begun = Instant::now();
    let (output, said) = torture(&["--seconds", "120", "--history", "/nowhere/history.jsonl"]);
    assert!(!output.status.success() && said.contains("cannot write /nowhere/history.jsonl"), "{said}");
    assert!(begun.elapsed() < PATIENCE, "it ran before");
}

#[test]
fn what_cannot_be_tortured_is_said() {
    for (arguments, told) in [
        (&["--cluster", "three"][..], "--cluster is like 2x3"),
        (&["--faults", "kill,flood"], "there is no fault \"flood\""),
        (&["--cluster", "1x2"], "1, 3, 5 or 7"),
        (&["--clients", "0"], "at least 1"),
        (&["--objects", "--cluster", "2x3"], "--objects has one shard"),
        (&["--objects", "--durability", "memory"], "cannot be used with"),
    ] {
        let (output, said) = torture(arguments);
        assert!(!output.status.success() && said.contains(told), "{said}");
    }
}
