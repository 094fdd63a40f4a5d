//! What all links of a node have in common.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;

use super::channel::Channel;
use super::delivery::{Batch, Delivery};
use super::frames::Received;
use super::handshake::{Agreed, Terms};
use super::life::Life;
use super::link::{End, Link, Reading, Writing};
use super::outbox::Outbox;
use super::registry::{Post, Registry};
use super::traffic::Traffic;
use super::{LinkEvent, LinkHandler, LinkLimits, LinkNumber, LinkPeer};
use crate::open_files::SocketsOfNodes;
use crate::{Mailbox, Stop};

pub(crate) struct Shared<H: LinkHandler> {
    pub terms: Terms<H>,
    pub mailbox: Mailbox<H::Input>,
    pub limits: LinkLimits,
    pub delay: Duration,
    pub sockets: SocketsOfNodes,
    /// For links that others dial.
    pub room: Arc<Semaphore>,
    pub registry: Registry<H>,
    pub traffic: Traffic,
    pub stop: Stop,
}

/// A link that is open, and is about to be served.
pub(crate) struct OpenLink<H: LinkHandler> {
    /// Where messages to it go.
    pub post: Arc<Post<H>>,
    number: LinkNumber,
    channel: Channel,
    peer: LinkPeer,
}

impl<H: LinkHandler> Shared<H> {
    /// Opens a link that both sides agreed to: from here on messages are taken for it.
    pub fn open(&self, agreed: Agreed) -> OpenLink<H> {
        let Agreed { channel, peer, frame_bytes_max } = agreed;
        let codec = self.terms.handler.codec(&peer);
        let outbox = Outbox::new(codec, self.limits.outbox_bytes_max, frame_bytes_max);
        let post = Arc::new(Post { outbox, traffic: self.traffic.of_peer(&peer.name) });
        let number = self.registry.open(&peer, post.clone());
        OpenLink { post, number, channel, peer }
    }

    /// Serves a link from its first event to its last.
    pub async fn run(&self, open: OpenLink<H>) -> End {
        let OpenLink { post, number, channel, peer } = open;
        let handler = self.terms.handler.clone();
        let opened = handler.input(number, LinkEvent::Opened(peer.clone()));
        let mut stop = self.stop.clone();
        // What the peer says is not small, and it could come again and again: so it waits for room as messages do.
        tokio::select! {
            biased;
            () = stop.wait() => {
                self.registry.closed(&peer, number);
                return End::Stopped;
            }
            () = self.tell_opened(&peer, opened) => {}
        }
        self.traffic.open(peer.side).add(1);
        let delay = self.delay + handler.delay(&peer);
        let mut link = Link {
            number,
            decoder: handler.codec(&peer),
            received: Received::new(handler.frame_bytes_max()),
            handler,
            channel,
            delivery: Delivery::new(self.mailbox.clone(), delay),
            batch: Batch::new(),
            post,
            writing: Writing::default(),
            reading: Reading::Open,
            life: Life::new(self.limits.keep_alive_after, self.limits.silence_max),
        };
        let end = link.run(self.stop.clone()).await;
        self.registry.closed(&peer, number);
        link.abandon();
        self.traffic.open(peer.side).subtract(1);
        link.finish(self.stop.clone()).await;
        if let Some(closed) = self.terms.handler.input(number, LinkEvent::Closed) {
            self.mailbox.send(closed);
        }
        end
    }

    async fn tell_opened(&self, peer: &LinkPeer, opened: Option<H::Input>) {
        if let Some(opened) = opened {
            self.mailbox.send_sized(peer.said.len(), opened).await;
        }
    }
}
