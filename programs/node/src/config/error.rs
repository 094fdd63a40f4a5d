//! Why a configuration cannot be used.

use std::io;
use std::path::{Path, PathBuf};

use iolite_host::NotAnOrigin;
use iolite_replication::ShardMapError;
use iolite_replication::node::{GroupError, ReplicaId, ShardId, SplitError};
use iolite_values::KeyError;

use super::node::DELAY_MS_MAX;
use crate::names::FIRST_NUMBER_OF_COMMANDS;

/// Each message says what to correct, and where.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    #[error("the configuration {} cannot be read: {source}. Correct the path, or make the file readable for this user", file.display())]
    Unreadable { file: PathBuf, source: io::Error },
    #[error("the configuration {}: {source}", file.display())]
    Toml { file: PathBuf, source: Box<toml::de::Error> },
    #[error("the configuration {}: {problem}", file.display())]
    Wrong { file: PathBuf, problem: ConfigProblem },
    #[error("{} cannot be written: {source}", file.display())]
    Unwritable { file: PathBuf, source: io::Error },
    #[cfg(feature = "etcd")]
    #[error(transparent)]
    Etcd(#[from] crate::directory::EtcdError),
}

/// What is wrong in a file that can be read.
#[derive(Debug, thiserror::Error)]
pub enum ConfigProblem {
    #[error(
        "`store` is {0:?}; it is to be 32 hexadecimal digits, which name this cluster's data: choose them once, at random"
    )]
    Store(String),
    #[error("shard {}: {source}", shard.0)]
    Group { shard: ShardId, source: GroupError },
    #[error("{0}")]
    Map(#[from] ShardMapError),
    #[error("the key with which shard {} begins: {source}", shard.0)]
    Key { shard: ShardId, source: KeyError },
    #[error("the split of shard {}: {source}", shard.0)]
    Parts { shard: ShardId, source: SplitError },
    #[error("the split of shard {}: {source}", shard.0)]
    Split { shard: ShardId, source: ShardMapError },
    #[error(
        "shard {} is a part of one that is split, and has a `begins`: a part has none, and a number that no shard ever had", shard.0
    )]
    PartBegins { shard: ShardId },
    #[error("replica {} is there twice: each has a number of its own", id.0)]
    ReplicaTwice { id: ReplicaId },
    #[error("it has neither [store] nor [gateway]: a node is one of them")]
    NoRole,
    #[error("it has both [store] and [gateway]: give each a file, and a process, of its own")]
    TwoRoles,
    #[error(
        "it has neither `certificates = FOLDER` nor `plain = true`: links between nodes are protected, unless all are on this machine"
    )]
    NoSecurity,
    #[error("it has both `certificates` and `plain = true`: choose one")]
    TwoSecurities,
    #[error("`delay_ms` is {0}; it is to be a time of zero or more milliseconds, at most {DELAY_MS_MAX}")]
    Delay(f64),
    #[error(
        "the gateway's number {0} is not one of 0 to {last}: those beyond are of commands, such as backups", last = FIRST_NUMBER_OF_COMMANDS - 1
    )]
    GatewayNumber(u16),
    #[error(transparent)]
    Blobs(#[from] crate::BlobStoreError),
    #[error("`bytes_max` of [blobs] is 0: say how many bytes the store may have, or leave it out for no bound")]
    BlobBytes,
    #[error("it has [store] and [blobs]: the blobs of a cluster are its gateways', so [blobs] stands in their files")]
    BlobsOfStore,
    #[error(transparent)]
    Centre(#[from] super::centre::CentreProblem),
    #[error(transparent)]
    Objects(#[from] super::objects::ObjectsProblem),
    #[error(transparent)]
    Tokens(#[from] super::tokens::TokensProblem),
    #[error("`origins`: {0}")]
    Origin(#[from] NotAnOrigin),
    #[error("there is no replica {} in the cluster's file: add it, or correct the number", id.0)]
    UnknownReplica { id: ReplicaId },
    #[error("the cluster's description is in etcd, and this is for clusters of one machine: use `iolite shard`")]
    InEtcd,
    #[cfg(feature = "etcd")]
    #[error(transparent)]
    Etcd(#[from] super::etcd::EtcdProblem),
    #[cfg(not(feature = "etcd"))]
    #[error("the cluster's description is in etcd, and this program was built without the feature `etcd`")]
    WithoutEtcd,
    #[cfg(feature = "postgres")]
    #[error(transparent)]
    Postgres(#[from] super::postgres::PostgresProblem),
}

impl ConfigProblem {
    pub(crate) fn of(self, file: &Path) -> ConfigError {
        ConfigError::Wrong { file: file.to_owned(), problem: self }
    }
}

/// Reads a file of TOML.
pub(crate) fn read<T: serde::de::DeserializeOwned>(file: &Path) -> Result<T, ConfigError> {
    let text =
        std::fs::read_to_string(file).map_err(|source| ConfigError::Unreadable { file: file.to_owned(), source })?;
    toml::from_str(&text).map_err(|source| ConfigError::Toml { file: file.to_owned(), source: Box::new(source) })
}
