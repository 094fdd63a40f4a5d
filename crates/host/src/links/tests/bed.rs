//! What the tests of links are made with: nodes whose messages are bytes.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use tokio::net::TcpListener;

use super::super::*;
use crate::{Authority, Inbox, Shutdown, TlsFiles, mailbox, random_id};

/// How long anything may take on a machine that does much else.
pub const SOON: Duration = Duration::from_secs(30);

#[derive(Clone)]
pub struct Bytes {
    pub said: Vec<u8>,
    /// Why nobody is admitted.
    pub refuses: Option<&'static str>,
    pub frame_bytes_max: usize,
}

pub type Event = (LinkNumber, LinkEvent<Vec<u8>>);

impl Default for Bytes {
    fn default() -> Bytes {
        Bytes { said: Vec::new(), refuses: None, frame_bytes_max: 1 << 20 }
    }
}

impl Codec for Bytes {
    type Incoming = Vec<u8>;
    type Outgoing = Vec<u8>;

    fn decode(&mut self, frame: &[u8]) -> Result<Vec<u8>, String> {
        if frame == b"garbled" { Err("it is garbled".into()) } else { Ok(frame.to_vec()) }
    }

    fn encode(&mut self, message: &Vec<u8>) -> Result<Vec<u8>, String> {
        Ok(message.clone())
    }

    fn encode_into(&mut self, message: &Vec<u8>, bytes: &mut Vec<u8>) -> Result<(), String> {
        bytes.extend_from_slice(message);
        Ok(())
    }
}

impl LinkHandler for Bytes {
    type Codec = Bytes;
    type Input = Event;

    fn codec(&self, _peer: &LinkPeer) -> Bytes {
        self.clone()
    }

    fn input(&self, link: LinkNumber, event: LinkEvent<Vec<u8>>) -> Option<Event> {
        Some((link, event))
    }

    fn frame_bytes_max(&self) -> usize {
        self.frame_bytes_max
    }

    fn said(&self) -> Vec<u8> {
        self.said.clone()
    }

    fn admit(&self, _peer: &LinkPeer) -> Result<(), String> {
        self.refuses.map_or(Ok(()), |reason| Err(reason.into()))
    }
}

/// How a node is to be.
pub struct Wish {
    pub settings: LinkSettings,
    pub handler: Bytes,
    pub inbox_bytes_max: usize,
}

pub struct TestNode {
    pub links: Links<Bytes>,
    pub inbox: Inbox<Event>,
    pub metrics: Metrics,
    pub shutdown: Shutdown,
    pub address: SocketAddr,
    pub listening: tokio::task::JoinHandle<()>,
    come: VecDeque<Event>,
}

pub fn name(name: &str) -> NodeName {
    NodeName::new(name).expect("a name")
}

pub fn plain(own: &str) -> Wish {
    wish(own, LinkSecurity::PlainOnLoopback)
}

pub fn wish(own: &str, security: LinkSecurity) -> Wish {
    let mut settings = LinkSettings::new(name(own), security);
    // What is unreachable for a moment is tried again soon.
    settings.limits.retry_last = Duration::from_millis(100);
    Wish { settings, handler: Bytes::default(), inbox_bytes_max: 64 << 20 }
}

impl Wish {
    pub async fn start(self) -> TestNode {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        self.start_on(listener)
    }

    pub fn start_on(self, listener: TcpListener) -> TestNode {
        let address = listener.local_addr().expect("bound");
        let (mailbox, inbox) = mailbox(self.inbox_bytes_max);
        let (metrics, shutdown) = (Metrics::default(), Shutdown::new());
        let links = Links::new(self.handler, mailbox, self.settings, &metrics, shutdown.listen()).expect("good files");
        let listening = tokio::spawn(links.listen(listener).expect("loopback"));
        TestNode { links, inbox, metrics, shutdown, address, listening, come: VecDeque::new() }
    }
}

impl TestNode {
    pub async fn next(&mut self) -> Event {
        while self.come.is_empty() {
            assert!(tokio::time::timeout(SOON, self.inbox.wait()).await.expect("something comes"));
            self.come.extend(self.inbox.take());
        }
        self.come.pop_front().expect("something came")
    }

    /// Waits for a link with that peer.
    pub async fn opened(&mut self, from: &str) -> (LinkNumber, LinkPeer) {
        match self.next().await {
            (link, LinkEvent::Opened(peer)) if peer.name.as_str() == from => (link, peer),
            other => panic!("no link with {from}, but {other:?}"),
        }
    }

    pub async fn message(&mut self, from: LinkNumber) -> Vec<u8> {
        match self.next().await {
            (link, LinkEvent::Message(message)) if link == from => message,
            other => panic!("no message on {from}, but {other:?}"),
        }
    }

    pub async fn closed(&mut self, closed: LinkNumber) {
        assert_eq!(self.next().await, (closed, LinkEvent::Closed));
    }

    pub fn dial(&self, peer: &str, node: &TestNode) {
        self.links.dial(&name(peer), node.address.to_string());
    }

    /// What a metric shows, with its labels.
    pub fn metric(&self, metric: &str) -> u64 {
        let text = self.metrics.render();
        let line = text.lines().find_map(|line| line.strip_prefix(metric)?.strip_prefix(' '));
        line.map_or(0, |value| value.parse().expect("a number"))
    }

    pub async fn until_metric(&self, metric: &str, least: u64) {
        let reached = async {
            while self.metric(metric) < least {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        if tokio::time::timeout(SOON, reached).await.is_err() {
            panic!("{metric} does not reach {least}:\n{}", self.metrics.render());
        }
    }

    pub async fn until_refused(&self, side: &str, reason: &str) {
        self.until_metric(&format!("iolite_links_refused_total{{side=\"{side}\",reason=\"{reason}\"}}"), 1).await;
    }

    /// Shows that messages come through both ways on a link between the two, now.
    pub async fn exchange(&mut self, link: LinkNumber, other: &mut TestNode, others: LinkNumber) {
        self.links.send(link, &b"there".to_vec());
        assert_eq!(other.message(others).await, b"there");
        other.links.send(others, &b"and back".to_vec());
        assert_eq!(self.message(link).await, b"and back");
    }
}

/// A folder that is removed with the test.
pub struct Folder(pub PathBuf);

impl Folder {
    pub fn new() -> Folder {
        let folder = std::env::temp_dir().join(format!("iolite-links-{:032x}", random_id()));
        std::fs::create_dir(&folder).expect("a temporary folder");
        Folder(folder)
    }

    pub fn authority(&self) -> Authority {
        Authority::create(&self.0.join("authority")).expect("it can be made")
    }

    /// Certificates for a node of that name.
    pub fn issue(&self, authority: &Authority, node: &str) -> TlsFiles {
        authority.issue(&name(node), Authority::NODE_VALID, &self.0.join(node)).expect("it can be issued")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Two nodes and a link from the first to the second, in the numbers of both.
pub async fn linked(one: Wish, other: Wish) -> ((TestNode, LinkNumber), (TestNode, LinkNumber)) {
    let (one_name, other_name) = (one.settings.name.to_string(), other.settings.name.to_string());
    let (mut one, mut other) = (one.start().await, other.start().await);
    one.dial(&other_name, &other);
    let (link, _) = one.opened(&other_name).await;
    let (others, _) = other.opened(&one_name).await;
    ((one, link), (other, others))
}
