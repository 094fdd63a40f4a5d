//! The store of one coordinator and one replica passes the suite that every store passes, and the suite finds broken ones.

use std::panic::{AssertUnwindSafe, catch_unwind};

use iolite_machine::WallTime;
use iolite_replication::messages::Boot;
use iolite_replication::{Broken, Local, ReplicaSettings, Retention};
use iolite_store::conformance;
use iolite_values::{Id, StoreIncarnation};

const START: WallTime = WallTime::from_micros(1_700_000_000_000_000);
const STORE: StoreIncarnation = StoreIncarnation(Id::from_u128(1));

#[test]
fn one_coordinator_and_one_replica_are_a_store() {
    conformance::run(&mut || Box::new(Local::new(START, STORE, Retention::default())));
}

#[test]
fn the_suite_finds_broken_stores() {
    for broken in [Broken::SkipReadValidation, Broken::NoCompletionRecords] {
        let settings = ReplicaSettings { store: STORE, boot: Boot(1), retention: Retention::default(), broken };
        let run = || conformance::run(&mut || Box::new(Local::with(START, settings)));
        assert!(catch_unwind(AssertUnwindSafe(run)).is_err(), "{broken:?} passes");
    }
}
