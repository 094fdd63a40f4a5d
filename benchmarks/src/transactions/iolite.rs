//! Iolite: replicas as processes of `iolite serve`, and one coordinator for all clients in this process, as in a gateway; or several.
//!
//! What it promises: strict serializability. Reads of a transaction are at one resolved timestamp, from the nearest replica; a commit validates
//! them, and a transaction that only reads is validated without leaving anything behind.

mod session;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use iolite_cluster::{ClusterShape as Shape, LocalCluster, LocalNode, NodeState, Ports};
use iolite_host::{Clock, LinkSecurity, Metrics};
use iolite_node::config::{Cluster, DurabilityWord};
use iolite_node::{Directory, NodeRole, StoreClient, StoreClientSettings};
use iolite_replication::node::ReplicaId;
use iolite_values::CoordinatorId;

use super::options::ClusterShape;
use super::system::{About, Detours, Setup, System};
use crate::accounting::{Node, Traffic, TrafficCounts};
use crate::arguments::Durability;
use crate::cluster::{BETWEEN_SERVERS, ClusterDirectory, Ending, Links, Runner, ServerProcess, program_beside};

pub use session::IoliteSession;

pub struct Iolite {
    // Servers end before their folder is removed.
    servers: Vec<ServerProcess>,
    cluster: LocalCluster,
    /// As this process sees it.
    view: Cluster,
    coordinators: Vec<StoreClient>,
    /// Sessions that were opened.
    sessions: AtomicUsize,
    metrics: Metrics,
    counted: Vec<Counted>,
    between: Vec<SocketAddr>,
    setup: Setup,
    _links: Links,
    _directory: ClusterDirectory,
}

/// What was said to one replica, up to now.
struct Counted {
    name: String,
    traffic: Arc<Traffic>,
}

const STARTS_WITHIN: Duration = Duration::from_secs(60);

impl System for Iolite {
    type Session = IoliteSession;

    async fn start(setup: Setup) -> anyhow::Result<Iolite> {
        let ClusterShape { shards, replicas } = setup.cluster;
        let directory = ClusterDirectory::new(setup.durability)?;
        let mut links = Links::with_delay(setup.delay)?;
        let shape = Shape {
            shards: shards.into(),
            replicas: replicas.into(),
            ports: Ports::Free,
            plain: true,
            splits: session::splits(shards)?,
            durability: match setup.durability {
                Durability::Fsync => DurabilityWord::Fsync,
                Durability::Memory => DurabilityWord::Memory,
            },
            ..Shape::default()
        };
        let cluster = LocalCluster::create(&directory.path().join("cluster"), &shape)?;
        let mut view = cluster.layout()?;
        let between = wire(&cluster, &mut view, &mut links).await?;
        let metrics = Metrics::default();
        let servers = start_servers(&cluster).await?;
        let coordinators = open_all(&view, &metrics, &setup)?;
        let stores = cluster.stores().map(|node| Counted { name: node.role.to_string(), traffic: Arc::default() });
        let counted = stores.collect();
        let (_links, _directory) = (links, directory);
        let sessions = AtomicUsize::new(0);
        Ok(Iolite {
            servers,
            cluster,
            view,
            coordinators,
            sessions,
            metrics,
            counted,
            between,
            setup,
            _links,
            _directory,
        })
    }

    fn about(&self) -> About {
        About {
            name: "iolite",
            copies: u64::from(self.setup.cluster.replicas / 2 + 1),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            isolation: "strictly serializable",
            setting: match self.setup.durability {
                Durability::Fsync => "its default: every vote synced by each replica before it is given",
                Durability::Memory => "class memory, in /dev/shm",
            },
        }
    }

    fn nodes(&self) -> Vec<Node> {
        let servers = self.servers.iter().zip(&self.counted).filter(|(server, _)| server.pid().exists());
        servers.map(|(server, counted)| counted.node(server, &self.metrics)).collect()
    }

    fn between(&self) -> Vec<SocketAddr> {
        self.between.clone()
    }

    fn detours(&self) -> Option<Detours> {
        let tallies = self.coordinators.iter().map(StoreClient::tally);
        Some(tallies.fold(Detours::default(), |sum, tally| Detours {
            proposed_again: sum.proposed_again + tally.proposed_again,
            slow_paths: sum.slow_paths + tally.slow_paths,
        }))
    }

    async fn settle(&mut self) -> anyhow::Result<()> {
        // Transactions read what is resolved, which follows commits by a moment: all that was loaded is to be there.
        for coordinator in &self.coordinators {
            session::everything_until_now(coordinator).await?;
        }
        let Setup { cluster, down, .. } = self.setup;
        // Not the first, which is the nearest to read from.
        let of_shards = self.servers.chunks_mut(usize::from(cluster.replicas));
        of_shards.flat_map(|shard| shard.iter_mut().rev().take(usize::from(down))).try_for_each(ServerProcess::kill)
    }

