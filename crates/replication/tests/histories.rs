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
#[path = "histories/levels.rs"]
mod levels;
#[path = "histories/random.rs"]
mod random;
#[path = "histories/reader.rs"]
mod reader;
#[path = "histories/reconfiguring.rs"]
mod reconfiguring;
#[path = "histories/splitting.rs"]
mod splitting;
#[path = "histories/store_node.rs"]
mod store_node;
#[path = "histories/workload.rs"]
mod workload;

use std::ops::Range;

use checker::Violation;
use cluster::{Cluster, Scene};
use counts::Counts;
use iolite_replication::Broken;
use levels::Levels;
use reconfiguring::Operators;
use store_node::Host;

/// More are run with another number here.
const SEEDS: u64 = 75;

/// Seeds that have failed once.
const FOUND: &[u64] = &[90];

/// Likewise, of one replica that is replaced: the one before was turned off when the new one had not yet written down that it takes part, and it crashed.
const FOUND_ALONE: &[u64] = &[208, 632, 1319];

/// Likewise, of three: a gateway that opened had heard those that stayed, and asked none but the others, which were gone, for good.
const FOUND_REPLACED: &[u64] = &[10_142];

/// Likewise, of one replica whose shard is split: a crash between the first two records of a part, and one in the state that it takes.
const FOUND_IN_SPLITS: &[u64] = &[33, 37];

/// Likewise, of two shards of three: history that a merge needed was collected, and it gave up what had committed.
const FOUND_IN_SPLITS_OF_THREE: &[u64] = &[20_243];

/// Likewise, when groups change too: a crash behind a state that a part took, and a part of one that began before it knew from where on; and a replica
/// that was the whole group told a gateway that it was complete further than it had closed its shard for good.
const FOUND_IN_CHANGED_SPLITS: &[u64] = &[9, 27, 10_059, 10_071, 10_131];

/// Likewise, when disks are lost while a shard drains: it drained for ever, or a part waited for one that was gone, or nobody told again what was settled last.
const FOUND_WITH_LOST_DISKS: &[u64] = &[18, 243, 245, 270, 314];

const ALONE: Scene = Scene {
    shards: 1,
    replicas: 1,
    broken: Broken::Nothing,
    host: Host::WaitsForSync,
    operators: Operators::None,
    levels: Levels::Serial,
};

/// Of clusters, whose histories take longer.
const CLUSTER_SEEDS: u64 = 8;

/// Shards, and replicas of each.
type Shapes = &'static [(u32, u64)];

const CLUSTERS: Shapes = &[(1, 3), (2, 1), (2, 3), (3, 3), (1, 5), (2, 5)];
const REPLACED: Shapes = &[(1, 3), (2, 3), (1, 5)];
const RESIZED: Shapes = &[(1, 1), (2, 1), (1, 3), (2, 3)];
const SPLIT: Shapes = &[(1, 1), (1, 3), (2, 3)];
const EVERYTHING: Shapes = &[(1, 1), (1, 3), (2, 3)];
const DRAINED_WITH_LOST_DISKS: Shapes = &[(1, 3), (1, 5)];

fn run(seed: u64, scene: Scene) -> Result<Counts, Violation> {
    let mut cluster = Cluster::new(seed, scene);
    cluster.run(2500)?;
    checker::check_refusals(&cluster)?;
    cluster.heal()?;
    checker::check_refusals(&cluster)?;
    let in_the_past = checker::check(&cluster)?;
    let epochs = cluster.map.groups().map(|group| u64::from(group.epoch.0));
    cluster.counts.epochs = epochs.sum();
    let validated = cluster.clients.iter().flat_map(|client| &client.validated);
    let moved = validated.filter(|own| own.has_moved).count() as u64;
    Ok(Counts { in_the_past, moved, ..cluster.counts })
}

fn run_all(seeds: impl Iterator<Item = u64>, scene: Scene) -> Counts {
    let mut total = Counts::default();
    for seed in seeds {
        match run(seed, scene) {
            Ok(counts) => total.add(counts),
            Err(violation) => panic!("seed {seed} of {scene:?}: {violation}"),
        }
    }
    total
}

