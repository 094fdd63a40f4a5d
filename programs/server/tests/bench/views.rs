//! `iolite bench views` and `rebase`: a tiny run of each finds nothing wrong and has the cells and ratios that the results page needs. Nothing is timed here.

use std::process::Command;

use serde_json::Value;

pub fn bench(arguments: &[&str]) -> (bool, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_iolite")).arg("bench").args(arguments).output();
    let output = output.expect("the program can be run");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.success(), text(&output.stdout), text(&output.stderr))
}

/// The report of a run that found nothing wrong.
pub fn report(arguments: &[&str]) -> Value {
    let (good, report, said) = bench(&[arguments, &["--json"]].concat());
    assert!(good, "{report}{said}");
    let report: Value = serde_json::from_str(&report).expect("it is JSON");
    assert_eq!(report["faults"].as_array().map(Vec::len), Some(0), "{report}");
    report
}

pub fn cells(report: &Value) -> &Vec<Value> {
    report["cells"].as_array().expect("a list")
}

fn percentiles(cell: &Value, view: &str) -> (Option<f64>, Option<f64>) {
    (cell[view]["p50"].as_f64(), cell[view]["p99"].as_f64())
}

#[test]
fn each_view_of_a_table_and_of_a_log_is_measured_beside_the_same_sheet_on_hocuspocus() {
    let words =
        ["views", "--embedded", "--clients", "2", "--seconds", "1", "--delay-ms", "4", "--beside", "hocuspocus"];
    let report = report(&words);
    let [strong, log] = &cells(&report)[..] else { panic!("two cells: {report}") };
    assert_eq!((&strong["of"], &log["of"]), (&"strong".into(), &"log".into()));
    for cell in [strong, log] {
        for view in ["optimistic", "durable", "confirmed", "delivered"] {
            let (p50, p99) = percentiles(cell, view);
            assert!(p50 > Some(0.0) && p99 >= p50, "{view}: {report}");
        }
        let (confirmed, delivered) = (percentiles(cell, "confirmed").0, percentiles(cell, "delivered").0);
        assert!(confirmed >= Some(4.0) && delivered >= Some(8.0), "one round trip and two: {report}");
    }
    let peer = &log["beside"][0];
    assert_eq!(peer["system"], "hocuspocus", "{report}");
    assert!(percentiles(peer, "confirmed").0 >= Some(4.0) && percentiles(peer, "delivered").0 >= Some(8.0), "{report}");
    assert!(peer["durable"].is_null(), "nothing is stored on its device: {report}");
    for ratio in ["log optimistic of a round trip", "log durable of a sync", "log delivered of hocuspocus"] {
        assert!(report["ratios"][ratio].as_f64() > Some(0.0), "{ratio}: {report}");
    }
}

#[test]
fn a_member_that_is_stopped_is_waited_for_once_and_counts_again_when_it_is_back() {
    let words = ["views", "--members", "3", "--stop", "member", "--seconds", "1", "--durability", "memory"];
    let report = report(&words);
    let phases: Vec<_> = cells(&report).iter().map(|cell| cell["phase"].as_str().expect("a name")).collect();
    assert_eq!(phases, ["before", "failing", "without", "back"], "{report}");
    assert!(cells(&report)[1]["waits_of_a_time_out"].as_u64() >= Some(1), "{report}");
}

#[test]
fn bytes_and_messages_of_a_change_are_counted_by_how_many_see_it() {
    let report = report(&["views", "--bytes", "--members", "2,3", "--durability", "memory"]);
    let messages = |members: u64, of: &str| {
        let found = cells(&report).iter().find(|cell| cell["members"] == members && cell["of"] == of);
        let cell = found.unwrap_or_else(|| panic!("{members} {of}: {report}"));
        cell["messages_up"].as_f64().expect("a number") + cell["messages_down"].as_f64().expect("a number")
    };
    for members in [2, 3] {
        let (plain, strong) = (messages(members, "strong without delivered"), messages(members, "strong"));
        // An `Applied` of each other member, and a note to the author. A ping may come between.
        assert!((strong - plain - members as f64).abs() < 0.5, "{plain} and {strong} with {members}: {report}");
    }
}

#[test]
fn members_of_an_array_come_to_the_same_values() {
    let small = ["--operations", "5", "--every-ms", "20", "--durability", "memory"];
    let report = report(&[&["rebase", "--members", "2,3", "--batch-ms", "0,20"][..], &small].concat());
    let [two, three, two_batched, three_batched] = &cells(&report)[..] else { panic!("four cells: {report}") };
    assert_eq!((&two_batched["delivered"], &three_batched["delivered"]), (&10.into(), &15.into()), "{report}");
    assert_eq!((&two["delivered"], &three["delivered"]), (&10.into(), &15.into()), "{report}");
    assert!(two["is_through"] == true && two["seconds"].as_f64() > Some(0.0), "{report}");
    assert!(report["ratios"]["batch 0 ms: 3 members of 2"].as_f64() > Some(0.0), "{report}");
}

#[test]
fn options_of_views_and_rebase_that_do_not_fit_are_refused_with_what_would() {
    for (arguments, words) in [
        (&["views", "--embedded"][..], "--clients 2"),
        (&["views", "--clients", "2", "--members", "4"], "--kill"),
        (&["views", "--clients", "2", "--beside", "redis"], "game"),
        (&["views", "--kill", "gateway"], "--kill member"),
        (&["views", "--kill", "member", "--stop", "member"], "one of"),
        (&["views", "--stop", "member", "--members", "2"], "3 or more"),
        (&["views", "--stop", "member", "--beside", "hocuspocus"], "--beside"),
        (&["views", "--target", "http://127.0.0.1:1"], "--target"),
        (&["views", "--pending", "5"], "--pending"),
        (&["rebase"], "--members"),
        (&["rebase", "--members", "2", "--pending", "5"], "not both"),
        (&["rebase", "--members", "2", "--batch-ms", "10001"], "0..=10000"),
        (&["rebase", "--pending", "5", "--operations", "9"], "--pending"),
        (&["rebase", "--members", "2", "--bytes"], "--bytes"),
        (&["fanout", "--members", "2"], "--members"),
        (&["game", "--kill", "member"], "views"),
    ] {
        let (good, _, said) = bench(arguments);
        assert!(!good && said.contains(words), "{arguments:?}: {said}");
    }
}