    async fn connect(&self) -> anyhow::Result<IoliteSession> {
        let next = self.sessions.fetch_add(1, Ordering::Relaxed) % self.coordinators.len();
        let coordinator = &self.coordinators[next];
        let ready = tokio::time::timeout(STARTS_WITHIN, coordinator.standing()).await;
        ready.context("Iolite does not get ready")??;
        Ok(IoliteSession::new(coordinator.clone()))
    }

    async fn restart(&mut self) -> anyhow::Result<()> {
        self.servers.iter_mut().try_for_each(ServerProcess::kill)?;
        self.servers.clear();
        self.servers = start_servers(&self.cluster).await?;
        // Others, which have seen nothing.
        self.coordinators = open_all(&self.view, &self.metrics, &self.setup)?;
        Ok(())
    }
}

/// Has replicas listen to each other at an address of their own, so that their sockets can be told from clients', and puts the delay on every
/// way. Returns what replicas reach each other at.
async fn wire(cluster: &LocalCluster, view: &mut Cluster, links: &mut Links) -> anyhow::Result<Vec<SocketAddr>> {
    let mut for_peers = BTreeMap::new();
    let mut listen = BTreeMap::new();
    for (replica, address) in &mut view.addresses {
        let own: SocketAddr = address.parse()?;
        let apart = SocketAddr::new(BETWEEN_SERVERS, own.port());
        listen.insert(*replica, vec![own.to_string(), apart.to_string()]);
        for_peers.insert(*replica, links.to(apart).await?);
        *address = links.to(own).await?.to_string();
    }
    let seen: BTreeMap<ReplicaId, String> = for_peers.iter().map(|(id, address)| (*id, address.to_string())).collect();
    for node in cluster.stores() {
        let NodeRole::Store(id) = node.role else { continue };
        cluster.set_view(node, &seen)?;
        let own = listen.remove(&id).context("every store is in the cluster's file")?;
        node.edit(|file| {
            if let Some(store) = &mut file.store {
                store.listen = own;
            }
        })?;
    }
    Ok(for_peers.into_values().collect())
}

async fn start_servers(cluster: &LocalCluster) -> anyhow::Result<Vec<ServerProcess>> {
    let program = program_beside("iolite")?;
    let mut servers = Vec::new();
    for node in cluster.stores() {
        let mut command = Runner::Same.command(&program);
        command.args(["serve", "--config"]).arg(node.config());
        servers.push(ServerProcess::start(command, Ending::Kill, &node.log())?);
    }
    let begun = Instant::now();
    // Not whether they are ready, which a restarted replica is only when a coordinator has told it where the feed stands.
    let is_up = |node: &LocalNode| node.state().map(|state| !matches!(state, NodeState::Stopped));
    while !cluster.stores().map(is_up).collect::<Result<Vec<bool>, _>>()?.into_iter().all(|is_up| is_up) {
        servers.iter_mut().try_for_each(ServerProcess::is_alive)?;
        if begun.elapsed() > STARTS_WITHIN {
            bail!("Iolite's replicas do not start");
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    ensure!(!servers.is_empty(), "a cluster has replicas");
    Ok(servers)
}

fn open_all(view: &Cluster, metrics: &Metrics, setup: &Setup) -> anyhow::Result<Vec<StoreClient>> {
    let last = setup.coordinators.saturating_sub(1).max(1);
    let coordinator = |number: u16| {
        let ahead = setup.skew * u32::from(number) / u32::from(last);
        open(view, metrics, CoordinatorId::new(number).context("coordinators are few")?, ahead)
    };
    (0..setup.coordinators).map(coordinator).collect()
}

fn open(view: &Cluster, metrics: &Metrics, id: CoordinatorId, ahead: Duration) -> anyhow::Result<StoreClient> {
    // A few for as long as the process runs.
    let shift: &AtomicI64 = Box::leak(Box::new(AtomicI64::new(i64::try_from(ahead.as_micros())?)));
    Ok(StoreClient::open(StoreClientSettings {
        directory: Directory::fixed(view.clone()),
        id,
        security: LinkSecurity::PlainOnLoopback,
        // It is on the way to the replicas.
        delay: Duration::ZERO,
        clock: Clock::shifted(shift),
        metrics: metrics.clone(),
    })?)
}

impl Counted {
    /// Brings the counts up to what the links have counted.
    fn node(&self, server: &ServerProcess, metrics: &Metrics) -> Node {
        let of = |name| metrics.counter_of(name, "", &[("peer", &self.name)]).get();
        let messages = of("iolite_link_messages_sent_total") + of("iolite_link_messages_received_total");
        let now = TrafficCounts {
            messages,
            bytes_up: of("iolite_link_sent_bytes_total"),
            bytes_down: of("iolite_link_received_bytes_total"),
        };
        let new = now - self.traffic.counts();
        self.traffic.carried(new.messages, new.bytes_up, new.bytes_down);
        Node { name: self.name.clone(), root: server.pid(), traffic: self.traffic.clone() }
    }
}
