//! A cluster on one machine: one folder with its files, and one process a node.
//!
//! Source: Iolite's own. `iolite cluster` is made of it, and whatever measures or breaks real clusters.
//!
//! Invariants:
//! - a folder holds a whole cluster or none: it is made under another name, and renamed when all is there;
//! - whether a node runs is asked of the kernel, by the lock on its pid file, and never guessed.

mod ability;
mod centres;
mod creation;
mod error;
mod joining;
mod local;
mod members;
mod node_files;
mod operator;
mod ports;
mod readiness;
mod reports;
mod shape;
mod split_places;
mod store_schema;
mod taking_part;
mod wiring;

pub use centres::{CentresShape, LocalCentres, PeerReport};
pub use error::{ClusterError, OperatorError};
pub use local::{LocalCluster, LocalNode, NodeState};
pub use members::{Change, Changed};
pub use operator::{Operator, operator_id};
pub use ports::free_ports;
pub use reports::{Observer, Reports, observer_id};
pub use rustix::process::Signal;
pub use shape::{ClusterShape, Ports, Split};
pub use split_places::{PlaceCheck, PlaceProblem};
