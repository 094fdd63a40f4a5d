//! A gateway's links to other gateways, of whose devices it calls objects.
//!
//! Invariant: of two gateways the one with the lower number dials, so there is one link between them.

use std::net::SocketAddr;
use std::time::Duration;

use iolite_host::{
    BindError, Codec, LinkEvent, LinkHandler, LinkNumber, LinkPeer, LinkSecurity, LinkSettings, Links, LinksError,
    Mailbox, Metrics, Stop, bind,
};
use iolite_objects::{PeerEvent, PeerLink, ServerInput};
use iolite_values::{CoordinatorId, NodeId, NodeName};
use iolite_wire::limits;
use iolite_wire::objects::PeerMessage;

use crate::config::ObjectsConfig;
use crate::names::{NodeRole, greet, hello};
use crate::object_door::ObjectInput;

/// Makes what happens on links with other gateways inputs of the machine of objects.
#[derive(Clone, Debug)]
pub(crate) struct PeerLinks {
    own: CoordinatorId,
}

/// One direction of a link.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PeerCodec;

impl Codec for PeerCodec {
    type Incoming = PeerMessage;
    type Outgoing = PeerMessage;

    fn decode(&mut self, frame: &[u8]) -> Result<PeerMessage, String> {
        PeerMessage::decode(frame).map_err(|error| error.to_string())
    }

    fn encode(&mut self, message: &PeerMessage) -> Result<Vec<u8>, String> {
        message.encode().map_err(|error| error.to_string())
    }
}

impl LinkHandler for PeerLinks {
    type Codec = PeerCodec;
    type Input = ObjectInput;

    fn codec(&self, _peer: &LinkPeer) -> PeerCodec {
        PeerCodec
    }

    fn input(&self, link: LinkNumber, event: LinkEvent<PeerMessage>) -> Option<ObjectInput> {
        let event = match event {
            LinkEvent::Opened(peer) => PeerEvent::Opened(gateway_of(&peer).ok()?),
            LinkEvent::Message(message) => PeerEvent::Message(message),
            LinkEvent::Closed => PeerEvent::Closed,
        };
        Some(ObjectInput::Server(ServerInput::Peer(PeerLink(link), event)))
    }

    fn frame_bytes_max(&self) -> usize {
        limits::PEER.bytes.most
    }

    fn said(&self) -> Vec<u8> {
        hello()
    }

    fn admit(&self, peer: &LinkPeer) -> Result<(), String> {
        match gateway_of(peer)? {
            gateway if gateway == self.own => Err(format!("{} is this gateway's own name", peer.name)),
            _ => Ok(()),
        }
    }
}

fn gateway_of(peer: &LinkPeer) -> Result<CoordinatorId, String> {
    match greet(peer)? {
        NodeRole::Gateway(gateway) => Ok(gateway),
        NodeRole::Store(_) => Err("this is the address for gateways, and stores have no objects".into()),
    }
}

/// A gateway's way to all others. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Peers {
    own: CoordinatorId,
    /// Where the others find this one.
    pub address: String,
    links: Links<PeerLinks>,
}

/// Why a gateway has no links for objects. Each message says what to do.
#[derive(Debug, thiserror::Error)]
pub enum PeersError {
    #[error("the address of `listen` in [objects]: {0}")]
    Bind(#[from] BindError),
    #[error("the links of [objects]: {0}")]
    Links(#[from] LinksError),
}

/// Settings of a gateway's links for objects.
pub(crate) struct PeersSettings<'a> {
    pub own: CoordinatorId,
    pub objects: &'a ObjectsConfig,
    pub security: LinkSecurity,
    pub delay: Duration,
}

impl Peers {
    /// Listens. Nobody is dialled yet.
    ///
    /// # Errors
    /// [`PeersError`].
    pub async fn listen(
        settings: PeersSettings<'_>,
        mailbox: Mailbox<ObjectInput>,
        metrics: &Metrics,
        stop: Stop,
    ) -> Result<Peers, PeersError> {
        let PeersSettings { own, objects, security, delay } = settings;
        let listener = bind(objects.listen).await?;
        let listens: SocketAddr =
            listener.local_addr().map_err(|source| BindError::Io { address: objects.listen, source })?;
        let link_settings = LinkSettings { delay, ..LinkSettings::new(NodeRole::Gateway(own).name(), security) };
        let links = Links::new(PeerLinks { own }, mailbox, link_settings, metrics, stop)?;
        tokio::spawn(links.listen(listener)?);
        let address = objects.address.clone().unwrap_or_else(|| listens.to_string());
        Ok(Peers { own, address, links })
    }

    /// A gateway has this address: this one dials it, or waits to be dialled. False: it is this gateway itself.
    pub fn found(&self, node: NodeId, address: &str) -> bool {
        let NodeName::Server(gateway) = node.name else { return false };
        if self.own < gateway {
            self.links.dial(&NodeRole::Gateway(gateway).name(), address);
        }
        self.own != gateway
    }

    pub fn send(&self, link: PeerLink, message: &PeerMessage) {
        self.links.send(link.0, message);
    }
}

#[cfg(test)]
mod tests {
    use iolite_host::LinkSide;

    use super::*;

    fn admit(name: &str) -> Result<(), String> {
        let own = CoordinatorId::new(2).expect("a small number");
        let name = iolite_host::NodeName::new(name).expect("a name");
        PeerLinks { own }.admit(&LinkPeer { name, said: hello(), side: LinkSide::Accepted })
    }

    #[test]
    fn links_are_with_other_gateways_only() {
        assert_eq!(admit("gateway-1"), Ok(()));
        for (name, told) in [("gateway-2", "own name"), ("store-1", "stores have no objects"), ("guest", "neither")] {
            let problem = admit(name).expect_err(name);
            assert!(problem.contains(told), "{problem}");
        }
    }
}
