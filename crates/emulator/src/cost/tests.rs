//! The search finds the cheapest size, and says honestly when there is none.

use super::{Candidate, PRICES, Parts, Prices, Searched, Size, Slo, Space, Trial, smallest, turns};
use crate::plan::{PlanError, PlanFiles};
use crate::testing::files;

fn prices() -> Prices {
    Prices::load(PRICES[0].file, PRICES[0].text).expect("it comes with the program")
}

/// Workload 2 of the paper with fewer objects, more operations and a shorter run.
fn loaded(design: &str) -> PlanFiles {
    let mut files = files(design, None, "paper-4.5-2", 1);
    let text = &mut files.workload.text;
    *text = text
        .replace("objects = 20000", "objects = 300\nwarm_up = 20")
        .replace("60 s", "3 s")
        .replace("_second = 50", "_second = 150");
    files
}

fn search(files: &PlanFiles, slo: &str, servers: u32, disks: u32) -> (Candidate, Searched) {
    let candidate = Candidate::new(files, &prices()).unwrap_or_else(|error| panic!("{error}"));
    let slo = Slo::read(slo).expect("this is an SLO");
    let searched = smallest(&candidate, &slo, &Space { servers, disks, seeds: vec![1, 2] });
    (candidate, searched)
}

#[test]
fn the_cheapest_size_meets_the_slo_and_one_disk_or_server_fewer_does_not() {
    let (candidate, searched) = search(&loaded("chain"), "get p90 < 40 ms", 6, 4);
    let met = searched.met.unwrap_or_else(|| panic!("{:?}", searched.failed));
    assert!(met.meets() && met.ratio() >= 1.0 && met.size.servers >= 3, "{met:?}");
    assert!(searched.sizes <= 10);
    let slo = Slo::read("get p90 < 40 ms").expect("this is an SLO");
    let fewer = [Size { servers: met.size.servers - 1, ..met.size }, Size { disks: met.size.disks - 1, ..met.size }];
    for size in fewer.into_iter().filter(|size| size.disks > 0) {
        assert!(!candidate.run(size, &slo, &[1, 2]).meets(), "{size:?} is enough, and cheaper than {:?}", met.size);
    }
    assert!(candidate.cost(met.size) > 3.0 * 2_500.0);
}

#[test]
fn an_slo_that_nothing_meets_ends_with_the_closest_size_and_its_limit() {
    let (_, searched) = search(&loaded("chain"), "get p90 < 1 ms", 4, 2);
    assert_eq!(searched.met, None);
    let closest = searched.failed.expect("sizes were run");
    assert!(closest.ratio() < 1.0 && closest.keeps_up, "{closest:?}");
    assert!(closest.limit().starts_with("disk ") && closest.limit().contains("% busy"), "{}", closest.limit());
    assert_eq!(closest.size.disks, 2);
}

#[test]
fn a_store_that_falls_behind_does_not_meet_an_slo_of_seconds() {
    let mut files = loaded("chain");
    files.workload.text = files.workload.text.replace("_second = 150", "_second = 400");
    let (_, searched) = search(&files, "get p90 < 20 s", 3, 1);
    let closest = searched.failed.expect("three servers of a disk were run");
    assert!(searched.met.is_none() && !closest.keeps_up && closest.measured[0].is_met(), "{closest:?}");
    assert!(closest.limit().contains("falls behind"), "{}", closest.limit());
}

#[test]
fn too_few_servers_are_told_as_what_stops_it() {
    let (_, searched) = search(&loaded("chain"), "get p90 < 20 s", 2, 1);
    let stopped = searched.failed.and_then(|failed| failed.stopped).expect("it cannot start");
    assert!(stopped.contains("3 replicas do not fit on 2 nodes"), "{stopped}");
}

#[test]
fn nodes_without_disks_cost_less_and_do_not_grow() {
    let candidate = Candidate::new(&loaded("haystack"), &prices()).unwrap_or_else(|error| panic!("{error}"));
    let size = Size { servers: 4, disks: 2 };
    assert_eq!(candidate.parts(size), Parts { servers: 4, diskless: 2, disks: 8 });
    assert!((candidate.cost(size) - (4.0 * 2_500.0 + 2.0 * 2_000.0 + 8.0 * 60.0)).abs() < 1e-6);
    assert_eq!((candidate.servers_within(10), candidate.servers_within(1)), (8, 0));
}

#[test]
fn a_price_that_is_missing_is_told() {
    let mut files = loaded("chain");
    files.hardware.text = files.hardware.text.replace("name = \"hdd-7200\"", "name = \"tape\"");
    let PlanError::Files(problems) = Candidate::new(&files, &prices()).expect_err("tape has no price") else {
        panic!("it is a problem of a file")
    };
    assert!(problems[0].what.contains("no price of a disk of `tape`"), "{problems:?}");
}

#[test]
fn the_price_at_which_the_order_turns_makes_both_cost_the_same() {
    let trial = |parts: Parts, cost| Trial {
        size: Size { servers: 1, disks: 1 },
        parts,
        cost,
        measured: Vec::new(),
        keeps_up: true,
        busiest: None,
        stopped: None,
    };
    // 3 servers and 12 disks against 3 servers, 2 without disks and 6 disks.
    let best = trial(Parts { servers: 3, diskless: 0, disks: 12 }, 3.0 * 2_500.0 + 12.0 * 60.0);
    let next = trial(Parts { servers: 3, diskless: 2, disks: 6 }, 3.0 * 2_500.0 + 2.0 * 2_000.0 + 6.0 * 60.0);
    let turns = turns(&best, &next, &prices(), Some(60.0));
    let told: Vec<(&str, i64)> = turns.iter().map(|turn| (turn.of, turn.at.round() as i64)).collect();
    assert_eq!(told, [("a server without disks", 180), ("a disk", 667)]);
}
