//! Servers as a library: machines composed into processes, and hosted.
//!
//! Source: Iolite's own. `iolite dev`, `iolite serve` and the embedded mode of the Rust SDK run them.
//!
//! [`Store`] is a replica's process as one pure machine, [`Front`] a gateway's, and [`Node`] both in one, which is the embedded server.
//! [`StoreServer`], [`GatewayServer`] and [`Server`] give them a disk, ports and time. A `PostgresGateway` (feature `postgres`) is a gateway
//! without replicas.

mod access_commands;
mod anonymous;
mod blob_host;
mod blob_store;
mod blobs;
mod centre_links;
mod centre_metrics;
mod checkpoints;
mod client_port;
mod clients;
pub mod config;
mod data_directory;
mod directory;
mod explain_commands;
mod front;
mod gateway_links;
mod gateway_metrics;
mod gateway_server;
mod inquirer;
mod journal;
#[cfg(feature = "jwks")]
mod key_set;
mod key_wish;
mod names;
mod node;
mod object_classes;
mod object_commands;
mod object_door;
mod object_host;
mod object_links;
mod object_questions;
mod objects;
mod operate;
#[cfg(any(feature = "etcd", feature = "postgres"))]
mod password;
#[cfg(feature = "postgres")]
mod postgres_front;
#[cfg(feature = "postgres")]
mod postgres_gateway;
mod recovery;
mod replica_directory;
mod schema_commands;
mod server;
mod sessions;
mod store;
mod store_client;
mod store_links;
mod store_metrics;
mod store_server;

pub use blob_store::{BlobStore, BlobStoreError, Unavailable};
pub use blobs::asks::SweeperAsk;
pub use blobs::cells::CellName;
pub use blobs::check::Flaw;
pub use blobs::rows::tables_with_blobs;
pub use client_port::ClientPortError;
pub use data_directory::DataDirectoryError;
#[cfg(feature = "etcd")]
pub use directory::EtcdError;
pub use directory::{ClusterSource, DIRECTORY_READ_EVERY, Description, Directory, Revision};
pub use front::{Front, FrontInput, FrontOutput};
pub use gateway_server::{GatewayServer, GatewayServerError, GatewaySettings};
pub use names::{FIRST_NUMBER_OF_COMMANDS, NodeRole};
pub use node::{Node, NodeInput, NodeOutput};
pub use object_classes::ObjectClasses;
pub use object_links::PeersError;
pub use objects::{Objects, ObjectsAddress, ObjectsError};
#[cfg(any(feature = "etcd", feature = "postgres"))]
pub use password::PasswordError;
#[cfg(feature = "postgres")]
pub use postgres_gateway::{PostgresGateway, PostgresGatewayError};
pub use replica_directory::{OpenReplica, ReplicaDirectoryError, Start, open_replica};
pub use server::{RunError, Server, ServerError, ServerSettings};
pub use store::{JournalInput, JournalOutput, Store, StoreInput, StoreOutput};
pub use store_client::{Standing, StoreClient, StoreClientEnd, StoreClientSettings};
pub use store_server::{StoreServer, StoreServerError, StoreSettings};
