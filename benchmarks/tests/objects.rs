//! The benchmarks of objects, each in a run of a moment: it finds nothing wrong, and has the cells and ratios that the results page needs. Nothing is timed
//! here, but that a link with a delay takes it.

use std::process::Command;

use serde_json::Value;

fn bench(words: &[&str]) -> Value {
    let output = Command::new(env!("CARGO_BIN_EXE_iolite-bench")).args(words).arg("--json").output();
    let output = output.expect("the program can be run");
    let report = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{report}{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_str(&report).expect("it is JSON")
}

fn cells<'a>(report: &'a Value, key: &str) -> Vec<&'a str> {
    let cells = report["cells"].as_array().expect("a list");
    cells.iter().map(|cell| cell[key].as_str().unwrap_or_else(|| panic!("{key}: {cell}"))).collect()
}

fn p50(cell: &Value, key: &str) -> f64 {
    cell[key]["p50"].as_f64().unwrap_or_else(|| panic!("{key}: {cell}"))
}

#[test]
fn a_cache_reads_without_its_link_and_writes_over_it() {
    let report = bench(&["object-cache", "--delay-ms", "20", "--seconds", "1"]);
    assert_eq!(cells(&report, "managers"), ["none", "LeaseCaching", "ConsistentCaching"]);
    let [none, lease, consistent] = [0, 1, 2].map(|index| &report["cells"][index]);
    assert!(p50(none, "read_ms") >= 20.0 && p50(none, "write_ms") >= 20.0, "a round trip: {report}");
    for cache in [lease, consistent] {
        assert!(p50(cache, "read_ms") < 20.0, "read where it is: {report}");
    }
    assert!(p50(lease, "write_ms") >= 20.0, "written to the owner: {report}");
    assert!(p50(consistent, "write_ms") >= 40.0, "a write waits until both caches have stopped: {report}");
}

#[test]
fn each_copy_runs_its_part_of_the_calls() {
    let report = bench(&["object-front", "--seconds", "1"]);
    for (index, cell) in report["cells"].as_array().expect("a list").iter().enumerate() {
        let runs: Vec<u64> = cell["runs"].as_array().expect("a list").iter().filter_map(Value::as_u64).collect();
        let (least, most) = (runs.iter().min().copied(), runs.iter().max().copied());
        assert_eq!(runs.len(), index + 1, "{report}");
        assert!(least > Some(0) && most <= least.map(|least| least + 1), "in turn: {report}");
    }
}

#[test]
fn objects_of_each_size_are_created_copied_and_moved_beside_a_commit() {
    let report = bench(&["object-moves", "--times", "2"]);
    assert_eq!(cells(&report, "of").len(), 3 * 7, "{report}");
    for bytes in [100, 10_000, 1_000_000] {
        let ratio = &report["ratios"][format!("{bytes} bytes: create at server, of a commit")];
        assert!(ratio.as_f64() > Some(0.0), "{report}");
    }
}

#[test]
fn a_game_is_near_the_player_whose_device_has_it_and_two_links_from_the_other_one() {
    let report = bench(&["object-game", "--delay-ms", "20", "--seconds", "1"]);
    assert_eq!(report["cells"].as_array().map(Vec::len), Some(20), "{report}");
    for cell in report["cells"].as_array().expect("a list") {
        let ms = p50(cell, "latency_ms");
        match (cell["managers"].as_str(), cell["player"].as_str()) {
            (Some("none"), _) => assert!(ms >= 20.0, "{cell}"),
            (_, Some("first")) => assert!(ms < 20.0, "{cell}"),
            (_, _) => assert!(ms >= 40.0, "{cell}"),
        }
    }
}
