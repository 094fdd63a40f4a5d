//! Links between the nodes of a cluster: messages over TCP, with TLS on both sides. They know no protocol.
//!
//! Invariants:
//! - a link is opened once and closed once, and nothing of it comes before or after;
//! - what comes on one link comes in the order in which it was sent, whole, or not at all: a link may end at any message;
//! - sending never waits: what a peer cannot take is dropped and counted;
//! - a link is with the node that it is said to be with: each side has verified the other's certificate and name.
//!
//! Source: Iolite's own; docs/protocols/links.md.

mod alarm;
mod channel;
mod connections;
mod delivery;
mod dialler;
mod frames;
mod handshake;
mod hello;
mod identity;
mod life;
mod link;
mod listener;
mod node_name;
mod outbox;
mod refused;
mod registry;
mod settings;
mod shared;
mod traffic;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::net::TcpListener;
use tokio::sync::{Semaphore, watch};

use self::handshake::Terms;
use self::identity::{CertificateMetrics, Identity};
use self::registry::Registry;
use self::shared::Shared;
use self::traffic::Traffic;
use crate::open_files::SocketsOfNodes;
use crate::{Codec, Mailbox, Metrics, Stop, TlsFilesError};

pub use node_name::{NodeName, NodeNameError};
pub use settings::{LinkLimits, LinkSecurity, LinkSettings};

/// Names a link. Never used again in this process.
pub type LinkNumber = u64;

/// Which side connected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkSide {
    /// This node.
    Dialled,
    /// The peer.
    Accepted,
}

/// Who is at the other end of a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkPeer {
    pub name: NodeName,
    /// What its protocol had it say: [`LinkHandler::said`].
    pub said: Vec<u8>,
    pub side: LinkSide,
}

/// What happens to a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LinkEvent<M> {
    Opened(LinkPeer),
    Message(M),
    /// Messages that were sent on it may not have arrived.
    Closed,
}

/// What links are made with.
pub trait LinkHandler: Clone + Send + Sync + 'static {
    type Codec: Codec;
    type Input: Send + 'static;

    /// Of one direction of a link: one is asked for what is sent, another for what comes. What cannot be encoded is dropped.
    fn codec(&self, peer: &LinkPeer) -> Self::Codec;

    /// What the machine is told of an event, if it cares.
    fn input(&self, link: LinkNumber, event: LinkEvent<LinkIncoming<Self>>) -> Option<Self::Input>;

    /// Bytes of the largest frame that this node takes. A link on which a larger one comes is closed.
    fn frame_bytes_max(&self) -> usize;

    /// What this node says of itself at the beginning of a link, at most 4096 bytes. It is asked for each link.
    fn said(&self) -> Vec<u8> {
        Vec::new()
    }

    /// A delay for what is received from this peer, beside [`LinkSettings::delay`]. For measurements.
    fn delay(&self, peer: &LinkPeer) -> std::time::Duration {
        let _ = peer;
        std::time::Duration::ZERO
    }

    /// Whether a link with this peer is wanted, whose name was verified.
    ///
    /// # Errors
    /// Why not, for people, also those of the peer.
    fn admit(&self, peer: &LinkPeer) -> Result<(), String> {
        let _ = peer;
        Ok(())
    }
}

type LinkIncoming<H> = <<H as LinkHandler>::Codec as Codec>::Incoming;
type LinkOutgoing<H> = <<H as LinkHandler>::Codec as Codec>::Outgoing;

