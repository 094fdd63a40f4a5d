//! A node with a certificate of the cluster's authority, which says whatever it is told to.

use std::time::Duration;

use iolite_host::{
    Authority, Codec, Inbox, LinkEvent, LinkHandler, LinkNumber, LinkPeer, LinkSecurity, LinkSettings, Links, Metrics,
    NodeName, Shutdown, TlsFiles, mailbox,
};
use iolite_values::{CoordinatorId, StoreIncarnation, Timestamp};
use iolite_wire::node::{Ask, Detail, Life, MessageId, NodesHello, ReplicaId, ShardId, Term, ToReplica, View};

use crate::support::local::{Local, PATIENCE};

/// No gateway of the cluster.
pub const GATEWAY: CoordinatorId = CoordinatorId::new(4000).expect("it is below the limit");
pub const GATEWAY_NAME: &str = "gateway-4000";

/// Messages that are bytes already.
#[derive(Clone)]
pub struct Raw;

impl Codec for Raw {
    type Incoming = Vec<u8>;
    type Outgoing = Vec<u8>;

    fn decode(&mut self, frame: &[u8]) -> Result<Vec<u8>, String> {
        Ok(frame.to_vec())
    }

    fn encode(&mut self, message: &Vec<u8>) -> Result<Vec<u8>, String> {
        Ok(message.clone())
    }
}

impl LinkHandler for Raw {
    type Codec = Raw;
    type Input = (LinkNumber, LinkEvent<Vec<u8>>);

    fn codec(&self, _peer: &LinkPeer) -> Raw {
        Raw
    }

    fn input(&self, link: LinkNumber, event: LinkEvent<Vec<u8>>) -> Option<(LinkNumber, LinkEvent<Vec<u8>>)> {
        Some((link, event))
    }

    fn frame_bytes_max(&self) -> usize {
        64 << 20
    }

    fn said(&self) -> Vec<u8> {
        NodesHello::OWN.encode().expect("it is small")
    }
}

/// What this gateway says of the cluster's only shard.
pub struct Says {
    store: StoreIncarnation,
    said: u64,
}

impl Says {
    pub fn new(store: StoreIncarnation) -> Says {
        Says { store, said: 0 }
    }

    pub fn plainly(&mut self, ask: Ask) -> ToReplica {
        self.said += 1;
        let id = MessageId { life: Life(7), number: self.said };
        let (store, view) = (Some(self.store), View::default());
        ToReplica { from: GATEWAY, term: Term(1), id, store, shard: ShardId(0), view, ask }
    }

    pub fn close(&mut self) -> ToReplica {
        let (through, cursor, settled) = (Timestamp::from_u64(1), Timestamp::ZERO, Timestamp::ZERO);
        self.plainly(Ask::Close { through, cursor, settled, detail: Detail::Whole })
    }
}

pub struct HostileNode {
    links: Links<Raw>,
    inbox: Inbox<(LinkNumber, LinkEvent<Vec<u8>>)>,
    victim: NodeName,
    _shutdown: Shutdown,
}

/// The certificate of a node, issued as `iolite certificate` does it.
pub fn issue(cluster: &Local, name: &str) -> TlsFiles {
    let folder = cluster.cluster.folder().join(format!("hostile-{name}"));
    let authority = Authority::open(&cluster.cluster.folder().join("authority")).expect("the cluster has one");
    let own = NodeName::new(name).expect("a name");
    authority.issue(&own, Duration::from_secs(86_400), &folder).expect("the folder can be written")
}

impl HostileNode {
    /// Links with one replica.
    pub async fn arrive(cluster: &Local, name: &str, victim: ReplicaId) -> HostileNode {
        let mut node = HostileNode::try_arrive(cluster, name, issue(cluster, name), victim);
        assert!(matches!(node.next().await, LinkEvent::Opened(_)));
        node
    }

    pub fn try_arrive(cluster: &Local, name: &str, files: TlsFiles, victim: ReplicaId) -> HostileNode {
        let shutdown = Shutdown::new();
        let (mailbox, inbox) = mailbox(64 << 20);
        let settings = LinkSettings::new(NodeName::new(name).expect("a name"), LinkSecurity::Tls(files));
        let links = Links::new(Raw, mailbox, settings, &Metrics::default(), shutdown.listen()).expect("certificates");
        let address = cluster.cluster.layout().expect("it is there").addresses[&victim].clone();
        let victim = NodeName::new(&format!("store-{}", victim.0)).expect("a name");
        links.dial(&victim, address);
        HostileNode { links, inbox, victim, _shutdown: shutdown }
    }

    pub fn say(&self, frame: Vec<u8>) {
        self.links.send_to(&self.victim, &frame);
    }

    pub async fn next(&mut self) -> LinkEvent<Vec<u8>> {
        assert!(tokio::time::timeout(PATIENCE, self.inbox.wait()).await.expect("something comes"));
        self.inbox.take().next().expect("one came").1
    }

    /// Says it, and waits until the link is closed for it and open again.
    pub async fn is_cut_off_by(&mut self, frame: Vec<u8>) {
        self.say(frame);
        while self.next().await != LinkEvent::Closed {}
        while !matches!(self.next().await, LinkEvent::Opened(_)) {}
    }
}
