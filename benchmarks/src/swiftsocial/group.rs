//! Several data centres as processes of this machine, with a delay on every link between them and to their clients.
//!
//! Invariant: a client's link has its whole round trip, whichever process of the data centre it leads to.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use iolite_cluster::{CentresShape, ClusterShape, LocalCentres, LocalCluster, LocalNode, Ports};
use iolite_node::NodeRole;
use iolite_node::config::DurabilityWord;

use super::cloud::CloudProcess;
use crate::accounting::Pid;
use crate::arguments::Durability;
use crate::child::Address;
use crate::cluster::{ClusterDirectory, Gate, Links, ServerProcess};
use crate::front::start_server;
use crate::metrics;

/// Taken down when it is dropped.
pub struct Group {
    // Processes end before the folder of their data is removed.
    centres: Vec<Centre>,
    made: LocalCentres,
    /// All links of the data centre that fails lead through it.
    gate: Option<Gate>,
    _links: Vec<Links>,
    data: ClusterDirectory,
}

/// A gateway, a replica, and perhaps a server process that runs transactions for clients.
struct Centre {
    near: Address,
    /// Where its processes tell of themselves.
    metrics: Vec<SocketAddr>,
    cloud: Option<CloudProcess>,
    /// In the order of the cluster's nodes: the replica, then the gateway.
    servers: Vec<ServerProcess>,
    /// The gateway, or the server process if there is one, behind each round trip of clients.
    far: Vec<SocketAddr>,
}

/// Bytes since the processes of a group began, of all of them together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bytes {
    /// Sent from data centres to others.
    pub between: u64,
    /// Written to journals, without checkpoints.
    pub journaled: u64,
}

/// Memory of one data centre, and what its store keeps of clients.
#[derive(Clone, Copy, Debug, Default)]
pub struct Memory {
    /// Resident bytes of its gateway, and of its replica.
    pub gateway: u64,
    pub store: u64,
    /// Clients that ever came.
    pub clients: f64,
    /// Outcomes that are kept until clients acknowledge them.
    pub outcomes: f64,
}

/// A group as it is started.
#[derive(Clone, Debug)]
pub struct GroupSetup {
    pub centres: usize,
    pub k: usize,
    pub durability: Durability,
    pub centre_rtt: Duration,
    pub client_rtts: Vec<Duration>,
    /// Rows that a server process in each data centre caches for a connection. None: clients reach the gateways themselves.
    pub cloud_rows: Option<u32>,
    /// The data centre that fails.
    pub failing: Option<usize>,
}

/// Names of data centres, where one is called by its name.
pub const NAMES: [&str; 7] = ["eu", "us", "asia", "africa", "brazil", "india", "australia"];

const STARTS_WITHIN: Duration = Duration::from_secs(60);
const LOOK_EVERY: Duration = Duration::from_millis(20);

impl Group {
    /// Servers die with the thread that calls this.
    ///
    /// # Errors
    /// When a process does not start.
    pub async fn start(setup: &GroupSetup) -> anyhow::Result<Group> {
        let data = ClusterDirectory::new(setup.durability)?;
        let made = LocalCentres::create(&data.path().join("group"), &setup.shape())?;
        let gate = setup.failing.map(|_| Gate::open()).transpose()?;
        if let (Some(place), Some(gate)) = (setup.failing, &gate) {
            lead_peers_through(gate, &made, place).await?;
        }
        let mut links: Vec<Links> =
            setup.client_rtts.iter().map(|rtt| Links::with_delay(*rtt)).collect::<anyhow::Result<_>>()?;
        let mut centres = Vec::new();
        for (_, cluster) in made.centres() {
            let servers = start_servers(cluster.nodes())?;
            let gateway = gateway_of(cluster)?;
            let near = Address { url: format!("ws://{gateway}/sync"), token: cluster.token()? };
            let metrics = cluster.nodes().iter().filter_map(|node| node.address).collect();
            centres.push(Centre { near, metrics, cloud: None, servers, far: Vec::new() });
        }
        wait_until_ready(&made, &mut centres).await?;
        for (place, (centre, (_, cluster))) in centres.iter_mut().zip(made.centres()).enumerate() {
            centre.cloud = setup.cloud_rows.map(|rows| CloudProcess::start(&centre.near, rows)).transpose()?;
            let target = match &centre.cloud {
                Some(cloud) => cloud.address,
                None => gateway_of(cluster)?,
            };
            let gate = gate.as_ref().filter(|_| setup.failing == Some(place));
            for links in &mut links {
                let far = links.to(target).await?;
                centre.far.push(match gate {
                    Some(gate) => gate.to(far).await?,
                    None => far,
                });
            }
        }
        Ok(Group { centres, made, gate, _links: links, data })
    }

    /// The gateway of each data centre, for who is next to it and not measured.
    pub fn nears(&self) -> impl Iterator<Item = &Address> {
        self.centres.iter().map(|centre| &centre.near)
    }

    /// Where clients of one of the round trips reach a data centre, by numbers.
    pub fn far(&self, centre: usize, rtt: usize) -> SocketAddr {
        self.centres[centre].far[rtt]
    }

    /// The same, of clients of the gateway.
    pub fn far_gateway(&self, centre: usize, rtt: usize) -> Address {
        let token = self.centres[centre].near.token.clone();
        Address { url: format!("ws://{}/sync", self.far(centre, rtt)), token }
    }

    /// Cuts or heals all links of the data centre that fails, to clients and to other data centres.
    pub fn set_cut(&self, is_cut: bool) {
        match &self.gate {
            Some(gate) if is_cut => gate.cut(),
            Some(gate) => gate.heal(),
            None => {}
        }
    }

