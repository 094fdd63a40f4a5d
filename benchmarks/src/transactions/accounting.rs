//! What a transaction costs each node: processor time, messages, syncs.

mod processes;
mod sockets;
mod syncs;
mod traffic;

pub use processes::{Pid, own_cpu};
pub use sockets::Segments;
pub use syncs::SyncCount;
pub use traffic::{Counted, Traffic, TrafficCounts};