#[test]
fn every_history_is_strictly_serializable_exactly_once_and_told_whole() {
    let total = run_all((0..SEEDS).chain(FOUND.iter().copied()), ALONE);
    // A history in which nothing happens proves nothing.
    assert!(total.committed > 2_500 && total.aborted > 50 && total.conflicts > 250, "{total:?}");
    assert!(total.in_doubt > 50 && total.in_the_past > 0, "{total:?}");
    assert!(total.valid > 250 && total.changed > 50 && total.moved > 2, "{total:?}");
    assert!(total.crashes > 150 && total.records_lost > 50 && total.checkpoints > 150, "{total:?}");
    assert!(total.dropped > 500 && total.duplicated > 500 && total.collected > 50, "{total:?}");
}

#[test]
fn so_is_every_history_of_a_cluster() {
    for &(shards, replicas) in CLUSTERS {
        let total = run_all(0..CLUSTER_SEEDS, Scene { shards, replicas, ..ALONE });
        assert!(total.committed > 50 && total.conflicts > 7 && total.crashes > 20, "{shards}x{replicas}: {total:?}");
        assert!(total.in_doubt > 2, "{shards}x{replicas}: {total:?}");
        assert!(total.valid > 1 && total.changed > 1, "{shards}x{replicas}: {total:?}");
        assert!(total.gateways_restarted > 10 && total.view_changes > 2 && total.dropped > 250, "{total:?}");
    }
}

/// Beside others at the weaker levels, which get what these promise.
#[test]
fn so_are_the_strict_transactions_of_every_history_of_all_levels() {
    for &(shards, replicas) in [(1, 1)].iter().chain(CLUSTERS) {
        let total = run_all(0..CLUSTER_SEEDS, Scene { shards, replicas, levels: Levels::All, ..ALONE });
        assert!(total.committed > 50 && total.conflicts > 7 && total.crashes > 20, "{shards}x{replicas}: {total:?}");
    }
}

#[test]
fn so_is_every_history_in_which_replicas_are_replaced() {
    for &(shards, replicas) in REPLACED {
        let scene = Scene { shards, replicas, operators: Operators::Replace, ..ALONE };
        let total = run_all(0..CLUSTER_SEEDS, scene);
        assert!(total.committed > 50 && total.crashes > 20, "{shards}x{replicas}: {total:?}");
        assert!(total.epochs > 5 && total.disks_lost > 1, "{shards}x{replicas}: {total:?}");
    }
    run_all(FOUND_REPLACED.iter().copied(), Scene { replicas: 3, operators: Operators::Replace, ..ALONE });
    let alone = (0..CLUSTER_SEEDS).chain(FOUND_ALONE.iter().copied());
    let total = run_all(alone, Scene { operators: Operators::Replace, ..ALONE });
    assert!(total.committed > 50 && total.crashes > 20 && total.epochs > 5, "1x1: {total:?}");
}

#[test]
fn so_is_every_history_in_which_groups_move_grow_and_shrink() {
    for &(shards, replicas) in RESIZED {
        let total = run_all(0..CLUSTER_SEEDS, Scene { shards, replicas, operators: Operators::Resize, ..ALONE });
        assert!(total.committed > 50 && total.crashes > 20, "{shards}x{replicas}: {total:?}");
        assert!(total.epochs > 5, "{shards}x{replicas}: {total:?}");
    }
}

#[test]
fn so_is_every_history_in_which_shards_are_split() {
    for &(shards, replicas) in SPLIT {
        let total = run_all(0..CLUSTER_SEEDS, Scene { shards, replicas, operators: Operators::Split, ..ALONE });
        assert!(total.committed > 50 && total.crashes > 20, "{shards}x{replicas}: {total:?}");
        assert!(total.splits > 5 && total.turned_off > 1, "{shards}x{replicas}: {total:?}");
    }
    run_all(FOUND_IN_SPLITS.iter().copied(), Scene { operators: Operators::Split, ..ALONE });
    let of_three = Scene { shards: 2, replicas: 3, operators: Operators::Split, ..ALONE };
    run_all(FOUND_IN_SPLITS_OF_THREE.iter().copied(), of_three);
}

