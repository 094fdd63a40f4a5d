//! `iolite serve` and `iolite cluster` as processes: replicas killed under load, restarted one after the other, all at once; and what a clumsy
//! operator is told.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::support::local::{self, Folder, Local, PATIENCE, fails, succeeds};
use crate::support::marks::{self, Marking, settles};
use iolite::{Client, Value};

fn open(cluster: &Local, gateway: usize) -> Client {
    marks::open(&cluster.sync_url(gateway), &cluster.token())
}

#[tokio::test]
async fn nothing_acknowledged_is_lost_when_nodes_are_killed_under_load() {
    let folder = Folder::new("killed");
    let mut cluster = Local::start(&folder.0, 2, 3, 2);
    let clients = [open(&cluster, 0), open(&cluster, 1)];
    let marking = [Marking::start(&clients[0], 0), Marking::start(&clients[1], 1)];
    // One replica of each shard, a gateway with one more, and then everything at once.
    for victims in [&["store-0", "store-4"][..], &["gateway-0", "store-2"], &[]] {
        settles(&clients[0], 40).await;
        cluster.kill(victims);
        if !victims.is_empty() {
            settles(&clients[1], 20).await;
        }
        cluster.start_all();
    }
    let mut acknowledged = BTreeSet::new();
    for marking in marking {
        acknowledged.extend(marking.end().await);
    }
    assert!(acknowledged.len() > 120, "{} were marked", acknowledged.len());
    cluster.kill(&[]);
    cluster.start_all();
    for gateway in [0, 1] {
        marks::come_to(&open(&cluster, gateway), &acknowledged).await;
    }
}

#[tokio::test]
async fn nodes_are_restarted_one_after_the_other_while_clients_go_on() {
    let folder = Folder::new("rolling");
    let mut cluster = Local::start(&folder.0, 1, 3, 1);
    let client = open(&cluster, 0);
    let marking = Marking::start(&client, 0);
    for node in ["store-0", "store-1", "store-2", "gateway-0"] {
        settles(&client, 10).await;
        cluster.terminate(node);
        cluster.start_all();
    }
    let acknowledged = marking.end().await;
    marks::come_to(&open(&cluster, 0), &acknowledged).await;
    let answer = cluster.get("gateway-0", "/objects");
    assert!(answer.starts_with("HTTP/1.1 404") && answer.contains("write [objects] into its file"), "{answer}");
    assert_eq!(cluster.metric("gateway-0", "iolite_object_tracking_requests_total"), 0, "it has no tracking");
    let metrics = cluster.metrics("store-1");
    for told in ["iolite_replica_takes_part 1", "iolite_replica_fetches 0", "iolite_replica_epoch 0", "class=\"fsync\""]
    {
        assert!(metrics.contains(told), "{told} is not in {metrics}");
    }
}

#[tokio::test]
async fn less_than_half_of_the_replicas_is_enough_to_lose_and_no_more() {
    let folder = Folder::new("majority");
    let mut cluster = Local::start(&folder.0, 1, 3, 1);
    let client = open(&cluster, 0);
    client.mutate("mark", "three").expect("called").confirmed().await.expect("confirmed");
    for (node, counted) in
        [("gateway-0", "iolite_gateway_commit_seconds_count"), ("store-0", "iolite_replica_votes_total{vote=\"ok\"}")]
    {
        assert!(cluster.metric(node, counted) > 0, "{}", cluster.metrics(node));
    }
    cluster.kill(&["store-1"]);
    let two = client.mutate("mark", "two").expect("called");
    tokio::time::timeout(PATIENCE, two.confirmed()).await.expect("two of three are enough").expect("confirmed");
    assert!(cluster.metric("gateway-0", "iolite_gateway_slow_paths_total") > 0, "{}", cluster.metrics("gateway-0"));
    cluster.kill(&["store-2"]);
    let one = client.mutate("mark", "one").expect("called");
    let waits = tokio::time::timeout(Duration::from_secs(2), one.confirmed()).await;
    assert!(waits.is_err(), "one of three must not be enough");
    cluster.start_all();
    tokio::time::timeout(PATIENCE, one.confirmed()).await.expect("it goes on").expect("confirmed");
    marks::come_to(&client, &["one", "two", "three"].map(Value::from).into()).await;
}