/// All links of a node. Cheap to clone.
///
/// A node listens, dials two peers, sends, and takes what comes from its inbox, as `drive` does for a machine:
///
/// ```
/// use iolite_host::{
///     Codec, LinkEvent, LinkHandler, LinkNumber, LinkPeer, LinkSecurity, LinkSettings, Links, Metrics, NodeName, Shutdown, bind,
///     mailbox,
/// };
///
/// /// Messages that are bytes already. A protocol's codec is of `iolite-wire`.
/// #[derive(Clone)]
/// struct Raw;
///
/// impl Codec for Raw {
///     type Incoming = Vec<u8>;
///     type Outgoing = Vec<u8>;
///     fn decode(&mut self, frame: &[u8]) -> Result<Vec<u8>, String> {
///         Ok(frame.to_vec())
///     }
///     fn encode(&mut self, message: &Vec<u8>) -> Result<Vec<u8>, String> {
///         Ok(message.clone())
///     }
/// }
///
/// /// The machine's input, of which links are one kind.
/// enum Input {
///     Link(LinkNumber, LinkEvent<Vec<u8>>),
/// }
///
/// impl LinkHandler for Raw {
///     type Codec = Raw;
///     type Input = Input;
///     fn codec(&self, _peer: &LinkPeer) -> Raw {
///         Raw
///     }
///     fn input(&self, link: LinkNumber, event: LinkEvent<Vec<u8>>) -> Option<Input> {
///         Some(Input::Link(link, event))
///     }
///     fn frame_bytes_max(&self) -> usize {
///         16 << 20
///     }
///     fn said(&self) -> Vec<u8> {
///         b"epoch 7".to_vec()
///     }
///     fn admit(&self, peer: &LinkPeer) -> Result<(), String> {
///         if peer.said == b"epoch 7" { Ok(()) } else { Err("it is of another epoch".into()) }
///     }
/// }
///
/// # async fn node(own: &str, shutdown: &Shutdown) -> (Links<Raw>, iolite_host::Inbox<Input>, std::net::SocketAddr) {
/// // In a cluster of several machines: LinkSecurity::Tls(TlsFiles::in_folder(folder)).
/// let settings = LinkSettings::new(NodeName::new(own).expect("a name"), LinkSecurity::PlainOnLoopback);
/// let (mailbox, inbox) = mailbox(64 << 20);
/// let links = Links::new(Raw, mailbox, settings, &Metrics::default(), shutdown.listen()).expect("good certificates");
/// let listener = bind(([127, 0, 0, 1], 0).into()).await.expect("a free port");
/// let address = listener.local_addr().expect("bound");
/// tokio::spawn(links.listen(listener).expect("a loopback address"));
/// # (links, inbox, address)
/// # }
/// # #[tokio::main]
/// # async fn main() {
/// # let shutdown = Shutdown::new();
/// # let (gateway, mut inbox, _) = node("gateway-0", &shutdown).await;
/// # let (replica, mut replicas, one) = node("store-0", &shutdown).await;
/// # let (_other, _others, two) = node("store-1", &shutdown).await;
/// // At the gateway, with the addresses of its configuration:
/// gateway.dial(&NodeName::new("store-0").expect("a name"), one.to_string());
/// gateway.dial(&NodeName::new("store-1").expect("a name"), two.to_string());
/// let mut open = 0;
/// while open < 2 && inbox.wait().await {
///     for Input::Link(link, event) in inbox.take() {
///         if let LinkEvent::Opened(peer) = event {
///             open += 1;
///             gateway.send(link, &format!("prepare, {}", peer.name).into_bytes());
///         }
///     }
/// }
///
/// // At a replica, which answers on the link that the message came on:
/// # let mut answered = false;
/// # while !answered && replicas.wait().await {
/// for Input::Link(link, event) in replicas.take() {
///     match event {
///         LinkEvent::Message(message) => {
///             assert_eq!(message, b"prepare, store-0");
///             replica.send(link, &b"prepared".to_vec());
///             # answered = true;
///         }
///         LinkEvent::Opened(_) | LinkEvent::Closed => {}
///     }
/// }
/// # }
/// # assert!(inbox.wait().await);
/// # let Input::Link(_, event) = inbox.take().next().expect("one came");
/// # assert_eq!(event, LinkEvent::Message(b"prepared".to_vec()));
/// # }
/// ```
pub struct Links<H: LinkHandler> {
    shared: Arc<Shared<H>>,
    /// Where the peers are that are dialled. Removing one ends its dialling.
    dialled: Arc<Mutex<BTreeMap<NodeName, watch::Sender<String>>>>,
}

/// Why links cannot be made as they are configured.
#[derive(Debug, thiserror::Error)]
pub enum LinksError {
    #[error(transparent)]
    Files(#[from] TlsFilesError),
    #[error(
        "{address} is not a loopback address, and links are configured to be plain TCP, which anybody on the network could read and \
         join: configure certificates, or listen on 127.0.0.1"
    )]
    PlainBeyondLoopback { address: SocketAddr },
    #[error("the listener has no address: {0}")]
    NoAddress(std::io::Error),
}

