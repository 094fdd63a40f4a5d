//! The tool that splits shards is killed in the middle, at each of its steps and at any moment: clients go on, the same command completes the split, and
//! nothing that was acknowledged is lost.

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use crate::support::folder::PATIENCE;
use crate::support::marks::{self, Marking, open};
use crate::support::up::Up;
use iolite::Client;
use iolite_cluster::LocalNode;
use iolite_node::config::{ClusterFile, SplitPlace};

/// What one sees of how far the tool is, in order.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// The split is in the cluster's file.
    Planned,
    /// A replica of a part has its folder.
    Made,
    /// All replicas of the parts run.
    Started,
    /// One of them takes part, so the split was chosen.
    Chosen,
    /// All of a part do.
    PartServes,
    /// The cluster's file says that the shard has ended.
    Noted,
    /// A replica of the shard that has ended is stopped.
    Retired,
}

const STEPS: [Step; 7] =
    [Step::Planned, Step::Made, Step::Started, Step::Chosen, Step::PartServes, Step::Noted, Step::Retired];

impl Step {
    fn is_reached(self, up: &Up, split: Option<&SplitPlace>) -> bool {
        let Some(split) = split else { return false };
        let stores = |numbers: &[u64]| numbers.iter().filter_map(|number| store(up, *number)).collect::<Vec<_>>();
        let (lower, upper) = (stores(&split.lower.replicas), stores(&split.upper.replicas));
        let mut all = lower.iter().chain(&upper);
        match self {
            Step::Planned => true,
            Step::Made => all.next().is_some(),
            Step::Started => {
                all.clone().count() == split.lower.replicas.len() + split.upper.replicas.len()
                    && all.all(|node| node.pid().is_ok_and(|pid| pid.is_some()))
            }
            Step::Chosen => all.any(takes_part),
            Step::PartServes => [lower, upper].iter().any(|part| !part.is_empty() && part.iter().all(takes_part)),
            Step::Noted => split.done,
            Step::Retired => up.path().join("retired").is_dir(),
        }
    }
}

/// One that is made: a folder may be half there.
fn store(up: &Up, number: u64) -> Option<LocalNode> {
    let folder = up.path().join(format!("store-{number}"));
    let is_made = folder.join("data").join("replica.toml").is_file();
    if is_made { Some(up.node(&format!("store-{number}"))) } else { None }
}

fn takes_part(node: &LocalNode) -> bool {
    let metrics = node.address.and_then(|address| {
        let mut stream = TcpStream::connect(address).ok()?;
        stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: replica\r\nConnection: close\r\n\r\n").ok()?;
        let mut metrics = String::new();
        stream.read_to_string(&mut metrics).ok()?;
        Some(metrics)
    });
    metrics.is_some_and(|metrics| metrics.contains("\niolite_replica_takes_part 1\n"))
}

/// The last split of the cluster's file.
fn last_split(up: &Up, known: usize) -> Option<SplitPlace> {
    let file = ClusterFile::read(&up.cluster().file()).expect("it is replaced whole");
    file.splits.into_iter().nth(known)
}

fn begin(up: &Up, arguments: &[&str]) -> Child {
    let mut command = up.command(arguments);
    command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("the program can be run")
}

/// Kills the tool as soon as it has come so far, or lets it end.
fn kill_at(up: &Up, step: Step, arguments: &[&str]) {
    let mut tool = begin(up, arguments);
    let begun = Instant::now();
    while !step.is_reached(up, last_split(up, 0).as_ref()) && tool.try_wait().expect("it was started").is_none() {
        assert!(begun.elapsed() < PATIENCE, "{step:?}");
        std::thread::sleep(Duration::from_millis(1));
    }
    end(tool);
}

fn end(mut tool: Child) {
    let _ = tool.kill();
    tool.wait().expect("it was started");
}

async fn go_on(clients: &[Client]) {
    for client in clients {
        marks::settles(client, 10).await;
    }
}

#[test]
fn a_split_of_which_a_new_replica_is_lost_is_completed_once_that_is_replaced() {
    let up = Up::start("part-lost", &[]);
    let split = ["split", "--at", "marks:1.", "--unchecked", "--within", "30"];
    kill_at(&up, Step::Chosen, &split);
    let planned = last_split(&up, 0).expect("it was chosen");
    let lost = planned.upper.replicas[2];
    let node = store(&up, lost).expect("it was made");
    up.kill(&node);
    std::fs::remove_dir_all(node.data()).expect("it is there");
    let unfinished = up.try_to(&["split", "--at", "marks:1.", "--unchecked", "--within", "5"]);
    assert!(store(&up, lost).is_none(), "it has forgotten what it promised");
    if let Err(said) = unfinished {
        assert!(said.contains("replace those that are lost"), "{said}");
    }
    up.run(&["replace", &format!("store-{lost}"), "--within", "30"]);
    up.run(&split);
    assert!(last_split(&up, 0).is_some_and(|split| split.done));
    assert_eq!(up.names().len(), 6, "two shards of three");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_split_whose_tool_is_killed_at_any_step_is_completed_by_the_same_command_and_nothing_is_lost() {
    let up = Up::start("cut-off", &["--gateways", "2"]);
    let token = up.cluster().token().expect("it was made");
    let addresses = up.cluster().gateways().filter_map(|node| node.address).collect::<Vec<_>>();
    let urls: Vec<String> = addresses.iter().map(|address| format!("ws://{address}/sync")).collect();
    let clients: Vec<Client> = urls.iter().map(|url| open(url, &token)).collect();
    let marking: Vec<_> = clients.iter().enumerate().map(|(number, own)| Marking::start(own, number)).collect();
    go_on(&clients).await;

    // Between the marks of the one client and the other's.
    let split = ["split", "--at", "marks:1."];
    for step in STEPS {
        kill_at(&up, step, &split);
        go_on(&clients).await;
    }
    up.run(&split);
    assert_eq!(up.names().len(), 6, "two shards of three");
    go_on(&clients).await;

    let again = ["split", "--at", "marks:1.5"];
    for millis in [3, 10, 30, 60, 100, 150, 250, 400, 700, 1_200] {
        let tool = begin(&up, &again);
        tokio::time::sleep(Duration::from_millis(millis)).await;
        end(tool);
        go_on(&clients).await;
    }
    up.run(&again);
    assert_eq!(up.names().len(), 9, "three shards of three");
    assert!(last_split(&up, 1).is_some_and(|split| split.done) && last_split(&up, 2).is_none());

    let mut acknowledged = BTreeSet::new();
    for marking in marking {
        acknowledged.extend(marking.end().await);
    }
    up.kill_all();
    up.run(&["up"]);
    for url in &urls {
        marks::come_to(&open(url, &token), &acknowledged).await;
    }
}
