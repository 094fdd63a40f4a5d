//! A gateway's links to the replicas.
//!
//! Invariant: an answer says that it is from the replica that its link is with, which that replica's certificate proves.

use iolite_host::{Codec, LinkEvent, LinkHandler, LinkNumber, LinkPeer, Links};
use iolite_replication::node::{FromReplica, Group, ReplicaId, Split, ToReplica};
use iolite_values::CoordinatorId;
use iolite_wire::limits;

use crate::config::Cluster;
use crate::names::{NodeRole, greet, hello};

/// Makes what comes over a link an input of the machine that the coordinator is part of.
#[derive(Debug)]
pub(crate) struct GatewayLinks<I> {
    pub own: CoordinatorId,
    pub input: fn(FromReplica) -> I,
}

// By hand, because an input need not be a copy for the function to be one.
impl<I> Clone for GatewayLinks<I> {
    fn clone(&self) -> Self {
        GatewayLinks { own: self.own, input: self.input }
    }
}

/// One direction of a link with a replica.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GatewayLinkCodec {
    own: CoordinatorId,
    /// None: it was not greeted, and no message comes.
    peer: Option<ReplicaId>,
}

impl Codec for GatewayLinkCodec {
    type Incoming = FromReplica;
    type Outgoing = ToReplica;

    fn decode(&mut self, frame: &[u8]) -> Result<FromReplica, String> {
        let message = FromReplica::decode(frame).map_err(|error| error.to_string())?;
        if Some(message.from) != self.peer {
            return Err(format!("an answer in the name of replica {}", message.from.0));
        }
        if message.to != self.own {
            return Err(format!("an answer for gateway {}", message.to.number()));
        }
        Ok(message)
    }

    fn encode(&mut self, message: &ToReplica) -> Result<Vec<u8>, String> {
        message.encode().map_err(|error| error.to_string())
    }

    fn encode_into(&mut self, message: &ToReplica, bytes: &mut Vec<u8>) -> Result<(), String> {
        message.encode_into(bytes).map_err(|error| error.to_string())
    }
}

impl<I: Send + 'static> LinkHandler for GatewayLinks<I> {
    type Codec = GatewayLinkCodec;
    type Input = I;

    fn codec(&self, peer: &LinkPeer) -> GatewayLinkCodec {
        let peer = match NodeRole::of(&peer.name) {
            Some(NodeRole::Store(replica)) => Some(replica),
            Some(NodeRole::Gateway(_)) | None => None,
        };
        GatewayLinkCodec { own: self.own, peer }
    }

    fn input(&self, _link: LinkNumber, event: LinkEvent<FromReplica>) -> Option<I> {
        match event {
            LinkEvent::Message(message) => Some((self.input)(message)),
            // Messages may be lost at any time, and are asked for again: it does not matter with which link.
            LinkEvent::Opened(_) | LinkEvent::Closed => None,
        }
    }

    fn frame_bytes_max(&self) -> usize {
        limits::FROM_REPLICA.bytes.most
    }

    fn said(&self) -> Vec<u8> {
        hello()
    }

    fn admit(&self, peer: &LinkPeer) -> Result<(), String> {
        match greet(peer)? {
            NodeRole::Store(_) => Ok(()),
            NodeRole::Gateway(_) => Err("gateways have nothing to say to each other".into()),
        }
    }
}

/// Dials all that the directory knows.
pub(crate) fn dial_replicas<I: Send + 'static>(links: &Links<GatewayLinks<I>>, cluster: &Cluster) {
    for (replica, address) in &cluster.addresses {
        links.dial(&NodeRole::Store(*replica).name(), address.clone());
    }
}

/// The directory has changed: dials who is new, and tells of the shards and their groups.
pub(crate) fn follow<I: Send + 'static>(
    links: &Links<GatewayLinks<I>>,
    was: &Cluster,
    is: &Cluster,
    ended: impl Fn(Split),
    configured: impl Fn(Group),
) {
    for gone in was.addresses.keys().filter(|replica| !is.addresses.contains_key(replica)) {
        links.hang_up(&NodeRole::Store(*gone).name());
    }
    dial_replicas(links, is);
    is.shards.splits().cloned().for_each(ended);
    is.shards.groups().cloned().for_each(configured);
}