#[test]
fn a_replica_whose_data_are_gone_does_not_come_back_as_an_empty_one() {
    let folder = Folder::new("gone");
    let mut cluster = Local::start(&folder.0, 1, 3, 1);
    cluster.kill(&["store-1"]);
    let node = cluster.node("store-1");
    let config = node.config();
    let config = config.to_str().expect("plain letters");
    let segments = std::fs::read_dir(node.data()).expect("it is there").map(|entry| entry.expect("a file").path());
    for segment in segments.filter(|file| file.extension().is_some_and(|extension| extension == "segment")) {
        std::fs::remove_file(segment).expect("it can be");
    }
    let lost = fails(&["serve", "--config", config]);
    assert!(lost.contains("its disk is lost") && lost.contains("replace it by a new replica"), "{lost}");
    std::fs::remove_dir_all(node.data()).expect("it can be");
    let missing = fails(&["serve", "--config", config]);
    assert!(missing.contains("there is no replica") && missing.contains("replace it by a new replica"), "{missing}");
    assert_eq!(missing.lines().count(), 1, "{missing}");
}

#[test]
fn a_node_that_runs_already_or_whose_number_is_taken_is_refused() {
    let folder = Folder::new("twice");
    let mut cluster = Local::start(&folder.0, 1, 1, 1);
    let config = cluster.node("store-0").config();
    let twice = fails(&["serve", "--config", config.to_str().expect("plain letters")]);
    assert!(twice.contains("runs with the same configuration"), "{twice}");
    let gateway = cluster.node("gateway-0").config();
    let text = std::fs::read_to_string(&gateway).expect("it is there");
    let second = gateway.with_file_name("second.toml");
    let text = text.replace("pid_file = \"pid\"\n", "").replace("listen = \"127.0.0.1:", "listen = \"127.0.0.2:");
    std::fs::write(&second, text).expect("it can be written");
    // The later of two gateways of one number goes on, and the earlier one ends.
    let mut later = std::process::Command::new(local::PROGRAM)
        .args(["serve", "--config", second.to_str().expect("plain letters")])
        .stdout(std::process::Stdio::null())
        .spawn()
        .expect("the program can be run");
    let ended = cluster.wait_for_end("gateway-0");
    later.kill().expect("it runs");
    later.wait().expect("it was killed");
    assert!(!ended.success());
    let log = std::fs::read_to_string(cluster.node("gateway-0").log()).expect("it is there");
    assert!(log.contains("another process has the number 0 of this gateway"), "{log}");
}

#[test]
fn a_gateway_tells_its_token_only_if_its_file_says_so() {
    let folder = Folder::new("token");
    let mut cluster = Local::start(&folder.0, 1, 1, 1);
    let token = cluster.token();
    let told = cluster.get("gateway-0", "/iolite.json");
    assert!(told.starts_with("HTTP/1.1 200") && told.contains(&token), "a local cluster is for development: {told}");
    let config = cluster.node("gateway-0").config();
    let text = std::fs::read_to_string(&config).expect("it is there");
    // As somebody writes it who has not heard of the setting.
    let silent = text.replace("tells_token = true\n", "");
    assert_ne!(silent, text);
    std::fs::write(&config, silent).expect("it can be written");
    cluster.terminate("gateway-0");
    cluster.start_all();
    let refused = cluster.get("gateway-0", "/iolite.json");
    assert!(refused.starts_with("HTTP/1.1 404") && !refused.contains(&token), "{refused}");
}

#[test]
fn a_cluster_goes_up_and_down_and_up_by_commands() {
    let folder = Folder::new("commands");
    let data = folder.0.to_str().expect("plain letters");
    let missing = fails(&["cluster", "status", "--data", data]);
    assert!(missing.contains("there is no cluster in") && missing.contains("cluster up"), "{missing}");
    let up = succeeds(&["cluster", "up", "--data", data, "--port", "0", "--shards", "2", "--replicas", "1"]);
    assert!(up.contains("store-1") && up.contains("gateway-0") && up.contains("The token is"), "{up}");
    // Twice is once, and what was chosen stays.
    let again = succeeds(&["cluster", "up", "--data", data]);
    let pids = |text: &str| -> Vec<String> {
        let lines = text.lines().filter(|line| line.contains(" ready "));
        lines.map(|line| line.split_whitespace().nth(2).expect("a pid").to_owned()).collect()
    };
    assert_eq!((pids(&up), pids(&up).len()), (pids(&again), 3));
    let other = fails(&["cluster", "up", "--data", data, "--shards", "3"]);
    assert!(other.contains("was made with 2 shards") && other.contains("asks for 3 shards"), "{other}");
    let status = succeeds(&["cluster", "status", "--data", data]);
    assert_eq!(pids(&status), pids(&up));
    let json = succeeds(&["cluster", "status", "--data", data, "--json"]);
    assert!(json.contains(&format!("\"pid\":{}", pids(&up)[0])), "{json}");
    let down = succeeds(&["cluster", "down", "--data", data]);
    assert!(down.contains("stopped"), "{down}");
    assert_eq!(fails(&["cluster", "status", "--data", data]), "");
    succeeds(&["cluster", "up", "--data", data]);
    succeeds(&["cluster", "down", "--data", data]);
}

