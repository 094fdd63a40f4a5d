//! A client of OCC-Store and Lock-Store: it runs transactions, and is itself the coordinator of their two-phase commits.
//!
//! Invariants:
//! - a transaction commits exactly if every shard that it touches has prepared it; whoever finds that out may finish it;
//! - a coordinator aborts only what one shard has refused and will never prepare.
//!
//! Source: TAPIR (TOCS 2018) 7.1.2, which describes both systems.

mod cluster;
mod codec;
mod commit;
mod messages;
mod session;
mod wire;

pub use cluster::{Cluster, Control, ShardNumber, node_name};
pub use codec::{FRAME_BYTES_MAX, OfClient, OfServer};
pub use messages::{
    Ask, Blocker, Get, Load, Look, Moved, Outcome, Pair, Prepare, Read, Refused, Reply, Request, Settlement, Tell,
    TransactionId, Validate, Value, Values,
};
pub use session::{Ended, Session, Stopped};
pub use wire::{Exchange, Unreachable};