#[test]
fn so_is_every_history_in_which_groups_of_what_was_split_change_and_lose_disks() {
    let mut total = Counts::default();
    for &(shards, replicas) in EVERYTHING {
        total.add(run_all(0..CLUSTER_SEEDS, Scene { shards, replicas, operators: Operators::Everything, ..ALONE }));
    }
    let alone = Scene { operators: Operators::Everything, ..ALONE };
    total.add(run_all(FOUND_IN_CHANGED_SPLITS.iter().copied(), alone));
    assert!(total.committed > 150 && total.crashes > 60, "{total:?}");
    assert!(total.splits > 10 && total.epochs > 5 && total.disks_lost > 5, "{total:?}");
}

#[test]
fn so_is_every_history_in_which_a_shard_loses_disks_while_it_drains() {
    for &(shards, replicas) in DRAINED_WITH_LOST_DISKS {
        let scene = Scene { shards, replicas, operators: Operators::SplitAndLose, ..ALONE };
        let total = run_all(0..CLUSTER_SEEDS, scene);
        assert!(total.committed > 25 && total.crashes > 20, "{shards}x{replicas}: {total:?}");
        assert!(total.splits > 2 && total.disks_lost > 2, "{shards}x{replicas}: {total:?}");
    }
    let found = FOUND_WITH_LOST_DISKS.iter().copied();
    run_all(found, Scene { replicas: 3, operators: Operators::SplitAndLose, ..ALONE });
}

#[test]
fn parts_that_begin_while_something_is_open_are_found() {
    let scene = Scene { replicas: 3, operators: Operators::Split, broken: Broken::EndUndrained, ..ALONE };
    let found = (0..300).find(|seed| std::panic::catch_unwind(|| run(*seed, scene)).map_or(true, |end| end.is_err()));
    assert!(found.is_some(), "the checker finds what is broken");
}

fn finds(scene: Scene, expected: fn(&Violation) -> bool) {
    finds_in(0..300, scene, expected);
}

fn finds_in(seeds: Range<u64>, scene: Scene, expected: fn(&Violation) -> bool) {
    let found = seeds.into_iter().find_map(|seed| run(seed, scene).err());
    let violation = found.expect("the checker finds what is broken");
    assert!(expected(&violation), "{violation}");
}

fn broken(broken: Broken) -> Scene {
    Scene { broken, ..ALONE }
}

#[test]
fn skipped_read_validation_is_found() {
    finds(broken(Broken::SkipReadValidation), |violation| matches!(violation, Violation::StaleRead(_)));
}

/// The published rule; docs/protocols/replica.md, "Why this is strict".
#[test]
fn a_write_below_an_acknowledged_one_is_found() {
    finds(broken(Broken::AcceptBelowWrites), |violation| matches!(violation, Violation::NotStrict(_)));
}

#[test]
fn reads_beside_what_is_prepared_are_found() {
    let scene = Scene { broken: Broken::ValidateWithoutPrepared, shards: 1, replicas: 3, ..ALONE };
    // About one history in thirty shows it.
    finds_in(60..300, scene, |violation| matches!(violation, Violation::NotStrict(_)));
}

#[test]
fn missing_completion_records_are_found() {
    finds(broken(Broken::NoCompletionRecords), |violation| matches!(violation, Violation::Twice(_)));
}

#[test]
fn a_feed_past_the_resolved_timestamp_is_found() {
    finds(broken(Broken::PublishPastResolved), |violation| matches!(violation, Violation::Feed(_)));
}

#[test]
fn acknowledging_before_the_sync_is_found() {
    let scene = Scene { host: Host::DoesNotWait, ..ALONE };
    finds(scene, |violation| matches!(violation, Violation::Lost(_) | Violation::Feed(_)));
}

/// The rules of docs/decisions/0009-sealed-epochs.md. Their violations show in many ways: a replica notices some itself.
fn finds_in_changes_of_configuration(broken: Broken) {
    let scene = Scene { replicas: 3, operators: Operators::Resize, broken, ..ALONE };
    let found = (0..300).find(|seed| std::panic::catch_unwind(|| run(*seed, scene)).map_or(true, |end| end.is_err()));
    assert!(found.is_some(), "the checker finds what is broken");
}

#[test]
fn an_epoch_that_begins_from_the_records_of_too_few_is_found() {
    finds_in_changes_of_configuration(Broken::BeginFromFewer);
}

