//! The store of one coordinator and one replica passes the suite that every store passes.

use iolite_machine::WallTime;
use iolite_replication::{Local, Retention};
use iolite_store::conformance;
use iolite_values::{Id, StoreIncarnation};

#[test]
fn one_coordinator_and_one_replica_are_a_store() {
    let start = WallTime::from_micros(1_700_000_000_000_000);
    let store = StoreIncarnation(Id::from_u128(1));
    conformance::run(&mut || Box::new(Local::new(start, store, Retention::default())));
}
