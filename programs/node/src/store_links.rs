//! A replica's links: which frames are which messages, and from whom each may come.
//!
//! Invariant: a message says that it is from the node that its link is with, which that node's certificate proves.

use iolite_host::{Codec, LinkEvent, LinkHandler, LinkNumber, LinkPeer};
use iolite_replication::node::{BetweenReplicas, FromReplica, ReplicaId, ToReplica};
use iolite_wire::limits;

use crate::StoreInput;
use crate::names::{NodeRole, greet, hello};

/// Makes what comes over a link an input of a store.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StoreLinks {
    pub own: ReplicaId,
}

/// One direction of a link with a gateway or with another replica.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StoreCodec {
    own: ReplicaId,
    /// None: it was not greeted, and no message comes.
    peer: Option<NodeRole>,
}

/// What a replica sends.
#[derive(Clone, Debug)]
pub(crate) enum FromStore {
    ToCoordinator(FromReplica),
    ToPeer(BetweenReplicas),
}

impl Codec for StoreCodec {
    type Incoming = StoreInput;
    type Outgoing = FromStore;

    fn decode(&mut self, frame: &[u8]) -> Result<StoreInput, String> {
        match self.peer {
            Some(NodeRole::Gateway(gateway)) => {
                let message = ToReplica::decode(frame).map_err(|error| error.to_string())?;
                if message.from != gateway {
                    return Err(format!("a message in the name of gateway {}", message.from.number()));
                }
                Ok(StoreInput::FromCoordinator(message))
            }
            Some(NodeRole::Store(replica)) => {
                let message = BetweenReplicas::decode(frame).map_err(|error| error.to_string())?;
                if message.from != replica {
                    return Err(format!("a message in the name of replica {}", message.from.0));
                }
                if message.to != self.own {
                    return Err(format!("a message for replica {}", message.to.0));
                }
                Ok(StoreInput::FromPeer(message))
            }
            None => Err("a message of nobody".into()),
        }
    }

    fn encode(&mut self, message: &FromStore) -> Result<Vec<u8>, String> {
        let mut bytes = Vec::new();
        self.encode_into(message, &mut bytes)?;
        Ok(bytes)
    }

    fn encode_into(&mut self, message: &FromStore, bytes: &mut Vec<u8>) -> Result<(), String> {
        let encoded = match message {
            FromStore::ToCoordinator(message) => message.encode_into(bytes),
            FromStore::ToPeer(message) => message.encode_into(bytes),
        };
        encoded.map_err(|error| error.to_string())
    }
}

impl LinkHandler for StoreLinks {
    type Codec = StoreCodec;
    type Input = StoreInput;

    fn codec(&self, peer: &LinkPeer) -> StoreCodec {
        StoreCodec { own: self.own, peer: NodeRole::of(&peer.name) }
    }

    fn input(&self, _link: LinkNumber, event: LinkEvent<StoreInput>) -> Option<StoreInput> {
        match event {
            LinkEvent::Message(input) => Some(input),
            // Messages may be lost at any time, and come again: it does not matter with which link.
            LinkEvent::Opened(_) | LinkEvent::Closed => None,
        }
    }

    fn frame_bytes_max(&self) -> usize {
        limits::TO_REPLICA.bytes.most.max(limits::BETWEEN_REPLICAS.bytes.most)
    }

    fn said(&self) -> Vec<u8> {
        hello()
    }

    fn admit(&self, peer: &LinkPeer) -> Result<(), String> {
        greet(peer).map(drop)
    }
}
