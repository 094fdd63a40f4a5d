//! `iolite bench --beside` brings up real clusters of other systems, measures them, and checks that they lost nothing.
//!
//! Needs what `make setup` installs, from Debian and from npm, and `iolite-baseline`, which a `cargo test` of all default packages builds.

use std::process::Command;

use serde_json::Value;

fn bench(arguments: &[&str]) -> (bool, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_iolite")).arg("bench").args(arguments).output();
    let output = output.expect("the program can be run");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.success(), text(&output.stdout), text(&output.stderr))
}

const SYSTEMS: [&str; 5] = ["etcd", "postgres", "redis", "occ-store", "lock-store"];

/// The records of all systems, which are good.
fn records(arguments: &[&str]) -> Vec<Value> {
    let beside = SYSTEMS.join(",");
    let always = ["--beside", &beside, "--clients", "3", "--seconds", "1", "--warm-up", "0", "--json"];
    let (good, report, said) = bench(&[arguments, &always].concat());
    assert!(good, "{report}{said}");
    let mut table: Value = serde_json::from_str(&report).expect("it is JSON");
    let Value::Array(records) = table["beside"].take() else { panic!("no records in {report}") };
    let systems: Vec<&str> = records.iter().filter_map(|record| record["system"].as_str()).collect();
    assert_eq!(systems, SYSTEMS);
    for record in &records {
        assert!(record["committed"].as_u64() > Some(0), "{record}");
        for zero in ["lost_updates", "violations", "unknown"] {
            assert_eq!(record[zero], 0, "{record}");
        }
        assert!(record["busiest_node"]["cpu_us_per_op"].as_f64() > Some(0.0), "{record}");
        let nodes = record["nodes"].as_array().expect("there are nodes");
        assert_eq!(nodes.len(), 3, "{record}");
        for node in nodes {
            assert!(node["peer_segments_per_op"].as_f64() > Some(0.0), "all nodes replicate: {record}");
        }
    }
    records
}

#[test]
fn every_system_syncs_what_it_acknowledges_and_has_all_of_it_after_a_kill() {
    for record in records(&["ycsb-t", "--keys", "100"]) {
        assert_eq!(record["durability"], "fsync", "{record}");
        assert_eq!(record["durability_verified"], "counted", "{record}");
        assert!(record["fsync_ms"]["p50"].as_f64() > Some(0.0), "{record}");
        let messages = record["nodes"].as_array().into_iter().flatten();
        let messages: f64 = messages.filter_map(|node| node["client_messages_per_op"].as_f64()).sum();
        // Four, but for transactions at the ends of the stretch, and attempts that aborted.
        assert!((3.0..9.0).contains(&messages), "a read and a commit, each asked and answered: {record}");
    }
}

#[test]
fn a_delay_is_on_the_links_between_servers_too() {
    let delayed = ["retwis-tapir", "--keys", "1000", "--delay-ms", "20", "--durability", "memory"];
    for record in records(&delayed) {
        assert_eq!(record["durability_verified"], "not promised", "{record}");
        let p50 = record["write_commit_latency_ms"]["p50"].as_f64();
        assert!(p50 >= Some(40.0), "a round trip to the first server and one from it to another: {record}");
    }
}

#[test]
fn iolite_itself_is_measured_as_the_others_are() {
    let always = ["--clients", "3", "--seconds", "1", "--warm-up", "0", "--json"];
    let (good, report, said) = bench(&[&["ycsb-t", "--cluster", "2x3", "--keys", "100"][..], &always].concat());
    assert!(good, "{report}{said}");
    let record: Value = serde_json::from_str(&report).expect("it is JSON");
    assert_eq!((&record["system"], &record["durability_verified"]), (&"iolite".into(), &"counted".into()), "{record}");
    assert!(record["committed"].as_u64() > Some(0), "{record}");
    for zero in ["lost_updates", "violations", "unknown"] {
        assert_eq!(record[zero], 0, "{record}");
    }
    let nodes = record["nodes"].as_array().expect("there are nodes");
    assert_eq!(nodes.len(), 6, "{record}");
    for node in nodes {
        assert!(node["client_messages_per_op"].as_f64() > Some(0.0), "every replica votes: {record}");
    }
    let delayed = ["retwis-tapir", "--cluster", "1x3", "--keys", "1000", "--delay-ms", "20", "--durability", "memory"];
    let (good, report, said) = bench(&[&delayed[..], &always].concat());
    assert!(good, "{report}{said}");
    let record: Value = serde_json::from_str(&report).expect("it is JSON");
    assert!(record["write_commit_latency_ms"]["p50"].as_f64() >= Some(20.0), "a round trip: {record}");
}