impl<H: LinkHandler> Clone for Links<H> {
    fn clone(&self) -> Links<H> {
        Links { shared: self.shared.clone(), dialled: self.dialled.clone() }
    }
}

impl<H: LinkHandler> Links<H> {
    /// Links that hand what comes to `mailbox`. None is made yet. To be made before clients are served, which then leave sockets to nodes.
    ///
    /// # Errors
    /// [`LinksError::Files`], when the node's certificate is none that others would accept.
    pub fn new(
        handler: H,
        mailbox: Mailbox<H::Input>,
        settings: LinkSettings,
        metrics: &Metrics,
        stop: Stop,
    ) -> Result<Links<H>, LinksError> {
        let LinkSettings { name, security, delay, limits } = settings;
        let identity = match security {
            LinkSecurity::PlainOnLoopback => None,
            LinkSecurity::Tls(files) => Some(Identity::load(name.clone(), files, CertificateMetrics::new(metrics))?),
        };
        let terms = Terms { name, handler, identity };
        let (registry, traffic) = (Registry::new(), Traffic::new(metrics));
        let sockets = SocketsOfNodes::reserve(limits.links_max, limits.handshakes_max);
        let room = Arc::new(Semaphore::new(sockets.links));
        let shared = Arc::new(Shared { terms, mailbox, limits, delay, sockets, room, registry, traffic, stop });
        Ok(Links { shared, dialled: Arc::default() })
    }

    /// Accepts links, until the node stops and they are closed. The future is to be spawned.
    ///
    /// # Errors
    /// [`LinksError::PlainBeyondLoopback`].
    pub fn listen(&self, listener: TcpListener) -> Result<impl Future<Output = ()> + Send + use<H>, LinksError> {
        let address = listener.local_addr().map_err(LinksError::NoAddress)?;
        if self.shared.terms.identity.is_none() && !address.ip().is_loopback() {
            return Err(LinksError::PlainBeyondLoopback { address });
        }
        Ok(listener::listen(self.shared.clone(), listener))
    }

    /// Keeps a link to a peer from now on, at `HOST:PORT`. If it is dialled already and the address is another one, the link there is closed.
    ///
    /// # Panics
    /// Outside of a runtime.
    pub fn dial(&self, peer: &NodeName, address: impl Into<String>) {
        let address = address.into();
        let mut dialled = self.dialled.lock().unwrap_or_else(PoisonError::into_inner);
        match dialled.get(peer) {
            Some(known) => {
                known.send_if_modified(|known| {
                    let is_other = *known != address;
                    *known = address;
                    is_other
                });
            }
            None => {
                let (sender, receiver) = watch::channel(address);
                dialled.insert(peer.clone(), sender);
                tokio::spawn(dialler::dial(self.shared.clone(), peer.clone(), receiver));
            }
        }
    }

    /// Closes the link to a peer that is dialled, and dials it no more.
    pub fn hang_up(&self, peer: &NodeName) {
        self.dialled.lock().unwrap_or_else(PoisonError::into_inner).remove(peer);
    }

    /// Sends on a link, if it is still there.
    pub fn send(&self, link: LinkNumber, message: &LinkOutgoing<H>) {
        match self.shared.registry.by_number(link) {
            Some(post) => post.send(link, message),
            None => self.shared.traffic.nowhere.add(1),
        }
    }

    /// Sends to a peer: on the link that this node dialled, or else on the one that the peer did.
    pub fn send_to(&self, peer: &NodeName, message: &LinkOutgoing<H>) {
        match self.shared.registry.by_name(peer) {
            Some((link, post)) => post.send(link, message),
            None if self.dialled.lock().unwrap_or_else(PoisonError::into_inner).contains_key(peer) => {
                self.shared.traffic.of_peer(peer).down.add(1);
            }
            None => self.shared.traffic.nowhere.add(1),
        }
    }

    /// Closes a link, behind what waits to be sent on it, with a sentence for the people of the other side. If this node dials the peer, it
    /// does so again.
    pub fn close(&self, link: LinkNumber, goodbye: &str) {
        if let Some(post) = self.shared.registry.by_number(link) {
            post.outbox.close(goodbye);
        }
    }
}

#[cfg(test)]
mod tests;
