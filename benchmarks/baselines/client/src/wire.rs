//! A client's links to the nodes of a store, and who leads each shard.
//!
//! Invariant: a request is sent once; only one that was certainly not done is sent again, to another node.

use std::collections::BTreeMap;
use std::time::Duration;

use iolite_host::{
    Inbox, LinkEvent, LinkHandler, LinkNumber, LinkPeer, LinkSecurity, LinkSettings, Links, Metric, Metrics, NodeName,
    Shutdown, mailbox, random_seed,
};
use tokio::time::Instant;

use crate::cluster::{Cluster, ShardNumber, node_name};
use crate::codec::{FRAME_BYTES_MAX, OfClient};
use crate::messages::{Ask, Moved, Reply, Request, Tell};

/// Nobody of a shard answers in time: what was asked may have been done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("shard {} does not answer", shard.0)]
pub struct Unreachable {
    pub shard: ShardNumber,
}

/// What was exchanged with a node since it was last asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exchange {
    pub shard: ShardNumber,
    pub node: usize,
    pub messages: u64,
    pub bytes_up: u64,
    pub bytes_down: u64,
}

#[derive(Debug)]
enum Input {
    Link(LinkNumber, LinkEvent<Reply>),
}

#[derive(Clone)]
struct Handler;

pub(crate) struct Wire {
    cluster: Cluster,
    links: Links<Handler>,
    inbox: Inbox<Input>,
    nodes: BTreeMap<NodeName, Node>,
    /// Links that are open.
    open: BTreeMap<LinkNumber, NodeName>,
    /// The node of each shard that is believed to lead.
    leaders: Vec<usize>,
    replies: BTreeMap<u64, Tell>,
    next_request: u64,
    shutdown: Shutdown,
}

struct Node {
    shard: ShardNumber,
    number: usize,
    link: Option<LinkNumber>,
    sent: Metric,
    received: Metric,
    messages: u64,
    /// Of the counters above, when they were last told.
    told: (u64, u64),
}

/// A request on its way.
struct Pending {
    shard: ShardNumber,
    ask: Ask,
    sent: Option<(u64, LinkNumber)>,
    answer: Option<Result<Tell, Unreachable>>,
    not_before: Instant,
}

const INBOX_BYTES_MAX: usize = 64 << 20;
/// What a request may take with all its tries. Less than the driver's own limit.
const ANSWERS_WITHIN: Duration = Duration::from_secs(8);
/// Until another node is tried than one to which there is no link.
const CONNECTS_WITHIN: Duration = Duration::from_millis(1500);
/// Before a node is asked again that does not know who leads.
const PAUSE: Duration = Duration::from_millis(20);

impl LinkHandler for Handler {
    type Codec = OfClient;
    type Input = Input;

    fn codec(&self, _: &LinkPeer) -> OfClient {
        OfClient
    }

    fn input(&self, link: LinkNumber, event: LinkEvent<Reply>) -> Option<Input> {
        Some(Input::Link(link, event))
    }

    fn frame_bytes_max(&self) -> usize {
        FRAME_BYTES_MAX
    }
}

impl std::fmt::Debug for Wire {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Wire").field("open", &self.open).field("leaders", &self.leaders).finish()
    }
}

impl Wire {
    pub fn new(cluster: Cluster) -> Wire {
        let (metrics, shutdown) = (Metrics::default(), Shutdown::new());
        let (mailbox, inbox) = mailbox(INBOX_BYTES_MAX);
        let name = NodeName::new(&format!("client{:016x}", random_seed())).expect("it has the form of a name");
        let settings = LinkSettings::new(name, LinkSecurity::PlainOnLoopback);
        let links = Links::new(Handler, mailbox, settings, &metrics, shutdown.listen());
        let links = links.expect("without certificates none is wrong");
        let nodes = (0u32..).map(ShardNumber).zip(&cluster.shards).flat_map(|(shard, addresses)| {
            let metrics = &metrics;
            (0..addresses.len()).map(move |number| (node_name(shard, number), Node::new(shard, number, metrics)))
        });
        let (nodes, leaders) = (nodes.collect(), vec![0; cluster.shards.len()]);
        let (open, replies) = (BTreeMap::new(), BTreeMap::new());
        Wire { cluster, links, inbox, nodes, open, leaders, replies, next_request: 0, shutdown }
    }

    pub fn cluster(&self) -> &Cluster {
        &self.cluster
    }

    /// Asks the leader of a shard.
    pub async fn ask(&mut self, shard: ShardNumber, ask: Ask) -> Result<Tell, Unreachable> {
        self.ask_all(vec![(shard, ask)]).await.pop().expect("one answer to one request")
    }

    /// Asks until there is an answer that is sure: for what may be done twice.
    pub async fn ask_again(&mut self, shard: ShardNumber, ask: Ask) -> Result<Tell, Unreachable> {
        let deadline = Instant::now() + ANSWERS_WITHIN;
        loop {
            match self.ask(shard, ask.clone()).await {
                Ok(Tell::Unsure(())) | Err(Unreachable { .. }) if Instant::now() < deadline => {
                    tokio::time::sleep(PAUSE).await;
                }
                answer => return answer,
            }
        }
    }

