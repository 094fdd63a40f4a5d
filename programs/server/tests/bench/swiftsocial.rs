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

#[test]
fn options_of_swiftsocial_that_do_not_fit_are_refused_with_what_would() {
    for (arguments, words) in [
        (&["swiftsocial"][..], "--embedded"),
        (&["swiftsocial", "--embedded", "--users", "25"], "more than --friends"),
        (&["swiftsocial", "--embedded", "--updates", "50", "--locality", "40"], "part of --locality"),
        (&["swiftsocial", "--embedded", "--users", "30", "--clients", "31"], "--clients"),
        (&["swiftsocial", "--embedded", "--beside", "redis"], "--beside"),
        (&["counter", "--embedded", "--users", "30"], "--users"),
        (&["views", "--clients", "2", "--cache-rows", "30"], "--cache-rows"),
    ] {
        let (good, _, said) = bench(arguments);
        assert!(!good && said.contains(words), "{arguments:?}: {said}");
    }
}
