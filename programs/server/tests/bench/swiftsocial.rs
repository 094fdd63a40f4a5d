//! `iolite bench swiftsocial`: a tiny network finds nothing wrong, and has the cells and ratios that the results page needs. Nothing is timed here.

use serde_json::Value;

use crate::views::{bench, cells, report};

fn number(value: &Value, name: &str) -> u64 {
    value[name].as_u64().unwrap_or_else(|| panic!("{name}: {value}"))
}

#[test]
fn people_read_post_and_befriend_and_all_of_it_is_there_once_at_every_client() {
    let size = ["--users", "40", "--friends", "6", "--clients", "3", "--seconds", "1", "--durability", "memory"];
    let report = report(&[&["swiftsocial", "--embedded", "--delay-ms", "4", "--updates", "40"][..], &size].concat());
    let of = |name: &str| {
        let found = cells(&report).iter().find(|cell| cell["of"] == name);
        found.unwrap_or_else(|| panic!("{name}: {report}"))
    };
    let sum = |names: &[&str]| names.iter().map(|name| number(of(name), "transactions")).sum::<u64>();
    for parts in
        [&["reads", "updates"][..], &["hits", "misses"], &["page", "friends", "stranger", "status", "post", "befriend"]]
    {
        assert_eq!(sum(parts), sum(&["all"]), "{report}");
    }
    for name in ["all", "reads", "updates"] {
        let latency = &of(name)["latency_ms"];
        let at = |percentile: &str| latency[percentile].as_f64().expect("a number");
        assert!(at("p50") > 0.0 && at("p90") >= at("p50") && at("p99") >= at("p90"), "{name}: {report}");
    }
    // A stranger's page is not here, and comes with one round trip at least.
    assert!(number(of("stranger"), "misses") > 0, "{report}");
    assert!(of("misses")["latency_ms"]["p50"].as_f64() >= Some(4.0), "{report}");
    assert_eq!(number(of("updates"), "misses"), 0, "people write to what they hold: {report}");
    for ratio in ["transactions within 0.02 of the delay, of all", "transactions that miss, of all"] {
        assert!(report["ratios"][ratio].is_number(), "{ratio}: {report}");
    }
}

const TINY: [&str; 8] = ["--users", "40", "--friends", "6", "--seconds", "1", "--durability", "memory"];
/// Several data centres with short links.
const NEAR: [&str; 6] = ["swiftsocial", "--centres", "2", "--centre-rtt-ms", "6", "--client-rtt-ms"];

fn at_least(value: &Value, least: f64) {
    assert!(value.as_f64().is_some_and(|value| value >= least), "{value} for {least}");
}

#[test]
fn several_data_centres_are_measured_beside_servers_that_run_the_same_transactions() {
    let words = ["4,8", "--beside", "cloud,cloud-ft,naive-ft", "--clients", "4", "--updates", "40"];
    let report = report(&[&NEAR[..], &words, &TINY, &["--miss-share", "60"]].concat());
    let [near, far, missing @ ..] = &cells(&report)[..] else { panic!("a cell for each round trip: {report}") };
    for (cell, round_trip) in [(near, 4.0), (far, 8.0)] {
        assert_eq!((number(cell, "centres"), number(cell, "client_rtt_ms")), (2, round_trip as u64), "{report}");
        let [cloud, cloud_ft, naive_ft] = &cell["beside"].as_array().expect("a list")[..] else { panic!("{report}") };
        for (other, name) in [(cloud, "cloud"), (cloud_ft, "cloud-ft"), (naive_ft, "naive-ft")] {
            assert_eq!(other["system"], name, "{report}");
            assert!(number(other, "transactions") > 0, "{report}");
        }
        at_least(&cloud["latency_ms"]["p50"], round_trip);
        at_least(&cloud_ft["updates_ms"]["p50"], round_trip + 6.0);
        at_least(&naive_ft["updates_ms"]["p50"], round_trip + 6.0);
        at_least(&cell["misses_ms"]["p50"], round_trip);
        for name in ["p90_of_cloud_median", "median_of_cloud", "median_of_cloud_ft", "median_of_naive_ft"] {
            at_least(&report["ratios"][format!("{name}, 2 centres, {round_trip} ms")], 0.0);
        }
    }
    assert!(missing.len() == 2 && missing.iter().all(|cell| number(cell, "miss_share") == 60), "{report}");
    at_least(&report["ratios"]["hits_of_all, miss share 60"], 0.0);
    at_least(&report["ratios"]["fast_of_all, miss share 60"], 0.0);
}

