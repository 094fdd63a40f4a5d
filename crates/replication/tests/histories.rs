//! Random histories of several coordinators and a replica that crashes, checked against a model.
//!
//! A failure names its seed; `run(seed, ...)` replays it. Seeds that failed once are kept in `FOUND`.

#[path = "histories/checker.rs"]
mod checker;
#[path = "histories/client.rs"]
mod client;
#[path = "histories/cluster.rs"]
mod cluster;
#[path = "histories/counts.rs"]
mod counts;
#[path = "histories/disk.rs"]
mod disk;
#[path = "histories/random.rs"]
mod random;
#[path = "histories/workload.rs"]
mod workload;

use checker::Violation;
use cluster::{Cluster, Host};
use counts::Counts;
use iolite_replication::Broken;

/// More are run with another number here.
const SEEDS: u64 = 150;

/// Seeds that have failed once.
const FOUND: &[u64] = &[90];

fn run(seed: u64, broken: Broken, host: Host) -> Result<Counts, Violation> {
    let mut cluster = Cluster::new(seed, broken, host);
    cluster.run(2500)?;
    cluster.heal()?;
    checker::check(&cluster)?;
    Ok(cluster.counts)
}

#[test]
fn every_history_is_strictly_serializable_exactly_once_and_told_whole() {
    let mut total = Counts::default();
    for seed in (0..SEEDS).chain(FOUND.iter().copied()) {
        match run(seed, Broken::Nothing, Host::WaitsForSync) {
            Ok(counts) => total.add(counts),
            Err(violation) => panic!("seed {seed}: {violation}"),
        }
    }
    // A history in which nothing happens proves nothing.
    assert!(total.committed > 5_000 && total.aborted > 100 && total.conflicts > 500, "{total:?}");
    assert!(total.crashes > 300 && total.records_lost > 100 && total.checkpoints > 300, "{total:?}");
    assert!(total.dropped > 1_000 && total.duplicated > 1_000 && total.collected > 100, "{total:?}");
}

fn finds(broken: Broken, host: Host, expected: fn(&Violation) -> bool) {
    let found = (0..300).find_map(|seed| run(seed, broken, host).err());
    let violation = found.expect("the checker finds what is broken");
    assert!(expected(&violation), "{violation}");
}

#[test]
fn skipped_read_validation_is_found() {
    finds(Broken::SkipReadValidation, Host::WaitsForSync, |violation| matches!(violation, Violation::StaleRead(_)));
}

/// The published rule; docs/protocols/replica.md, "Why this is strict".
#[test]
fn a_write_below_an_acknowledged_one_is_found() {
    finds(Broken::AcceptBelowWrites, Host::WaitsForSync, |violation| matches!(violation, Violation::NotStrict(_)));
}

#[test]
fn missing_completion_records_are_found() {
    finds(Broken::NoCompletionRecords, Host::WaitsForSync, |violation| matches!(violation, Violation::Twice(_)));
}

#[test]
fn a_feed_past_the_resolved_timestamp_is_found() {
    finds(Broken::PublishPastResolved, Host::WaitsForSync, |violation| matches!(violation, Violation::Feed(_)));
}

#[test]
fn acknowledging_before_the_sync_is_found() {
    finds(Broken::Nothing, Host::DoesNotWait, |violation| matches!(violation, Violation::Lost(_) | Violation::Feed(_)));
}
