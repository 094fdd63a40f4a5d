//! Several data centres as processes of this machine, with a delay on every link between them and to their clients.
//!
//! Invariant: a client's link has its whole round trip, whichever process of the data centre it leads to.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use iolite_cluster::{CentresShape, ClusterShape, LocalCentres, LocalCluster, Ports};
use iolite_node::config::DurabilityWord;

use super::cloud::CloudProcess;
use crate::accounting::Pid;
use crate::arguments::Durability;
use crate::child::Address;
use crate::cluster::{ClusterDirectory, Links, ServerProcess};
use crate::front::start_server;
use crate::metrics;

/// Taken down when it is dropped.
pub struct Group {
    // Processes end before the folder of their data is removed.
    centres: Vec<Centre>,
    _links: Vec<Links>,
    data: ClusterDirectory,
}

/// A gateway, a replica, and perhaps a server process that runs transactions for clients.
struct Centre {
    near: Address,
    /// Where its processes tell of themselves.
    metrics: Vec<SocketAddr>,
    cloud: Option<CloudProcess>,
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
}

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
        let mut links: Vec<Links> =
            setup.client_rtts.iter().map(|rtt| Links::with_delay(*rtt)).collect::<anyhow::Result<_>>()?;
        let mut centres = Vec::new();
        for (_, cluster) in made.centres() {
            let servers =
                cluster.nodes().iter().map(|node| Ok(start_server(node)?.1)).collect::<anyhow::Result<_>>()?;
            let gateway = gateway_of(cluster)?;
            let near = Address { url: format!("ws://{gateway}/sync"), token: cluster.token()? };
            let metrics = cluster.nodes().iter().filter_map(|node| node.address).collect();
            centres.push(Centre { near, metrics, cloud: None, servers, far: Vec::new() });
        }
        wait_until_ready(&made, &mut centres).await?;
        for (centre, (_, cluster)) in centres.iter_mut().zip(made.centres()) {
            centre.cloud = setup.cloud_rows.map(|rows| CloudProcess::start(&centre.near, rows)).transpose()?;
            let target = match &centre.cloud {
                Some(cloud) => cloud.address,
                None => gateway_of(cluster)?,
            };
            for links in &mut links {
                centre.far.push(links.to(target).await?);
            }
        }
        Ok(Group { centres, _links: links, data })
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

    /// The processor time of all processes of each data centre.
    pub fn cpu(&self) -> Vec<Duration> {
        let of = |centre: &Centre| {
            let servers = centre.servers.iter().map(ServerProcess::pid);
            servers.chain(centre.cloud.as_ref().map(CloudProcess::pid)).map(Pid::tree_cpu).sum()
        };
        self.centres.iter().map(of).collect()
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
        CentresShape { k: self.k, rtt_ms, cluster, ..CentresShape::new(self.centres) }
    }
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
