//! From what a journal holds to the replica that wrote it.

use std::time::Instant;

use iolite_engine::Recovery;
use iolite_host::random_seed;
use iolite_replication::node::Boot;
use iolite_replication::{RecoverError, Replica, ReplicaSettings, Retention};
use iolite_values::{Id, StoreIncarnation};

/// The replica of the embedded server, which is the whole group.
pub(crate) fn recover_alone(recovery: &Recovery, retention: Retention) -> Result<Replica, RecoverError> {
    let store = StoreIncarnation(Id::from_u128(recovery.incarnation.0));
    let settings = ReplicaSettings::alone(store, Boot(random_seed()), retention);
    recover(settings, recovery)
}

pub(crate) fn recover(settings: ReplicaSettings, recovery: &Recovery) -> Result<Replica, RecoverError> {
    let (begun, chunks, records) = (Instant::now(), &recovery.checkpoint_chunks, &recovery.records);
    let replica = Replica::recover(settings, chunks, records.iter().map(|record| &record.bytes))?;
    tracing::info!(
        checkpoint_bytes = chunks.iter().map(Vec::len).sum::<usize>(),
        records = records.len(),
        record_bytes = records.iter().map(|record| record.bytes.len()).sum::<usize>(),
        never_durable = ?recovery.torn_tail,
        milliseconds = begun.elapsed().as_millis(),
        "recovered"
    );
    Ok(replica)
}