#[test]
fn load_staleness_and_metadata_of_several_data_centres_have_their_cells() {
    let loaded = report(&[&NEAR[..], &["0", "--load", "1,3", "--beside", "cloud"], &TINY].concat());
    let clients: Vec<_> = cells(&loaded).iter().map(|cell| number(cell, "clients")).collect();
    assert_eq!(clients, [1, 3], "{loaded}");
    for cell in cells(&loaded) {
        for system in [cell, &cell["beside"][0]] {
            assert!(system["transactions_per_cpu_s"].as_f64() > Some(0.0), "{loaded}");
            assert_eq!(system["cpu_s_of_centres"].as_array().map(Vec::len), Some(2), "{loaded}");
        }
    }
    at_least(&loaded["ratios"]["peak_transactions_per_cpu_s_of_cloud, 2 centres"], 0.0);
    let stale = report(
        &[&NEAR[..], &["2", "--staleness", "--clients", "6", "--pause-ms", "1", "--updates", "60"], &TINY].concat(),
    );
    let cell = cells(&stale).last().expect("one");
    assert_eq!(cell["of"], "staleness", "{stale}");
    assert!(number(cell, "reads") > number(cell, "transactions_that_read") && number(cell, "versions") > 0, "{stale}");
    assert!(number(cell, "stale_reads") > 0, "people of so small a network meet what waits: {stale}");
    at_least(&cell["waiting_ms"]["p50"], 6.0);
    let bytes = report(&[&NEAR[..], &["0", "--metadata", "2,6"], &TINY].concat());
    for cell in cells(&bytes) {
        for name in ["client_bytes_up", "client_bytes_down", "bytes_to_each_centre", "journaled_bytes_of_each_centre"] {
            at_least(&cell[name], 16.0);
        }
    }
    at_least(&bytes["ratios"]["bytes_to_each_centre, 2 centres, 6 clients of 2"], 0.0);
}

#[test]
fn options_of_swiftsocial_that_do_not_fit_are_refused_with_what_would() {
    for (arguments, words) in [
        (&["swiftsocial"][..], "--embedded"),
        (&["swiftsocial", "--embedded", "--users", "25"], "more than --friends"),
        (&["swiftsocial", "--embedded", "--updates", "50", "--locality", "40"], "part of --locality"),
        (&["swiftsocial", "--embedded", "--users", "30", "--clients", "31"], "--clients"),
        (&["swiftsocial", "--embedded", "--beside", "redis"], "--beside"),
        (&["swiftsocial", "--embedded", "--centres", "3"], "--centres"),
        (&["swiftsocial", "--embedded", "--load", "1"], "--load goes with --centres"),
        (&["counter", "--embedded", "--staleness"], "--staleness"),
        (&["swiftsocial", "--centres", "3", "--beside", "redis"], "not beside swiftsocial"),
        (&["swiftsocial", "--centres", "3", "--clients", "2"], "say 9 or more"),
        (&["swiftsocial", "--centres", "3", "--clients", "9", "--delay-ms", "4"], "--client-rtt-ms"),
        (&["swiftsocial", "--centres", "3", "--clients", "9", "--miss-share", "95"], "more than all"),
        (&["swiftsocial", "--centres", "3", "--metadata", "9", "--beside", "cloud"], "Iolite alone"),
        (&["swiftsocial", "--centres", "3", "--metadata", "9", "--staleness"], "cannot be used with"),
        (&["counter", "--embedded", "--users", "30"], "--users"),
        (&["views", "--clients", "2", "--cache-rows", "30"], "--cache-rows"),
    ] {
        let (good, _, said) = bench(arguments);
        assert!(!good && said.contains(words), "{arguments:?}: {said}");
    }
}
