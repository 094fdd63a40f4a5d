//! The replicated store: replica, coordinator, multi-version rows and the feed.
//!
//! Source: TAPIR and IR (Zhang, TOCS 2018), data-type OCC (Zhang 2017, 3.4). The deviations and their reasons are in
//! docs/protocols/replica.md; the feed and the resolved timestamp (docs/protocols/feed.md) are Iolite's.
//!
//! This is a group of one replica (f = 0): it decides alone, what it journals is decided.

mod broken;
mod coordinator;
pub mod journal;
pub mod limits;
mod local;
pub mod messages;
mod replica;
mod versions;

pub use broken::Broken;
pub use coordinator::{Coordinator, CoordinatorInput, CoordinatorOutput, CoordinatorSettings};
pub use local::Local;
pub use replica::{RecoverError, Replica, ReplicaOutput, ReplicaSettings};
pub use versions::{Retention, Version, VersionedRow, Versions};
