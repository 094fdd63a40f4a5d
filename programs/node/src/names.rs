//! What nodes of a cluster are called. A certificate proves a name, and so the role and the number that are in it.

use std::collections::BTreeMap;
use std::fmt;

use iolite_host::{LinkPeer, NodeName};
use iolite_replication::node::ReplicaId;
use iolite_values::CoordinatorId;
use iolite_wire::node::NodesHello;

/// Who a node is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NodeRole {
    /// `store-7`
    Store(ReplicaId),
    /// `gateway-3`
    Gateway(CoordinatorId),
}

/// Commands that work as a gateway does, such as backups, have the numbers from this on, and gateways those below: no command ends a gateway by taking
/// its number.
pub const FIRST_NUMBER_OF_COMMANDS: u16 = 4032;

impl NodeRole {
    pub fn name(self) -> NodeName {
        NodeName::new(&self.to_string()).expect("letters, a hyphen and digits")
    }

    /// `None`: it is no node of a cluster.
    pub fn of(name: &NodeName) -> Option<NodeRole> {
        let (role, number) = name.as_str().split_once('-')?;
        let role = match role {
            "store" => NodeRole::Store(ReplicaId(number.parse().ok()?)),
            "gateway" => NodeRole::Gateway(CoordinatorId::new(number.parse().ok()?)?),
            _ => return None,
        };
        // One spelling a node: not `store-07`.
        (role.to_string() == name.as_str()).then_some(role)
    }
}

impl fmt::Display for NodeRole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NodeRole::Store(id) => write!(f, "store-{}", id.0),
            NodeRole::Gateway(id) => write!(f, "gateway-{}", id.number()),
        }
    }
}

/// Names of peers, each put together once: every message is sent by a name.
#[derive(Debug, Default)]
pub(crate) struct NodeNames(BTreeMap<NodeRole, NodeName>);

impl NodeNames {
    pub fn of(&mut self, role: NodeRole) -> &NodeName {
        self.0.entry(role).or_insert_with(|| role.name())
    }
}

/// What this node says of itself on every link.
pub(crate) fn hello() -> Vec<u8> {
    NodesHello::OWN.encode().expect("it is small")
}

/// Whether a peer speaks a version that this node does, and who it is.
pub(crate) fn greet(peer: &LinkPeer) -> Result<NodeRole, String> {
    is_version_known(peer)?;
    NodeRole::of(&peer.name).ok_or_else(|| format!("{} is neither a store nor a gateway", peer.name.as_str()))
}

/// Whether a peer speaks a version that this node does.
pub(crate) fn is_version_known(peer: &LinkPeer) -> Result<(), String> {
    let hello = NodesHello::decode(&peer.said).map_err(|error| format!("it says no version of Iolite: {error}"))?;
    if NodesHello::OWN.negotiate(hello).is_none() {
        let (own, other) = (NodesHello::OWN, hello);
        return Err(format!(
            "it speaks the versions {} to {}, and this node {} to {}: update the older one",
            other.oldest.0, other.newest.0, own.oldest.0, own.newest.0
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use iolite_host::LinkSide;

    use super::*;

    fn peer(name: &str, said: &[u8]) -> LinkPeer {
        LinkPeer { name: NodeName::new(name).expect("a name"), said: said.to_vec(), side: LinkSide::Accepted }
    }

    #[test]
    fn a_name_is_a_role_and_a_number_in_one_spelling() {
        for role in [NodeRole::Store(ReplicaId(0)), NodeRole::Store(ReplicaId(u64::MAX)), gateway(7)] {
            assert_eq!(NodeRole::of(&role.name()), Some(role));
        }
        for name in ["store", "store-x1", "store-07", "gateway-4096", "planner-1", "store-1.example"] {
            assert_eq!(NodeRole::of(&NodeName::new(name).expect("a name")), None, "{name}");
        }
    }

    fn gateway(number: u16) -> NodeRole {
        NodeRole::Gateway(CoordinatorId::new(number).expect("small"))
    }

    #[test]
    fn only_nodes_of_a_known_version_are_greeted() {
        assert_eq!(greet(&peer("gateway-7", &hello())), Ok(gateway(7)));
        assert!(greet(&peer("gateway-7", b"")).is_err_and(|reason| reason.contains("no version")));
        assert!(greet(&peer("intruder", &hello())).is_err_and(|reason| reason.contains("intruder is neither")));
    }
}