#[test]
fn iolite_is_measured_without_a_replica_and_with_clocks_apart() {
    let (good, report, said) = bench(&[
        "ycsb-t",
        "--cluster",
        "1x3",
        "--keys",
        "100",
        "--clients",
        "4",
        "--seconds",
        "1",
        "--warm-up",
        "0",
        "--json",
        "--down",
        "1",
        "--coordinators",
        "2",
        "--skew-ms",
        "50",
    ]);
    assert!(good, "{report}{said}");
    let record: Value = serde_json::from_str(&report).expect("it is JSON");
    assert_eq!((&record["down"], &record["coordinators"], &record["skew_ms"]), (&1.into(), &2.into(), &50.into()));
    // Counted a moment before and after what is committed is.
    assert!(record["slow_paths_per_op"].as_f64() >= Some(0.5), "no vote has its fast path: {record}");
    assert!(record["proposed_again_per_op"].is_number(), "{record}");
}

#[test]
fn rounds_of_the_game_are_measured_with_and_without_push_and_on_redis() {
    let options = ["--no-push", "--beside", "redis,redis-script", "--delay-ms", "20", "--seconds", "2"];
    let (good, report, said) = bench(&[&["game", "--durability", "memory", "--json"][..], &options].concat());
    assert!(good, "{report}{said}");
    let own: Value = serde_json::from_str(&report).expect("it is JSON");
    let others = own["beside"].as_array().expect("there are others").iter();
    // A move is half a round trip to the server and half of one to the other player; whoever is only told of it, or has to watch, asks once more.
    let round_trips = [("iolite", 2.0), ("iolite --no-push", 4.0), ("redis", 4.0), ("redis-script", 2.0)];
    for (record, (system, least)) in [&own].into_iter().chain(others).zip(round_trips) {
        assert_eq!(record["system"], system, "{record}");
        assert!(record["rounds"].as_u64() > Some(0) && record["committed"].as_u64() > Some(0), "{record}");
        assert!(record["latency_ms"]["p50"].as_f64() >= Some(least * 20.0), "{record}");
    }
}

#[test]
fn the_twitter_clone_loses_nothing_at_any_isolation_and_on_redis() {
    let small =
        ["--keys", "200", "--clients", "4", "--seconds", "1", "--warm-up", "0", "--durability", "memory", "--json"];
    let all = ["retwis-diamond", "--no-docc", "--strict-lists", "--beside", "redis"];
    let (good, report, said) = bench(&[&all[..], &small].concat());
    assert!(good, "{report}{said}");
    let own: Value = serde_json::from_str(&report).expect("it is JSON");
    let others = own["beside"].as_array().expect("there are others").iter();
    let records: Vec<&Value> = [&own].into_iter().chain(others).collect();
    let systems: Vec<&str> = records.iter().filter_map(|record| record["system"].as_str()).collect();
    let of_levels = ["iolite rc", "iolite rc strict", "iolite si", "iolite si strict", "iolite si no-docc"];
    assert_eq!(systems, [&of_levels[..], &["iolite ss", "iolite ss strict", "iolite ss no-docc", "redis"]].concat());
    for record in records {
        for part in ["stores", "front", "clients"] {
            assert!(record["cpu_us_per_op"][part].as_f64() > Some(0.0), "{part}: {record}");
        }
        for kind in ["get-timeline", "post-tweet", "like"] {
            assert!(record["transactions"][kind]["committed"].as_u64() > Some(0), "{kind}: {record}");
        }
    }
    // Everybody posts as one of twenty: whoever reads what he appends to meets others who do.
    let contended = ["--isolation", "ss", "--no-docc", "--only", "post-tweet", "--keys", "20", "--zipf", "1"];
    let (good, report, said) = bench(&[&["retwis-diamond"], &small[2..], &contended[..]].concat());
    assert!(good, "{report}{said}");
    let own: Value = serde_json::from_str(&report).expect("it is JSON");
    let aborts = |record: &Value| record["aborts"].as_u64().expect("they are counted");
    assert!(aborts(&own) < aborts(&own["beside"][0]), "appends commute where their types count: {report}");
}

