//! What a transaction costs each node: processor time, messages, syncs.

mod processes;
mod sides;
mod sockets;
mod syncs;
mod traffic;

use std::sync::Arc;

pub use processes::{Pid, own_cpu};
pub use sides::{CpuPerOp, Sides};
pub use sockets::Segments;
pub use syncs::SyncCount;
pub use traffic::{Counted, Traffic, TrafficCounts};

/// One server of a system: all processes below one root.
#[derive(Clone, Debug)]
pub struct Node {
    pub name: String,
    pub root: Pid,
    pub traffic: Arc<Traffic>,
}
