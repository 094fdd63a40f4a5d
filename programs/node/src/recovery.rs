//! From what a journal holds to the replica that wrote it.

use iolite_engine::Recovery;
use iolite_host::random_seed;
use iolite_replication::messages::Boot;
use iolite_replication::{Broken, RecoverError, Replica, ReplicaSettings, Retention};
use iolite_values::{Id, StoreIncarnation};

pub(crate) fn recover(recovery: &Recovery) -> Result<Replica, RecoverError> {
    let settings = ReplicaSettings {
        store: StoreIncarnation(Id::from_u128(recovery.incarnation.0)),
        boot: Boot(random_seed()),
        retention: Retention::default(),
        broken: Broken::Nothing,
    };
    Replica::recover(settings, &recovery.checkpoint_chunks, recovery.records.iter().map(|record| &record.bytes))
}
