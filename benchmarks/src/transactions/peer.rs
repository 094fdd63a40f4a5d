//! How each system beside Iolite is driven.

use anyhow::bail;

use super::baselines::{Baseline, LockStore, LockStoreUnbatched, OccStore, OccStoreUnbatched};
use super::etcd::Etcd;
use super::measure::{Course, Measured, measure};
use super::postgres::Postgres;
use super::redis::Redis;
use crate::peer::Peer;

/// # Errors
/// When it is not installed, does not start or breaks; or is no store of transactions.
pub async fn measure_peer(peer: Peer, course: &Course) -> anyhow::Result<Measured> {
    match peer {
        Peer::Etcd => measure::<Etcd>(course).await,
        Peer::Postgres => measure::<Postgres>(course).await,
        Peer::Redis => measure::<Redis>(course).await,
        Peer::OccStore => measure::<Baseline<OccStore>>(course).await,
        Peer::LockStore => measure::<Baseline<LockStore>>(course).await,
        Peer::OccStoreUnbatched => measure::<Baseline<OccStoreUnbatched>>(course).await,
        Peer::LockStoreUnbatched => measure::<Baseline<LockStoreUnbatched>>(course).await,
        Peer::RedisScript
        | Peer::Hocuspocus
        | Peer::Cloud
        | Peer::CloudFt
        | Peer::NaiveFt
        | Peer::Echo
        | Peer::Rmi
        | Peer::Thrift
        | Peer::Rest => {
            bail!(
                "{} keeps no transactions: it is beside {}, not beside {}",
                peer.name(),
                peer.beside(),
                course.workload.name()
            )
        }
    }
}