#[test]
fn a_replica_that_is_not_sealed_when_it_leaves_is_found() {
    finds_in_changes_of_configuration(Broken::LeaveUnsealed);
}

/// Why a disk that was lost makes another replica.
#[test]
fn a_replica_that_comes_back_empty_under_its_number_is_found() {
    let scene = Scene { replicas: 3, host: Host::ComesBackEmpty, ..ALONE };
    let found = (0..300).find(|seed| std::panic::catch_unwind(|| run(*seed, scene)).map_or(true, |end| end.is_err()));
    assert!(found.is_some(), "the checker finds what is broken");
}

#[expect(clippy::disallowed_methods, reason = "for people at a terminal")]
fn number(name: &str) -> u64 {
    std::env::var(name).unwrap().parse().unwrap()
}

/// The scene that the environment names, for [`show`] and [`sweep`]: `SHARDS`, `REPLICAS`, `OPERATORS`, `LEVELS`.
#[expect(clippy::disallowed_methods, reason = "for people at a terminal")]
fn scene_of_environment() -> Scene {
    let operators = match std::env::var("OPERATORS").as_deref() {
        Ok("replace") => Operators::Replace,
        Ok("split") => Operators::Split,
        Ok("everything") => Operators::Everything,
        Ok("lose") => Operators::SplitAndLose,
        Ok(_) => Operators::Resize,
        Err(_) => Operators::None,
    };
    let levels = if std::env::var("LEVELS").is_ok() { Levels::All } else { Levels::Serial };
    Scene { shards: number("SHARDS") as u32, replicas: number("REPLICAS"), operators, levels, ..ALONE }
}

/// Shows how one history ends: for people who look for a mistake.
#[test]
#[ignore = "shows one history"]
#[expect(clippy::disallowed_macros, reason = "for people at a terminal")]
fn show() {
    let mut cluster = Cluster::new(number("SEED"), scene_of_environment());
    let end = cluster.run(2500).and_then(|()| cluster.heal()).and_then(|()| checker::check(&cluster));
    println!("{end:?}");
    cluster.show();
}

/// Runs the seeds from `FROM` to below `TO`.
#[test]
#[ignore = "takes as long as one likes"]
fn sweep() {
    let failed = failures(number("FROM")..number("TO"), scene_of_environment());
    assert!(failed.is_empty(), "{failed:#?}");
}

/// Each scene that the tests above run, with other seeds and many more.
#[test]
#[ignore = "for `make soak`"]
fn soak_histories() {
    let scenes = [
        (Operators::None, CLUSTERS),
        (Operators::Replace, REPLACED),
        (Operators::Resize, RESIZED),
        (Operators::Split, SPLIT),
        (Operators::Everything, EVERYTHING),
        (Operators::SplitAndLose, DRAINED_WITH_LOST_DISKS),
    ];
    let clusters = scenes.into_iter().flat_map(|(operators, shapes)| {
        shapes.iter().map(move |&(shards, replicas)| Scene { shards, replicas, operators, ..ALONE })
    });
    let alone = Scene { operators: Operators::Replace, ..ALONE };
    let levels = Scene { levels: Levels::All, ..ALONE };
    let of_levels = CLUSTERS.iter().map(|&(shards, replicas)| Scene { shards, replicas, ..levels });
    let scenes = [ALONE, alone, levels].into_iter().chain(clusters).chain(of_levels);
    let failed: Vec<String> = scenes.flat_map(|scene| failures(SOAKED, scene)).collect();
    assert!(failed.is_empty(), "{failed:#?}");
}

/// Above all that the tests run.
const SOAKED: Range<u64> = 10_000..10_200;

/// The seeds that fail, and how.
#[expect(clippy::disallowed_macros, reason = "for people at a terminal")]
fn failures(seeds: Range<u64>, scene: Scene) -> Vec<String> {
    let mut total = Counts::default();
    let mut failed = Vec::new();
    for seed in seeds {
        let end = match std::panic::catch_unwind(|| run(seed, scene)) {
            Ok(Ok(counts)) => {
                total.add(counts);
                continue;
            }
            Ok(Err(violation)) => violation.to_string(),
            Err(_) => "it panicked".to_owned(),
        };
        failed.push(format!("seed {seed} of {scene:?}: {end}"));
    }
    println!("{scene:?}: {total:?}");
    failed
}
