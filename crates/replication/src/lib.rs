//! The replicated store: replicas, coordinators, multi-version rows and the feed.
//!
//! Source: TAPIR and IR (Zhang, TOCS 2018), data-type OCC (Zhang 2017, 3.4). The deviations and their reasons are in
//! docs/protocols/{ir,tapir,replica}.md; the feed and the resolved timestamp (docs/protocols/feed.md) are Iolite's.
//!
//! A shard is kept by a group of 2f + 1 replicas. The embedded server is a group of one: what it journals is decided.

mod broken;
mod completions;
mod configuration;
mod coordinator;
mod decisions;
mod extent;
mod ir;
pub mod journal;
pub mod limits;
mod local;
mod reads;
mod replica;
mod scans;
mod shards;
mod tapir;
mod versions;

pub use iolite_wire::node;

pub use broken::Broken;
pub use completions::{CompletionRow, client_key, completions_table};
pub use configuration::{
    configuration_cell, configuration_key, configuration_write, configurations_table, split_write,
};
pub use coordinator::{
    Coordinator, CoordinatorInput, CoordinatorOutput, CoordinatorSettings, LATENCY_BOUNDS, Latencies, Tally,
};
pub use decisions::decisions;
pub use extent::Extent;
pub use local::Local;
pub use replica::{Figures, RecoverError, Replica, ReplicaInput, ReplicaOutput, ReplicaSettings, Votes};
pub use shards::{Place, ShardMap, ShardMapError};
pub use versions::{Logged, Retention, Version, VersionedRow, Versions};
