//! A gateway's links to other data centres.
//!
//! Invariant: a link is with the data centre that its certificate names, which the configuration knows.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use iolite_causal::{FromCentre, LinkId, LinkInput, LinkOutput, LinkSide};
use iolite_host::{
    Codec, LinkEvent, LinkHandler, LinkNumber, LinkPeer, LinkSettings, Links, LinksError, Mailbox, Metrics, Stop,
};
use iolite_wire::limits;
use tokio::net::TcpListener;

use crate::FrontInput;
use crate::config::{CentreConfig, PeerConfig, centre_node, centre_of};
use crate::names::{hello, is_version_known};

/// Makes what happens on links with data centres inputs of the front.
#[derive(Clone, Debug)]
pub(crate) struct CentreLinks(Arc<CentreConfig>);

/// One direction of a link.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CentreCodec;

impl Codec for CentreCodec {
    type Incoming = FromCentre;
    type Outgoing = FromCentre;

    fn decode(&mut self, frame: &[u8]) -> Result<FromCentre, String> {
        FromCentre::decode(frame).map_err(|error| error.to_string())
    }

    fn encode(&mut self, message: &FromCentre) -> Result<Vec<u8>, String> {
        message.encode().map_err(|error| error.to_string())
    }
}

impl CentreLinks {
    fn peer(&self, peer: &LinkPeer) -> Option<&PeerConfig> {
        self.0.peers.get(&centre_of(&peer.name)?)
    }
}

impl LinkHandler for CentreLinks {
    type Codec = CentreCodec;
    type Input = FrontInput;

    fn codec(&self, _peer: &LinkPeer) -> CentreCodec {
        CentreCodec
    }

    fn input(&self, link: LinkNumber, event: LinkEvent<FromCentre>) -> Option<FrontInput> {
        let link = LinkId(link);
        Some(FrontInput::Centre(match event {
            LinkEvent::Opened(peer) => {
                let side = match peer.side {
                    iolite_host::LinkSide::Dialled => LinkSide::Dialled,
                    iolite_host::LinkSide::Accepted => LinkSide::Accepted,
                };
                LinkInput::Opened { link, peer: centre_of(&peer.name)?, side }
            }
            LinkEvent::Message(message) => LinkInput::Message { link, message },
            LinkEvent::Closed => LinkInput::Closed { link },
        }))
    }

    fn frame_bytes_max(&self) -> usize {
        limits::FROM_CENTRE.bytes.most
    }

    fn said(&self) -> Vec<u8> {
        hello()
    }

    fn admit(&self, peer: &LinkPeer) -> Result<(), String> {
        is_version_known(peer)?;
        let known = || format!("{} knows no data centre {}", self.0.name, peer.name);
        self.peer(peer).map(drop).ok_or_else(known)
    }

    fn delay(&self, peer: &LinkPeer) -> Duration {
        self.peer(peer).map(|peer| peer.delay).unwrap_or_default()
    }
}

/// Dials all peers, and listens if this gateway is to be reached.
///
/// # Errors
/// [`LinksError`].
pub(crate) fn link_centres(
    config: &CentreConfig,
    listener: Option<TcpListener>,
    mailbox: Mailbox<FrontInput>,
    metrics: &Metrics,
    stop: Stop,
) -> Result<Links<CentreLinks>, LinksError> {
    let settings = LinkSettings::new(centre_node(&config.name), config.security.clone());
    let links = Links::new(CentreLinks(Arc::new(config.clone())), mailbox, settings, metrics, stop)?;
    if let Some(listener) = listener {
        tokio::spawn(links.listen(listener)?);
    }
    let peers: &BTreeMap<_, _> = &config.peers;
    for (name, peer) in peers {
        links.dial(&centre_node(name), peer.address.clone());
    }
    Ok(links)
}

/// Does what the front has decided.
pub(crate) fn perform(links: &Links<CentreLinks>, output: &LinkOutput) {
    match output {
        LinkOutput::Send { link, message } => links.send(link.0, message),
        LinkOutput::Close { link, reason } => {
            tracing::warn!(%reason, "a link with another data centre is closed");
            links.close(link.0, reason);
        }
    }
}
