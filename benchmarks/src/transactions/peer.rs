//! The systems that are measured beside Iolite, by name.

use clap::ValueEnum;

use super::baselines::{Baseline, LockStore, LockStoreUnbatched, OccStore, OccStoreUnbatched};
use super::etcd::Etcd;
use super::measure::{Course, Measured, measure};
use super::postgres::Postgres;
use super::redis::Redis;

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Peer {
    /// Three nodes; compare-and-swap on revisions
    Etcd,
    /// SERIALIZABLE; a primary and two synchronous standbys, of which one has to answer
    Postgres,
    /// WATCH, MULTI, EXEC and WAIT 1; a primary and two replicas
    Redis,
    /// Two-phase commit with optimistic concurrency control over Raft, as in the TAPIR paper; three nodes
    OccStore,
    /// Two-phase commit with two-phase locking over Raft, as in the TAPIR paper; three nodes
    LockStore,
    /// OCC-Store whose log sends and writes each entry by itself
    OccStoreUnbatched,
    /// Lock-Store likewise
    LockStoreUnbatched,
}

impl Peer {
    pub async fn measure(self, course: &Course) -> anyhow::Result<Measured> {
        match self {
            Peer::Etcd => measure::<Etcd>(course).await,
            Peer::Postgres => measure::<Postgres>(course).await,
            Peer::Redis => measure::<Redis>(course).await,
            Peer::OccStore => measure::<Baseline<OccStore>>(course).await,
            Peer::LockStore => measure::<Baseline<LockStore>>(course).await,
            Peer::OccStoreUnbatched => measure::<Baseline<OccStoreUnbatched>>(course).await,
            Peer::LockStoreUnbatched => measure::<Baseline<LockStoreUnbatched>>(course).await,
        }
    }
}
