//! What becomes of a cluster while its description changes in etcd, and while etcd is away.

use std::time::Instant;

use iolite_node::config::ReplicaPlace;
use tokio::time::{Duration, sleep};

use super::described::Described;
use super::server::Etcd;
use crate::support::folder::Folder;
use crate::support::folder::PATIENCE;
use crate::support::marks::{self, Marking, open};

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_goes_on_and_starts_again_while_etcd_is_away_and_learns_of_changes_when_it_is_there() {
    let folder = Folder::new("etcd");
    let mut etcd = Etcd::start(&folder.0);
    let mut described = Described::start("etcd-cluster", &etcd.endpoint());
    let gateway = described.node("gateway-0").address.expect("gateways have addresses");
    let (url, token) = (format!("ws://{gateway}/sync"), described.cluster().token().expect("it was made"));
    let client = open(&url, &token);
    let marking = Marking::start(&client, 0);
    marks::settles(&client, 20).await;

    replace_a_replica_while_somebody_else_writes(&mut described);
    // Everybody knows of it: without the new replica there is no majority.
    described.kill("store-0");
    marks::settles(&client, 20).await;

    etcd.stop();
    marks::settles(&client, 20).await;
    described.kill("gateway-0");
    described.kill("store-2");
    start(&described, "store-2").await;
    start(&described, "gateway-0").await;
    start(&described, "store-0").await;
    marks::settles(&client, 20).await;
    let said = std::fs::read_to_string(described.node("store-2").log()).expect("it has one");
    assert!(said.contains("etcd does not answer") && said.contains("cluster.copy.toml is used"), "{said}");
    let refused = described.shard(&CHANGE).expect_err("it can be neither read nor written");
    assert!(refused.contains("etcd does not answer"), "{refused}");

    etcd.start_again();
    let (head, mut file) = described.describe();
    file.forget(1);
    file.forget(4);
    described.write(&head, &file).expect("nobody else has");
    learns(&described, "store-2").await;
    learns(&described, "gateway-0").await;
    marks::settles(&client, 20).await;
    let acknowledged = marking.end().await;
    marks::come_to(&open(&url, &token), &acknowledged).await;
}

const CHANGE: [&str; 6] = ["change", "--plain", "--shard", "0", "--replicas", "0,2,3"];

/// A replica is lost, and another one takes its place while somebody else changes the description.
fn replace_a_replica_while_somebody_else_writes(described: &mut Described) {
    let local = described.cluster_command(&["replace", "store-1"]).expect_err("it would write into the file");
    assert!(local.contains("description is in etcd") && local.contains("use `iolite shard`"), "{local}");
    described.kill("store-1");
    let (head, mut file) = described.describe();
    let joining = |number| ReplicaPlace { number, address: format!("127.0.0.1:{}", free_port()) };
    file.shards[0].joining.push(joining(3));
    described.write(&head, &file).expect("nobody else has");
    file.shards[0].joining.clear();
    let refused = described.write(&head, &file).expect_err("it has changed since");
    assert!(refused.contains("somebody has changed the description since revision"), "{refused}");
    let mut changing = described.shard_command(&CHANGE).spawn().expect("the program can be run");
    let (head, mut file) = described.describe();
    file.shards[0].joining.push(joining(4));
    described.write(&head, &file).expect("the tool waits for the replica, and has written nothing");
    described.start_replica(3);
    assert!(changing.wait().expect("it was started").success());
    let (_, file) = described.describe();
    let numbers = |places: &[ReplicaPlace]| places.iter().map(|place| place.number).collect::<Vec<_>>();
    let shard = &file.shards[0];
    assert_eq!((shard.epoch, numbers(&shard.replicas), numbers(&shard.leaving)), (1, vec![0, 2, 3], vec![1]));
    assert_eq!(numbers(&shard.joining), [4], "what somebody else wrote is there");
}

fn free_port() -> u16 {
    iolite_cluster::free_ports(&["127.0.0.1".parse().expect("an address")], 1).expect("one is free")[0]
}

/// Starts a node that is needed for others to be ready.
async fn start(described: &Described, name: &str) {
    let node = described.node(name);
    drop(node.start(std::path::Path::new(crate::support::folder::PROGRAM)).expect("it can be run"));
    let begun = Instant::now();
    while node.pid().expect("its own").is_none() {
        assert!(begun.elapsed() < PATIENCE, "{}", node.last_words());
        sleep(Duration::from_millis(20)).await;
    }
}

/// Waits until a node that was started without etcd says that it has read something new there.
async fn learns(described: &Described, name: &str) {
    let begun = Instant::now();
    loop {
        let said = std::fs::read_to_string(described.node(name).log()).expect("it has one");
        let since = said.rsplit("is used until then").next().expect("there is a last part");
        if since.contains("description has changed") {
            return;
        }
        assert!(begun.elapsed() < PATIENCE, "{name}: {since}");
        sleep(Duration::from_millis(50)).await;
    }
}
