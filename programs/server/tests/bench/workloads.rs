//! `iolite bench` measures every workload, checks it, and reports what scripts read.

use std::process::Command;

const WORKLOADS: [&str; 5] = ["counter", "rmw", "bank", "append", "propagate"];

fn bench(arguments: &[&str]) -> (bool, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_iolite")).arg("bench").args(arguments).output();
    let output = output.expect("the program can be run");
    let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    (output.status.success(), text)
}

fn number(report: &str, key: &str) -> f64 {
    let rest = report.split(&format!("\"{key}\":")).nth(1).unwrap_or_else(|| panic!("no {key} in {report}"));
    let digits = rest.split([',', '}']).next().expect("there is a first part");
    digits.parse().unwrap_or_else(|_| panic!("{key} is {digits} in {report}"))
}

#[test]
fn every_workload_commits_and_loses_nothing_across_a_kill_of_the_server() {
    for workload in WORKLOADS {
        let clients = if workload == "propagate" { "1" } else { "3" };
        let (good, report) = bench(&[workload, "--embedded", "--clients", clients, "--seconds", "1", "--json"]);
        assert!(good, "{report}");
        assert!(number(&report, "committed") > 0.0, "{report}");
        for zero in ["lost_updates", "violations", "unknown"] {
            assert!(number(&report, zero) == 0.0, "{report}");
        }
        assert!(report.contains(&format!("\"workload\":\"{workload}\"")), "{report}");
        assert!(report.contains("\"durability\":\"fsync\""), "{report}");
        let latency = report.split("\"latency_ms\":").last().unwrap_or_default();
        let [p50, p90, p99] = ["p50", "p90", "p99"].map(|percentile| number(latency, percentile));
        assert!(p50 > 0.0 && p90 >= p50 && p99 >= p90, "{report}");
    }
}

#[test]
fn class_memory_and_a_delay_are_what_was_asked_for() {
    let delayed = ["propagate", "--embedded", "--seconds", "1", "--durability", "memory", "--delay-ms", "20", "--json"];
    let (good, report) = bench(&delayed);
    assert!(good && report.contains("\"durability\":\"memory\""), "{report}");
    let latency = report.split("\"latency_ms\":").nth(1).unwrap_or_default();
    assert!(number(latency, "p50") >= 20.0, "a round trip takes the delay at least: {report}");
}

#[test]
fn senseless_numbers_are_refused_and_clients_that_are_not_used_are_named() {
    for (option, number) in [("--delay-ms", "4294967295"), ("--clients", "0"), ("--seconds", "0")] {
        let (good, said) = bench(&["counter", "--embedded", option, number]);
        assert!(!good && said.contains(option) && said.contains("is not in"), "{said}");
    }
    let (good, said) = bench(&["propagate", "--embedded", "--clients", "8", "--seconds", "1", "--json"]);
    assert!(good && said.contains("note: propagate measures one client that calls"), "{said}");
}

#[test]
fn a_bench_needs_something_to_measure() {
    let (good, said) = bench(&["counter"]);
    assert!(!good && said.contains("--embedded") && said.contains("--target"), "{said}");
    let (good, said) = bench(&["counter", "--target", "http://127.0.0.1:1"]);
    assert!(!good && said.contains("error"), "{said}");
}

#[test]
fn a_changed_row_under_a_query_is_seen_in_tables_of_every_size_that_was_asked_for() {
    let words = ["query", "--rows", "10,1200", "--watchers", "3", "--seconds", "1", "--durability", "memory", "--json"];
    let (good, report) = bench(&words);
    assert!(good && number(&report, "violations") == 0.0 && number(&report, "watchers") == 3.0, "{report}");
    for rows in [10, 1200] {
        let point =
            report.split(&format!("\"rows\":{rows},")).nth(1).unwrap_or_else(|| panic!("no {rows} in {report}"));
        for kind in ["changed", "moved"] {
            let changes = point.split(&format!("\"{kind}\":")).nth(1).unwrap_or_default();
            for counted in ["count", "server_cpu_us_per_op", "bytes_down_per_op"] {
                assert!(number(changes, counted) > 0.0, "{kind} {counted}: {report}");
            }
        }
    }
    for (option, value) in [("--rows", "9"), ("--sessions", "4"), ("--keys", "4")] {
        let (good, said) = bench(&["query", option, value]);
        assert!(!good && said.contains(option), "{said}");
    }
}