    /// SIGKILL for all processes of a data centre.
    ///
    /// # Errors
    /// When one does not end.
    pub fn kill(&mut self, centre: usize) -> anyhow::Result<()> {
        let servers = &mut self.centres[centre].servers;
        servers.iter().flat_map(|server| server.pid().tree()).for_each(Pid::kill);
        servers.iter_mut().try_for_each(ServerProcess::kill)
    }

    /// Starts them again on their data, and returns at once. To be called by the thread that started the group.
    ///
    /// # Errors
    /// When a process does not start.
    pub fn bring_back(&mut self, centre: usize) -> anyhow::Result<()> {
        self.centres[centre].servers = start_servers(self.made.centres()[centre].1.nodes())?;
        Ok(())
    }

    /// # Errors
    /// When a data centre does not get ready.
    pub async fn wait_until_ready(&mut self) -> anyhow::Result<()> {
        wait_until_ready(&self.made, &mut self.centres).await
    }

    /// A folder on the same disk, that is removed with the group.
    ///
    /// # Errors
    /// When it is there.
    pub fn folder(&self, name: &str) -> anyhow::Result<std::path::PathBuf> {
        self.data.folder(name, None)
    }

    /// # Errors
    /// When a process does not tell.
    pub fn bytes(&self) -> anyhow::Result<Bytes> {
        let mut bytes = Bytes::default();
        for at in self.centres.iter().flat_map(|centre| &centre.metrics) {
            bytes.add(&metrics::get(*at, "/metrics")?);
        }
        Ok(bytes)
    }

    /// # Errors
    /// When a process does not tell.
    pub fn memory(&self) -> anyhow::Result<Vec<Memory>> {
        let of = |(centre, (_, cluster)): (&Centre, &(_, LocalCluster))| {
            let mut memory = Memory::default();
            for (node, server) in cluster.nodes().iter().zip(&centre.servers) {
                let resident: u64 = server.pid().tree().into_iter().map(Pid::resident_bytes).sum();
                match node.role {
                    NodeRole::Gateway(_) => memory.gateway += resident,
                    NodeRole::Store(_) => {
                        memory.store += resident;
                        let told = metrics::get(node.address.context("a replica tells of itself")?, "/metrics")?;
                        let number = |name: &str| metrics::number(&told, name).context("a replica counts clients");
                        memory.clients += number("iolite_replica_clients")?;
                        memory.outcomes += number("iolite_replica_completions")?;
                    }
                }
            }
            Ok(memory)
        };
        self.centres.iter().zip(self.made.centres()).map(of).collect()
    }

    /// The processor time of all processes of each data centre.
    pub fn cpu(&self) -> Vec<Duration> {
        let of = |centre: &Centre| {
            let servers = centre.servers.iter().map(ServerProcess::pid);
            servers.chain(centre.cloud.as_ref().map(CloudProcess::pid)).map(Pid::tree_cpu).sum()
        };
        self.centres.iter().map(of).collect()
    }
}

impl Memory {
    pub fn resident(&self) -> u64 {
        self.gateway + self.store
    }
}

impl GroupSetup {
    fn shape(&self) -> CentresShape {
        let durability = match self.durability {
            Durability::Fsync => DurabilityWord::Fsync,
            Durability::Memory => DurabilityWord::Memory,
        };
        let cluster =
            ClusterShape { replicas: 1, ports: Ports::Free, plain: true, durability, ..ClusterShape::default() };
        let rtt_ms = vec![self.centre_rtt.as_secs_f64() * 1e3];
        let mut shape = CentresShape { k: self.k, rtt_ms, cluster, ..CentresShape::new(self.centres) };
        if self.failing.is_some() {
            shape.names = NAMES.iter().take(self.centres).map(|name| (*name).to_owned()).collect();
        }
        shape
    }
}

fn start_servers(nodes: &[LocalNode]) -> anyhow::Result<Vec<ServerProcess>> {
    nodes.iter().map(|node| Ok(start_server(node)?.1)).collect()
}

/// Leads the links between one data centre and all others through a gate. They are dialled from both sides.
async fn lead_peers_through(gate: &Gate, made: &LocalCentres, place: usize) -> anyhow::Result<()> {
    let failing = made.centres()[place].0.as_str();
    for (name, cluster) in made.centres() {
        for gateway in cluster.gateways() {
            let mut targets = Vec::new();
            gateway.edit(|file| {
                let peers = file.centre.iter().flat_map(|centre| &centre.peers);
                targets.extend(peers.map(|peer| (peer.name.clone(), peer.address.clone())));
            })?;
            targets.retain(|(peer, _)| name.as_str() == failing || peer == failing);
            for (peer, address) in targets {
                let gated = gate.to(address.parse()?).await?.to_string();
                gateway.edit(|file| {
                    let peers = file.centre.iter_mut().flat_map(|centre| &mut centre.peers);
                    peers.filter(|own| own.name == peer).for_each(|own| own.address.clone_from(&gated));
                })?;
            }
        }
    }
    Ok(())
}

fn gateway_of(cluster: &LocalCluster) -> anyhow::Result<SocketAddr> {
    cluster.gateways().next().and_then(|gateway| gateway.address).context("a data centre has a gateway that listens")
}

async fn wait_until_ready(made: &LocalCentres, centres: &mut [Centre]) -> anyhow::Result<()> {
    let begun = Instant::now();
    loop {
        let mut waiting = Vec::new();
        for (_, cluster) in made.centres() {
            waiting.extend(cluster.unready()?);
        }
        if waiting.is_empty() {
            return Ok(());
        }
        for centre in &mut *centres {
            centre.servers.iter_mut().try_for_each(ServerProcess::is_alive)?;
        }
        if begun.elapsed() > STARTS_WITHIN {
            bail!("the data centres do not get ready: {} is not", waiting.join(", "));
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
}
