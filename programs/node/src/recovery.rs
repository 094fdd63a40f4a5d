//! From what a journal holds to the replica that wrote it.

use iolite_engine::Recovery;
use iolite_host::random_seed;
use iolite_replication::node::Boot;
use iolite_replication::{RecoverError, Replica, ReplicaSettings, Retention};
use iolite_values::{Id, StoreIncarnation};

/// The replica of the embedded server, which is the whole group.
pub(crate) fn recover_alone(recovery: &Recovery) -> Result<Replica, RecoverError> {
    let store = StoreIncarnation(Id::from_u128(recovery.incarnation.0));
    let settings = ReplicaSettings::alone(store, Boot(random_seed()), Retention::default());
    recover(settings, recovery)
}

pub(crate) fn recover(settings: ReplicaSettings, recovery: &Recovery) -> Result<Replica, RecoverError> {
    Replica::recover(settings, &recovery.checkpoint_chunks, recovery.records.iter().map(|record| &record.bytes))
}
