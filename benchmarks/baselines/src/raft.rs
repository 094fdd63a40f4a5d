//! The replicated log of a shard: openraft, with its log in Iolite's journal, its messages on Iolite's links, and the shard's machine as
//! what it is applied to.
//!
//! The log is kept for good: nothing is compacted, so no snapshot is made or sent, and a node that starts again applies all of it.

mod applying;
mod convert;
mod log;
mod network;
mod peer;

pub use applying::Applying;
pub use log::Log;
pub use network::{Peers, serve_peers};
pub use peer::PeerHandler;

use bytes::Bytes;
use openraft::EmptyNode;

openraft::declare_raft_types!(
    /// Nodes are numbered from 0; a proposal is an encoded `Command`.
    pub Types:
        D = Proposal,
        R = (),
        NodeId = u64,
        Node = EmptyNode,
);

pub type Raft = openraft::Raft<Types, Applying>;
pub type LeaderId = openraft::alias::LeaderIdOf<Types>;
pub type LogId = openraft::alias::LogIdOf<Types>;
pub type Vote = openraft::alias::VoteOf<Types>;
pub type Entry = openraft::alias::EntryOf<Types>;

/// An encoded command. Cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proposal(pub Bytes);

impl std::fmt::Display for Proposal {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{} bytes", self.0.len())
    }
}
