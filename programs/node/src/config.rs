//! What `iolite serve` reads: a file about the cluster, which all nodes share, and a file about one node.
//!
//! Invariant: a name that is not known is an error, so that a misspelt setting is never ignored.

mod blobs;
mod centre;
mod cluster;
mod cluster_file;
mod error;
#[cfg(feature = "etcd")]
mod etcd;
mod key_address;
mod node;
mod objects;
#[cfg(feature = "postgres")]
mod postgres;
mod shards;
mod tokens;

pub use blobs::{BlobsConfig, BlobsTable};
pub use centre::{
    CENTRES_MAX, CentreConfig, CentreProblem, CentreTable, PeerConfig, PeerTable, centre_node, centre_of,
};
pub use cluster::{Cluster, Kept};
pub use cluster_file::{Begins, ClusterFile, GroupPlace, KeyPart, ReplicaPlace, ShardPlace, SplitPlace, even_shards};
pub(crate) use error::read;
pub use error::{ConfigError, ConfigProblem};
#[cfg(feature = "etcd")]
pub use etcd::{EtcdFile, EtcdIdentity, EtcdLogin, EtcdPlace, EtcdProblem, EtcdTable};
pub use key_address::KeyAddress;
pub use node::{
    DELAY_MS_MAX, DurabilityWord, Faults, FaultsTable, GatewayConfig, GatewayTable, NodeConfig, NodeFile, RoleConfig,
    Schemas, StoreConfig, StoreTable, WithoutWord,
};
pub use objects::{ObjectsConfig, ObjectsProblem, ObjectsTable};
#[cfg(feature = "postgres")]
pub use postgres::{
    PasswordPlace, PostgresConfig, PostgresGatewayConfig, PostgresGatewayFile, PostgresProblem, PostgresTable,
    Protection, Served,
};
pub use shards::{place_of, split_of};
pub use tokens::{
    AlgorithmWord, ClaimWord, KeyConfig, KeyFileError, KeyTable, RightsWord, TokensConfig, TokensProblem, TokensTable,
};