#[test]
fn certificates_are_made_for_nodes_only() {
    let folder = Folder::new("certificates");
    let path = |name: &str| folder.0.join(name).to_str().expect("plain letters").to_owned();
    let (authority, into) = (path("authority"), path("store-0"));
    let issue = |node: &str, days: &str| {
        let arguments = ["certificate", "issue", node, "--authority", &authority, "--into", &into, "--days", days];
        arguments.map(str::to_owned)
    };
    let run = |arguments: [String; 9]| fails(&arguments.each_ref().map(String::as_str));
    let none = run(issue("store-0", "1"));
    assert!(none.contains("Make an authority first"), "{none}");
    succeeds(&["certificate", "authority", &authority]);
    let again = fails(&["certificate", "authority", &authority]);
    assert!(again.contains("an authority in") && again.contains("use it"), "{again}");
    let stranger = run(issue("mallory", "1"));
    assert!(stranger.contains("mallory names no node") && stranger.contains("store-N"), "{stranger}");
    for days in ["0", "3651"] {
        let wrong = run(issue("store-0", days));
        assert!(wrong.contains("1 to 3650 days"), "{wrong}");
    }
    assert!(!folder.0.join("store-0").exists(), "what was refused has left nothing");
    let centre = path("centre");
    succeeds(&["certificate", "issue", "centre-eu", "--authority", &authority, "--into", &centre]);
    succeeds(&issue("store-0", "3650").each_ref().map(String::as_str));
    assert!(folder.0.join("store-0/node.crt").is_file());
    // While another authority takes the place of this one, both are trusted.
    let new = path("new");
    succeeds(&["certificate", "authority", &new]);
    let issued = succeeds(&["certificate", "issue", "store-0", "--authority", &new, "--into", &into]);
    assert!(issued.contains("store-0 trusts 2 authorities"), "{issued}");
    let read = |file: &str| std::fs::read_to_string(folder.0.join(file)).expect("readable");
    assert_eq!(read("store-0/authority.crt"), read("authority/authority.crt") + &read("new/authority.crt"));
}

#[test]
fn what_a_clumsy_operator_does_is_told() {
    let folder = Folder::new("clumsy");
    std::fs::create_dir_all(&folder.0).expect("a temporary folder");
    std::fs::write(folder.0.join("thesis.txt"), "finished").expect("it can be written");
    let data = folder.0.to_str().expect("plain letters");
    let not_empty = fails(&["cluster", "up", "--data", data]);
    assert!(not_empty.contains("is not empty") && not_empty.contains("--data"), "{not_empty}");
    assert_eq!(std::fs::read_dir(&folder.0).expect("it is there").count(), 1);
    let inside = folder.0.join("inside");
    let inside = inside.to_str().expect("plain letters");
    for (arguments, told) in [
        (&["--replicas", "2"][..], "1, 3, 5 or 7"),
        (&["--gateways", "0"], "at least one shard and one gateway"),
        (&["--split", ":5"], "names no table"),
        (&["--split", "a", "--split", "a", "--unchecked"], "begins twice"),
        (&["--split", "orders:5"], "has no schema"),
        (&["--split", "orders:99999999999999999999", "--unchecked"], "not a whole number of 64 bits"),
        (&["--delay-ms=-1"], "zero or more milliseconds"),
        (&["--delay-ms=1e19"], "at most 60000"),
    ] {
        let refused = fails(&[&["cluster", "up", "--data", inside], arguments].concat());
        assert!(refused.contains(told), "{refused}");
        assert_eq!(
            std::fs::read_dir(&folder.0).expect("it is there").count(),
            1,
            "something was left by {arguments:?}"
        );
    }
    for (command, option) in [
        (&["cluster", "replace", "store-0", "--data", inside][..], "--within"),
        (&["cluster", "split", "--at", "t", "--data", inside], "--within"),
        (&["shard", "status", "--data", inside], "--within"),
        (&["torture"], "--seconds"),
        (&["torture"], "--answers-within"),
    ] {
        let refused = fails(&[command, &[option, "18446744073709551615"]].concat());
        assert!(refused.contains("a whole number of seconds, at most 2592000"), "{command:?}: {refused}");
    }
    let no_file = fails(&["serve", "--config", inside]);
    assert!(no_file.contains("cannot be read") && no_file.contains("Correct the path"), "{no_file}");
    let no_toml = fails(&["serve", "--config", folder.0.join("thesis.txt").to_str().expect("plain letters")]);
    assert!(no_toml.contains("thesis.txt") && no_toml.contains("line 1"), "{no_toml}");
}
