//! Why a cluster cannot be made, started, stopped or changed.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use iolite_catalog::CatalogError;
use iolite_host::{AuthorityError, LinksError, PidFileError, SecretError};
use iolite_node::config::{ConfigError, ConfigProblem};
use iolite_node::{ReplicaDirectoryError, StoreClientEnd};
use iolite_replication::node::{ConfigurationError, ReplicaId};

use crate::PlaceProblem;
use crate::operator::numbers;

/// Each message says what to do.
#[derive(Debug, thiserror::Error)]
pub enum ClusterError {
    #[error("there is no cluster in {}: make one with `iolite cluster up`, or correct --data", folder.display())]
    None { folder: PathBuf },
    #[error("there are no data centres in {}: make some with `iolite centres up`, or correct --data", folder.display())]
    NoCentres { folder: PathBuf },
    #[error("{} is not empty, and holds no cluster: choose another folder with --data", folder.display())]
    NotEmpty { folder: PathBuf },
    #[error(
        "the cluster in {} was made with {was}, and this asks for {wanted}: leave the options out to start it as it is, or choose another \
         folder with --data", folder.display()
    )]
    OtherShape { folder: PathBuf, was: String, wanted: String },
    #[error("{0}")]
    Shape(String),
    #[error("{} cannot be used: {source}", path.display())]
    Io { path: PathBuf, source: io::Error },
    #[error("the file {} is damaged: {problem}", file.display())]
    Damaged { file: PathBuf, problem: String },
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error(transparent)]
    Certificates(#[from] AuthorityError),
    #[error(transparent)]
    Token(#[from] SecretError),
    #[error(transparent)]
    Replica(#[from] ReplicaDirectoryError),
    #[error("no free port can be had: {0}")]
    Port(io::Error),
    #[error("{node} ended after it was started. Its last words, from {}:\n{last_words}", log.display())]
    Ended { node: String, log: PathBuf, last_words: String },
    #[error("{nodes} did not get ready within {within:?}: look into the file `log` of each in {}", folder.display())]
    NotReady { nodes: String, folder: PathBuf, within: Duration },
    #[error("process {pid} of {node} cannot be stopped: {source}")]
    Stop { node: String, pid: u32, source: io::Error },
    #[error("no group of the cluster has the replica {replica}: `iolite cluster status` lists the nodes")]
    NoReplica { replica: u64 },
    #[error(
        "shard {shard} is kept by {members}, and not by {from}: nothing was changed. Say all replicas that it is to be moved from"
    )]
    OtherMembers { shard: u32, from: String, members: String },
    #[error(transparent)]
    Busy(#[from] PidFileError),
    #[error(transparent)]
    Operator(#[from] OperatorError),
}

/// Why a group is not changed. Each message says what to do.
#[derive(Debug, thiserror::Error)]
pub enum OperatorError {
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error("{0}")]
    Problem(ConfigProblem),
    #[error(transparent)]
    Links(#[from] LinksError),
    #[error("{0}")]
    Client(StoreClientEnd),
    #[error(
        "another command works as gateway-{number} since, and has ended this one: `iolite shard` and `iolite cluster replace|resize|move|split` go one \
         at a time. When the other has ended, look with `iolite shard status` what became of the change, and give this command again"
    )]
    AnotherOperator { number: u16 },
    #[error("the cluster has no shard {shard}")]
    NoShard { shard: u32 },
    #[error(transparent)]
    Place(#[from] PlaceProblem),
    #[error(transparent)]
    Catalog(#[from] CatalogError),
    #[error("{0}")]
    Group(#[from] ConfigurationError),
    #[error(
        "the cluster's file has no replica {} for shard {shard}: a new one is `joining` first, with its address, in the file of every node", replica.0
    )]
    Unknown { replica: ReplicaId, shard: u32 },
    #[error(
        "nothing was changed: within {within:?}, {}. A group of which too few are up would be waited for for ever",
        reasons(behind, silent)
    )]
    Unable { behind: Vec<ReplicaId>, silent: Vec<ReplicaId>, within: Duration },
    #[error("no majority of every shard answers within {0:?}: nothing can be changed until it does")]
    NoMajority(Duration),
    #[error("the replicas refuse it: {0}")]
    Refused(String),
    #[error("whether shard {shard} goes over to the group is not known yet: ask again with the same command")]
    InDoubt { shard: u32 },
    #[error("another change of shard {shard} came first, to the replicas {members}: look at it, and ask again")]
    Overtaken { shard: u32, members: String },
    #[error(
        "the cluster's file has no split of shard {shard}: add it, with the shards that are its parts and their replicas"
    )]
    NoSplit { shard: u32 },
    #[error(
        "the group of shard {shard} was changed since its split was written into the cluster's file: take it out, and write it with the group of now and new replicas"
    )]
    OtherParent { shard: u32 },
    #[error(
        "shard {shard} was split otherwise, by another operator: correct the cluster's file by what `iolite shard status` says"
    )]
    OtherSplit { shard: u32 },
    #[error(
        "shard {shard} was split, but within {within:?} none of its replicas {replicas} was told that all of the parts have begun. Do not turn them off; \
         start those that do not run, replace those that are lost, and give the same command again"
    )]
    Needed { shard: u32, replicas: String, within: Duration },
    #[error(
        "the group of shard {shard} was chosen, but the replicas {missing} do not take part within {within:?}. Nobody may be turned off until a majority \
         does, and all that run: start what does not run, and give the same command again"
    )]
    NotTakingPart { shard: u32, missing: String, within: Duration },
}

impl From<StoreClientEnd> for OperatorError {
    fn from(end: StoreClientEnd) -> OperatorError {
        match end {
            StoreClientEnd::Superseded { id } => OperatorError::AnotherOperator { number: id.number() },
            end @ StoreClientEnd::Closed => OperatorError::Client(end),
        }
    }
}

fn reasons(behind: &[ReplicaId], silent: &[ReplicaId]) -> String {
    let said = [("have not what the shard has", behind), ("do not answer", silent)];
    let said = said.iter().filter(|(_, who)| !who.is_empty());
    said.map(|(what, who)| format!("the replicas {} {what}", numbers(who))).collect::<Vec<_>>().join(", and ")
}
