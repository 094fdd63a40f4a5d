//! `iolite-bench` as a process. What it measures is tested in `programs/server/tests/bench`; this makes `cargo test` build the program for those tests.

use std::process::Command;

use serde_json::Value;

#[test]
fn without_a_workload_it_says_which_there_are_and_fails() {
    let output = Command::new(env!("CARGO_BIN_EXE_iolite-bench")).output().expect("the program can be run");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && said.contains("<WORKLOAD>"), "{said}");
    let output = Command::new(env!("CARGO_BIN_EXE_iolite-bench")).arg("nothing").output();
    let said = String::from_utf8_lossy(&output.expect("the program can be run").stderr).into_owned();
    assert!(said.contains("propagate") && said.contains("retwis-diamond"), "{said}");
}

/// A report of `object-null` beside some systems, or alone.
fn null_calls(beside: &[&str]) -> (bool, String) {
    let words = ["object-null", "--seconds", "1", "--warm-up", "0", "--json"];
    let output = Command::new(env!("CARGO_BIN_EXE_iolite-bench")).args(words).args(beside).output();
    let output = output.expect("the program can be run");
    (
        output.status.success(),
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr),
    )
}

/// The report of a run that measured Iolite, and beside it these systems with 1 call in flight and with 64. Such a run fails if a server ran another number
/// of calls than clients made.
fn assert_measured(words: &[&str], systems: [&[&str]; 2]) -> Value {
    let (good, said) = null_calls(words);
    assert!(good, "{said}");
    let report: Value = serde_json::from_str(&said).expect("it is JSON");
    let cells = report["cells"].as_array().expect("a list");
    let in_flight: Vec<u64> = cells.iter().filter_map(|cell| cell["in_flight"].as_u64()).collect();
    assert_eq!(in_flight, [1, 64]);
    for (cell, systems) in cells.iter().zip(systems) {
        assert_record(cell);
        let beside = cell["beside"].as_array().expect("a list");
        beside.iter().for_each(assert_record);
        let names: Vec<&str> = beside.iter().filter_map(|record| record["system"].as_str()).collect();
        assert_eq!(names, systems);
    }
    report
}

fn assert_record(record: &Value) {
    let [p50, p90, p99] = ["p50", "p90", "p99"].map(|name| record["latency_ms"][name].as_f64());
    assert!(p50 > Some(0.0) && p90 >= p50 && p99 >= p90, "{record}");
    let (calls, rate) = (record["calls"].as_u64(), record["throughput_per_s"].as_f64());
    assert!(calls > Some(0) && rate > Some(0.0), "{record}");
    assert_eq!(record["round_p50_ms"].as_array().map(Vec::len), Some(5), "{record}");
}

#[test]
fn a_null_call_is_measured_on_iolite_and_beside_it_on_the_echo_on_rmi_and_on_rest_in_one_run() {
    let report = assert_measured(&["--beside", "echo,rmi,rest"], [&["echo", "rmi", "rest"], &["echo"]]);
    let cell = &report["cells"][0];
    let medians = [&cell["latency_ms"]["p50"], &cell["beside"][1]["latency_ms"]["p50"]];
    let [own, rmi] = medians.map(|median| median.as_f64().expect("a number"));
    let ratio = report["ratios"]["1 in flight: p50 of rmi"].as_f64().expect("a number");
    assert!((ratio * rmi - own).abs() < 1e-9, "{report}");
    let managers: Vec<&str> = report["cells"].as_array().expect("a list")[2..].iter().map(managers).collect();
    assert_eq!(managers, ["none", "three"], "a call inside of one process: {report}");
    assert!(report["ratios"]["local call: p50 through three managers, of none"].as_f64() > Some(0.0), "{report}");
}

fn managers(cell: &Value) -> &str {
    assert_record(cell);
    cell["managers"].as_str().expect("a name")
}

#[test]
fn a_null_call_of_node_is_measured_both_ways_where_its_package_is_built() {
    let built = concat!(env!("CARGO_MANIFEST_DIR"), "/../sdks/typescript/objects/dist/index.js");
    if std::path::Path::new(built).is_file() {
        let report = assert_measured(&["--from", "node"], [&[], &[]]);
        let ways: Vec<_> = report["cells"].as_array().expect("a list")[4..]
            .iter()
            .inspect(|cell| assert_record(cell))
            .map(|cell| (cell["from"].as_str().unwrap_or_default(), cell["to"].as_str().unwrap_or_default()))
            .collect();
        assert_eq!(ways, [("node", "process"), ("process", "node")], "{report}");
    } else {
        let (good, said) = null_calls(&["--from", "node"]);
        assert!(!good && said.contains("make build"), "{said}");
    }
}

#[test]
fn thrift_is_measured_where_it_is_installed_and_named_where_it_is_not() {
    let jar = concat!(env!("CARGO_MANIFEST_DIR"), "/../target/thrift/libthrift-0.17.0.jar");
    if std::path::Path::new(jar).is_file() {
        assert_measured(&["--beside", "thrift"], [&["thrift"], &[]]);
    } else {
        let (good, said) = null_calls(&["--beside", "thrift"]);
        assert!(!good && said.contains("scripts/setup-thrift"), "{said}");
    }
}

#[test]
fn a_null_call_is_beside_its_own_peers_only_and_takes_no_delay() {
    for (words, why) in [
        (&["--beside", "etcd"][..], "etcd is beside retwis-tapir and ycsb-t, not beside object-null"),
        (&["--beside", "echo", "--delay-ms", "5"], "--delay-ms"),
        (&["--beside", "echo", "--bytes", "2MiB"], "1 byte to 1MiB"),
        (&["--from", "page"], "process, node"),
    ] {
        let output = Command::new(env!("CARGO_BIN_EXE_iolite-bench")).arg("object-null").args(words).output();
        let output = output.expect("the program can be run");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && said.contains(why), "{said}");
    }
}
