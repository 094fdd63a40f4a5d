//! A shard is split only at a place that can be: at a table of the schema, or at a key of its types. What is refused changes nothing.

use std::process::Command;

use crate::support::folder::{PATIENCE, PROGRAM};
use crate::support::up::Up;
use iolite::{Client, Connection, Options, Schema};

fn schema() -> Schema {
    let json = r#"{"tables": {
        "orders": {"key": ["number"], "columns": {"number": {"type": "int"}}},
        "names": {"key": ["name"], "columns": {"name": {"type": "string"}}},
        "pair": {"key": ["a", "b"], "columns": {"a": {"type": "string"}, "b": {"type": "int"}}}
    }}"#;
    Schema::from_json(json).expect("a valid schema")
}

/// A client that has connected: the store has its schema since.
async fn connected(up: &Up) -> Client {
    let cluster = up.cluster();
    let address = cluster.gateways().next().and_then(|node| node.address).expect("gateways have addresses");
    let token = cluster.token().expect("it was made");
    let url = format!("ws://{address}/sync");
    let client = Client::connect(&url, &token, schema(), Options::new()).expect("in memory");
    let mut connection = client.connection();
    let online = connection.wait_for(|state| *state == Connection::Online);
    drop(tokio::time::timeout(PATIENCE, online).await.expect("it connects").expect("the client is open"));
    client
}

/// The plan of a split, as somebody writes it into the cluster's file by hand: shard 1 is to be split at this place.
fn planned(at: &str) -> String {
    let shard = |number: u32| {
        format!(
            "[[shards]]\nnumber = {number}\nreplicas = [{{ number = {number}, address = \"127.0.0.1:{number}\" }}]\n"
        )
    };
    format!(
        "{}{}[[splits]]\nat = {at}\nbegins = {{ table = \"orders\", key = [100] }}\nparent = {{ number = 1, replicas = [1] }}\nlower = {{ number = 2, replicas = [2] }}\n\
         upper = {{ number = 3, replicas = [3] }}\n",
        shard(2),
        shard(3)
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn a_split_at_a_place_that_cannot_be_is_refused_by_every_command_and_nothing_changes() {
    let up = Up::start("places", &["--replicas", "1", "--split", "orders:0100", "--unchecked"]);
    up.run(&["up", "--split", "orders:100"]);
    let file = up.cluster().file();
    let state = || (up.names(), std::fs::read_to_string(&file).expect("it is there"));
    let before = state();
    let refused = |place: &str, told: &str| {
        let said = up.try_to(&["split", "--at", place]).expect_err(place);
        assert!(said.contains(told) && said.contains("Nothing was changed"), "{place}: {said}");
        assert_eq!(state(), before, "{place}");
    };
    refused("orders:500", "the store has no schema");
    let _client = connected(&up).await;
    for (place, told) in [
        ("nosuchtable:5", "no table \"nosuchtable\". It has names, orders, pair"),
        ("orders:abc", "the key of table \"orders\" is (number: int), and \"abc\" is no int"),
        ("orders:\"x\"", "is no int"),
        ("orders:1.5", "is no int"),
        ("orders:99999999999999999999", "is no int"),
        ("orders:5:6", "is no int"),
        ("orders:5,6", "2 values are too many"),
        ("pair:x,y", "\"y\" is no int"),
        ("orders:100", "one begins there already"),
    ] {
        refused(place, told);
    }
    let by_hand = |place: &str| {
        std::fs::write(&file, before.1.clone() + &planned(place)).expect("it can be written");
        let content = || std::fs::read_to_string(&file).expect("it is there");
        let changed = content();
        let split = ["shard", "split", "--shard", "1", "--data", up.path().to_str().expect("a text")];
        let output = Command::new(PROGRAM).args(split).output().expect("the program can be run");
        assert!(!output.status.success(), "{place}");
        assert_eq!(content(), changed, "{place}");
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    for (place, told) in [
        ("{ table = \"nosuchtable\" }", "no table \"nosuchtable\""),
        ("{ table = \"orders\", key = [\"abc\"] }", "\"abc\" is no int"),
        ("{ table = \"orders\", key = [500, 6] }", "2 values are too many"),
        ("{ table = \"orders\", key = [1.5] }", "whole numbers of 64 bits"),
        ("{ table = \"orders\", key = [99999999999999999999] }", "integer `99999999999999999999`"),
        ("{ table = \"orders\", key = [100] }", "where it begins"),
    ] {
        let said = by_hand(place);
        assert!(said.contains(told), "{place}: {said}");
    }
    std::fs::write(&file, &before.1).expect("it can be written");
    up.run(&["split", "--at", "orders:500"]);
    let names = up.names();
    assert_eq!(names, ["store-0", "store-2", "store-3"]);
    assert!(up.run(&["split", "--at", "orders:500"]).contains("was split there already: nothing was to be done"));
    assert_eq!(up.names(), names);
}
