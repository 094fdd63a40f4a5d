//! Iolite as clients meet it: a cluster of real processes on loopback behind its gateways, with a delay on the way to them.
//!
//! As in the Diamond papers clients are far from the servers, and servers near each other: only clients' links are delayed.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use iolite_cluster::{ClusterShape as Shape, LocalCluster, LocalNode, Ports, Split};
use iolite_node::NodeRole;
use iolite_node::config::{DurabilityWord, WithoutWord};

use crate::accounting::Pid;
use crate::arguments::Durability;
use crate::child::Address;
use crate::cluster::{ClusterDirectory, Ending, Links, Runner, ServerProcess, program_beside};
use crate::metrics;

/// Taken down when it is dropped.
pub struct FrontCluster {
    // Servers end before their folder is removed.
    servers: Vec<(NodeRole, ServerProcess)>,
    cluster: LocalCluster,
    /// Of each gateway; there is one at least.
    addresses: Vec<Address>,
    /// Of the first one, without a delay.
    near: Address,
    durability: Durability,
    _links: Links,
    directory: ClusterDirectory,
}

/// What a cluster is started with.
#[derive(Clone, Copy, Debug)]
pub struct FrontSetup {
    pub durability: Durability,
    /// The round trip that clients' links get in addition.
    pub delay: Duration,
    pub replicas: u16,
    /// What the gateway does without.
    pub without: WithoutWord,
    /// The table that a second shard begins with; without it there is one shard.
    pub second_shard: Option<&'static str>,
}

const STARTS_WITHIN: Duration = Duration::from_secs(60);
const LOOK_EVERY: Duration = Duration::from_millis(20);

impl FrontCluster {
    /// Starts one gateway. Servers die with the thread that calls this.
    pub async fn start(setup: FrontSetup) -> anyhow::Result<FrontCluster> {
        FrontCluster::with_gateways(setup, 1).await
    }

    /// Starts so many gateways.
    pub async fn with_gateways(setup: FrontSetup, gateways: u16) -> anyhow::Result<FrontCluster> {
        let directory = ClusterDirectory::new(setup.durability)?;
        let splits = setup.second_shard.map(|table| Split { table: table.to_owned(), key: Vec::new() });
        let shape = Shape {
            splits: splits.into_iter().collect(),
            replicas: setup.replicas.into(),
            gateways,
            ports: Ports::Free,
            plain: true,
            durability: match setup.durability {
                Durability::Fsync => DurabilityWord::Fsync,
                Durability::Memory => DurabilityWord::Memory,
            },
            ..Shape::default()
        };
        let cluster = LocalCluster::create(&directory.path().join("cluster"), &shape)?;
        let mut links = Links::with_delay(setup.delay)?;
        let token = cluster.token()?;
        let (mut nears, mut addresses) = (Vec::new(), Vec::new());
        for gateway in cluster.gateways() {
            gateway.edit(|file| file.faults.without = setup.without)?;
            let listens = gateway.address.context("a gateway listens")?;
            let at = |address| Address { url: format!("ws://{address}/sync"), token: token.clone() };
            nears.push(at(listens));
            addresses.push(at(links.to(listens).await?));
        }
        let near = nears.into_iter().next().context("a cluster has a gateway")?;
        let servers = cluster.nodes().iter().map(start_server).collect::<anyhow::Result<_>>()?;
        let durability = setup.durability;
        let mut started = FrontCluster { servers, cluster, addresses, near, durability, _links: links, directory };
        started.wait_until_ready().await?;
        Ok(started)
    }

    /// Where clients connect to.
    pub fn address(&self) -> &Address {
        &self.addresses[0]
    }

    /// The same of each gateway.
    pub fn addresses(&self) -> &[Address] {
        &self.addresses
    }

    /// All nodes.
    pub fn roles(&self) -> impl Iterator<Item = NodeRole> {
        self.servers.iter().map(|(role, _)| *role)
    }

    /// A folder beside those of the servers, on the same disk, that is removed with them.
    pub fn folder(&self, name: &str) -> anyhow::Result<PathBuf> {
        self.directory.folder(name, None)
    }

    /// SIGKILL.
    pub fn kill(&mut self, role: NodeRole) -> anyhow::Result<()> {
        let server = self.servers.iter_mut().find(|(other, _)| *other == role);
        server.context("the cluster has such a node")?.1.kill()
    }

    /// Starts those that were killed, on their data, and waits until all are ready. To be called by the thread that started the cluster.
    pub async fn bring_back(&mut self, roles: &[NodeRole]) -> anyhow::Result<()> {
        for role in roles {
            let node = self.cluster.nodes().iter().find(|node| node.role == *role);
            let started = start_server(node.context("the cluster has such a node")?)?;
            let server = self.servers.iter_mut().find(|(other, _)| other == role);
            *server.context("it was started once")? = started;
        }
        self.wait_until_ready().await
    }

    /// Where those connect to who are next to it, and are not measured.
    pub fn near(&self) -> &Address {
        &self.near
    }

    /// What keeps the data.
    pub fn stores(&self) -> Vec<Pid> {
        let stores = self.servers.iter().filter(|(role, _)| matches!(role, NodeRole::Store(_)));
        stores.map(|(_, server)| server.pid()).collect()
    }

    /// What clients talk to.
    pub fn gateway(&self) -> Pid {
        let gateway = self.servers.iter().find(|(role, _)| matches!(role, NodeRole::Gateway(_)));
        gateway.expect("a cluster has a gateway").1.pid()
    }

    /// The text of the first gateway's metrics.
    pub fn metrics(&self) -> anyhow::Result<String> {
        let address = self.cluster.gateways().next().and_then(|gateway| gateway.address);
        metrics::get(address.context("a gateway listens")?, "/metrics").context("the gateway's metrics cannot be read")
    }

    /// The setting that makes acknowledged writes durable.
    pub fn setting(&self) -> &'static str {
        match self.durability {
            Durability::Fsync => "every vote synced by each replica before it is given; 2 of 3",
            Durability::Memory => "class memory, in /dev/shm; 2 of 3",
        }
    }

    async fn wait_until_ready(&mut self) -> anyhow::Result<()> {
        let begun = Instant::now();
        loop {
            let waiting = self.cluster.unready()?;
            if waiting.is_empty() {
                return Ok(());
            }
            self.servers.iter_mut().try_for_each(|(_, server)| server.is_alive())?;
            if begun.elapsed() > STARTS_WITHIN {
                bail!("Iolite does not get ready: {} is not", waiting.join(", "));
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }
}

/// Starts one node, which dies with the thread that calls this.
///
/// # Errors
/// When the program is not there.
pub fn start_server(node: &LocalNode) -> anyhow::Result<(NodeRole, ServerProcess)> {
    let program = program_beside("iolite")?;
    let mut command = Runner::Same.command(&program);
    command.args(["serve", "--config"]).arg(node.config());
    Ok((node.role, ServerProcess::start(command, Ending::Kill, &node.log())?))
}
