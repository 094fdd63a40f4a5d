//! The store of one coordinator and one replica passes the suite that every store passes, and the suite finds broken ones.

use std::panic::{AssertUnwindSafe, catch_unwind};

use iolite_machine::WallTime;
use iolite_replication::node::{Boot, Group, ReplicaId, ShardId};
use iolite_replication::{Broken, Extent, Local, Place, ReplicaSettings, Retention};
use iolite_store::conformance;
use iolite_values::{ClientId, Id, RowKey, StoreIncarnation, TableId, Value};

const START: WallTime = WallTime::from_micros(1_700_000_000_000_000);
const STORE: StoreIncarnation = StoreIncarnation(Id::from_u128(1));

#[test]
fn one_coordinator_and_one_replica_are_a_store() {
    conformance::run(&mut || Box::new(Local::new(START, STORE, Retention::default())));
}

fn settings(broken: Broken) -> ReplicaSettings {
    let group = Group::alone(ShardId(0), ReplicaId(0));
    let retention = Retention::default();
    let extent = Extent::everything();
    ReplicaSettings { id: ReplicaId(0), group, extent, origin: None, store: STORE, boot: Boot(1), retention, broken }
}

/// Where shards begin such that the suite's rows and its client's completion records are apart.
fn places() -> [Place; 3] {
    let within = Place { table: TableId(7), key: RowKey::new(&[Value::Int(2)]).unwrap() };
    [Place::first(), within, Place::of_client(ClientId::default())]
}

fn cluster(shards: u32, replicas: u64, broken: Broken) -> Local {
    let mut places = places()[..shards as usize].to_vec();
    places.sort();
    Local::cluster(START, places.into_iter().zip(Local::groups(shards, replicas)), &settings(broken))
}

#[test]
fn a_cluster_is_a_store() {
    for (shards, replicas) in [(1, 3), (2, 1), (2, 3), (3, 3), (1, 5), (3, 5)] {
        conformance::run(&mut || Box::new(cluster(shards, replicas, Broken::Nothing)));
    }
}

#[test]
fn a_cluster_that_lacks_any_one_replica_is_a_store() {
    for (shards, replicas) in [(1, 3), (2, 3), (1, 5)] {
        for lacking in 0..replicas {
            conformance::run(&mut || {
                let mut cluster = cluster(shards, replicas, Broken::Nothing);
                cluster.silence(ReplicaId(lacking));
                Box::new(cluster)
            });
        }
    }
}

#[test]
fn the_suite_finds_broken_stores() {
    for broken in [Broken::SkipReadValidation, Broken::NoCompletionRecords] {
        for (shards, replicas) in [(1, 1), (2, 3)] {
            let run = || conformance::run(&mut || Box::new(cluster(shards, replicas, broken)));
            assert!(catch_unwind(AssertUnwindSafe(run)).is_err(), "{broken:?} passes at {shards}x{replicas}");
        }
    }
}