    /// Asks the leaders of several shards at once.
    pub async fn ask_all(&mut self, asks: Vec<(ShardNumber, Ask)>) -> Vec<Result<Tell, Unreachable>> {
        let now = Instant::now();
        let pending = |(shard, ask)| Pending { shard, ask, sent: None, answer: None, not_before: now };
        let mut all: Vec<Pending> = asks.into_iter().map(pending).collect();
        let deadline = now + ANSWERS_WITHIN;
        let mut connecting = now;
        while all.iter().any(|one| one.answer.is_none()) && Instant::now() < deadline {
            all.iter_mut().for_each(|one| self.advance(one, &mut connecting));
            if all.iter().any(|one| one.answer.is_none()) {
                let wake = if all.iter().all(|one| one.sent.is_some()) { deadline } else { Instant::now() + PAUSE };
                self.events_until(wake).await;
            }
        }
        let unreachable = |shard| Err(Unreachable { shard });
        all.into_iter().map(|one| one.answer.unwrap_or_else(|| unreachable(one.shard))).collect()
    }

    /// Sends what has no answer, where there is a link.
    pub fn send(&mut self, shard: ShardNumber, ask: Ask) {
        let name = node_name(shard, self.leaders[shard.0 as usize]);
        if let Some(link) = self.nodes.get(&name).and_then(|node| node.link) {
            self.send_on(link, &name, ask);
        }
    }

    /// What was exchanged with every node since the last call.
    pub fn take_exchanges(&mut self) -> Vec<Exchange> {
        self.nodes.values_mut().filter_map(Node::take_exchange).collect()
    }

    fn advance(&mut self, one: &mut Pending, connecting: &mut Instant) {
        if one.answer.is_some() {
            return;
        }
        match one.sent {
            Some((id, link)) => match self.replies.remove(&id) {
                Some(Tell::Moved(Moved { leader })) => {
                    self.follow(one.shard, leader);
                    (one.sent, one.not_before) = (None, Instant::now() + leader.map_or(PAUSE, |_| Duration::ZERO));
                }
                Some(tell) => one.answer = Some(Ok(tell)),
                None if self.open.contains_key(&link) => {}
                None => {
                    self.follow(one.shard, None);
                    one.answer = Some(Err(Unreachable { shard: one.shard }));
                }
            },
            None if Instant::now() < one.not_before => {}
            None => one.sent = self.try_send(one.shard, &one.ask, connecting),
        }
    }

    /// Sends to the one that is believed to lead, once there is a link to it.
    fn try_send(&mut self, shard: ShardNumber, ask: &Ask, connecting: &mut Instant) -> Option<(u64, LinkNumber)> {
        let number = self.leaders[shard.0 as usize];
        let name = node_name(shard, number);
        if let Some(link) = self.nodes.get(&name).and_then(|node| node.link) {
            *connecting = Instant::now();
            return Some((self.send_on(link, &name, ask.clone()), link));
        }
        self.links.dial(&name, self.cluster.shards[shard.0 as usize][number].to_string());
        if connecting.elapsed() > CONNECTS_WITHIN {
            *connecting = Instant::now();
            self.follow(shard, None);
        }
        None
    }

    fn send_on(&mut self, link: LinkNumber, name: &NodeName, ask: Ask) -> u64 {
        self.next_request += 1;
        let id = self.next_request;
        self.links.send(link, &Request { id, ask: Some(ask) });
        if let Some(node) = self.nodes.get_mut(name) {
            node.messages += 1;
        }
        id
    }

    /// Believes in the one that was named, or else in the next.
    fn follow(&mut self, shard: ShardNumber, leader: Option<u32>) {
        let nodes = self.cluster.shards[shard.0 as usize].len();
        let believed = &mut self.leaders[shard.0 as usize];
        *believed = leader.map_or(*believed + 1, |leader| leader as usize) % nodes;
    }

    async fn events_until(&mut self, wake: Instant) {
        if let Ok(true) = tokio::time::timeout_at(wake, self.inbox.wait()).await {
            for Input::Link(link, event) in self.inbox.take() {
                match event {
                    LinkEvent::Opened(LinkPeer { name, .. }) => {
                        if let Some(node) = self.nodes.get_mut(&name) {
                            node.link = Some(link);
                            self.open.insert(link, name);
                        }
                    }
                    LinkEvent::Message(Reply { id, tell }) => {
                        if let Some(node) = self.open.get(&link).and_then(|name| self.nodes.get_mut(name)) {
                            node.messages += 1;
                        }
                        self.replies.extend(tell.map(|tell| (id, tell)));
                    }
                    LinkEvent::Closed => {
                        let node = self.open.remove(&link).and_then(|name| self.nodes.get_mut(&name));
                        if let Some(node) = node {
                            node.link = None;
                        }
                    }
                }
            }
        }
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        self.shutdown.begin();
    }
}

impl Node {
    fn new(shard: ShardNumber, number: usize, metrics: &Metrics) -> Node {
        let name = node_name(shard, number);
        // The counters of the links themselves, which give the same to whoever asks by the same name.
        let of = |metric| metrics.counter_of(metric, "", &[("peer", name.as_str())]);
        let (sent, received) = (of("iolite_link_sent_bytes_total"), of("iolite_link_received_bytes_total"));
        Node { shard, number, link: None, sent, received, messages: 0, told: (0, 0) }
    }

    fn take_exchange(&mut self) -> Option<Exchange> {
        let now = (self.sent.get(), self.received.get());
        let before = std::mem::replace(&mut self.told, now);
        let messages = std::mem::take(&mut self.messages);
        let (bytes_up, bytes_down) = (now.0 - before.0, now.1 - before.1);
        let is_any = messages + bytes_up + bytes_down > 0;
        is_any.then_some(Exchange { shard: self.shard, node: self.number, messages, bytes_up, bytes_down })
    }
}
