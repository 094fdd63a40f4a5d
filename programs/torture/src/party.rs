//! The processes of a run: nodes of the cluster, and in a run with objects their hosts and devices.

use std::fmt;

use iolite_node::NodeRole;

/// A process that faults are made to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Party {
    Node(NodeRole),
    /// Has objects, which live as long as its process.
    Host(u32),
    /// Calls objects, and keeps copies of some.
    Device(u32),
}

impl Party {
    pub fn is_store(self) -> bool {
        matches!(self, Party::Node(NodeRole::Store(_)))
    }

    /// Whether nothing that was acknowledged is lost with its process.
    pub fn may_be_killed(self) -> bool {
        match self {
            Party::Node(_) | Party::Device(_) => true,
            Party::Host(_) => false,
        }
    }
}

impl fmt::Display for Party {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Party::Node(role) => role.fmt(f),
            Party::Host(number) => write!(f, "host-{number}"),
            Party::Device(number) => write!(f, "device-{number}"),
        }
    }
}