#[test]
fn updates_are_pushed_to_every_session_as_hocuspocus_does() {
    for class in ["memory", "fsync"] {
        let options = ["--embedded", "--beside", "hocuspocus", "--seconds", "1", "--durability", class, "--json"];
        let (good, report, said) = bench(&[&["propagate"], &options[..]].concat());
        assert!(good, "{report}{said}");
        let own: Value = serde_json::from_str(&report).expect("it is JSON");
        assert_eq!(own["journal_sync_ms"]["p50"].is_number(), class == "fsync", "{own}");
        for record in [&own, &own["beside"][0]] {
            assert_eq!(record["fsync_ms"]["p50"].is_number(), class == "fsync", "{record}");
            assert!(record["committed"].as_u64() > Some(0), "{record}");
            assert!(record["bytes_up_per_op"].as_f64() > Some(1.0), "{record}");
            assert_eq!(record["durability"], class, "{record}");
            for side in ["server", "clients"] {
                assert!(record["cpu_us_per_op"][side].as_f64() > Some(0.0), "{side}: {record}");
            }
        }
    }
    let options = ["--sessions", "7", "--beside", "hocuspocus", "--seconds", "1", "--durability", "memory", "--json"];
    let (good, report, said) = bench(&[&["fanout"], &options[..]].concat());
    assert!(good, "{report}{said}");
    let own: Value = serde_json::from_str(&report).expect("it is JSON");
    for record in [&own, &own["beside"][0]] {
        assert!(record["throughput_per_s"].as_f64() > Some(0.0), "{record}");
        assert!(record["bytes_down_per_session"].as_f64() > Some(1.0), "each is told of each update: {record}");
        for side in ["server", "clients"] {
            assert!(record["cpu_us_per_op"][side].as_f64() > Some(0.0), "{side}: {record}");
        }
    }
}

#[test]
fn options_that_do_not_fit_are_refused_with_what_would() {
    for (arguments, words) in [
        (&["ycsb-t"][..], "--beside"),
        (&["ycsb-t", "--embedded"], "--beside"),
        (&["retwis-tapir", "--cluster", "1x2"], "1, 3, 5 or 7"),
        (&["ycsb-t", "--cluster", "1x3", "--skew-ms", "50"], "--coordinators"),
        (&["counter", "--embedded", "--coordinators", "2"], "--cluster"),
        (&["counter", "--embedded", "--beside", "etcd"], "--beside"),
        (&["ycsb-t", "--beside", "mysql"], "etcd"),
        (&["ycsb-t", "--beside", "redis-script"], "game"),
        (&["game", "--beside", "etcd"], "--beside redis"),
        (&["game", "--embedded"], "--embedded"),
        (&["counter", "--embedded", "--no-push"], "--no-push"),
        (&["game", "--no-docc"], "--no-docc"),
        (&["game", "--kill", "gateway", "--no-push"], "without --no-push"),
        (&["fanout", "--kill", "gateway"], "--kill"),
        (&["retwis-diamond", "--no-push"], "--no-push"),
        (&["retwis-diamond", "--beside", "etcd"], "--beside redis"),
        (&["fanout", "--beside", "redis"], "game"),
        (&["propagate", "--embedded", "--beside", "redis"], "propagate"),
        (&["ycsb-t", "--beside", "etcd", "--keys", "9"], "--keys"),
        (&["ycsb-t", "--beside", "etcd", "--zipf", "NaN"], "between 0 and 5"),
    ] {
        let (good, _, said) = bench(arguments);
        assert!(!good && said.contains(words), "{arguments:?}: {said}");
    }
}
