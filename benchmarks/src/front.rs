//! Iolite as clients meet it: a cluster of real processes on loopback behind one gateway, with a delay on the way to it.
//!
//! As in the Diamond papers clients are far from the servers, and servers near each other: only clients' links are delayed.

use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use iolite_cluster::{ClusterShape as Shape, LocalCluster, Ports};
use iolite_node::NodeRole;
use iolite_node::config::{DurabilityWord, WithoutWord};

use crate::accounting::Pid;
use crate::arguments::Durability;
use crate::child::Address;
use crate::cluster::{ClusterDirectory, Ending, Links, Runner, ServerProcess};

/// Taken down when it is dropped.
pub struct FrontCluster {
    // Servers end before their folder is removed.
    servers: Vec<(NodeRole, ServerProcess)>,
    address: Address,
    /// The same without a delay.
    near: Address,
    durability: Durability,
    _links: Links,
    _directory: ClusterDirectory,
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
}

const STARTS_WITHIN: Duration = Duration::from_secs(60);
const LOOK_EVERY: Duration = Duration::from_millis(20);

impl FrontCluster {
    /// Starts one shard and one gateway. Servers die with the thread that calls this.
    pub async fn start(setup: FrontSetup) -> anyhow::Result<FrontCluster> {
        let directory = ClusterDirectory::new(setup.durability)?;
        let shape = Shape {
            replicas: setup.replicas.into(),
            ports: Ports::Free,
            plain: true,
            durability: match setup.durability {
                Durability::Fsync => DurabilityWord::Fsync,
                Durability::Memory => DurabilityWord::Memory,
            },
            ..Shape::default()
        };
        let cluster = LocalCluster::create(&directory.path().join("cluster"), &shape)?;
        let gateway = cluster.gateways().next().context("a cluster has a gateway")?;
        gateway.edit(|file| file.faults.without = setup.without)?;
        let listens = gateway.address.context("a gateway listens")?;
        let servers = start_servers(&cluster)?;
        let mut links = Links::with_delay(setup.delay)?;
        let token = cluster.token()?;
        let near = Address { url: format!("ws://{listens}/sync"), token: token.clone() };
        let address = Address { url: format!("ws://{}/sync", links.to(listens).await?), token };
        let durability = setup.durability;
        let mut started = FrontCluster { servers, address, near, durability, _links: links, _directory: directory };
        started.wait_until_ready(&cluster).await?;
        Ok(started)
    }

    /// Where clients connect to.
    pub fn address(&self) -> &Address {
        &self.address
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

    /// The setting that makes acknowledged writes durable.
    pub fn setting(&self) -> &'static str {
        match self.durability {
            Durability::Fsync => "every vote synced by each replica before it is given; 2 of 3",
            Durability::Memory => "class memory, in /dev/shm; 2 of 3",
        }
    }

    async fn wait_until_ready(&mut self, cluster: &LocalCluster) -> anyhow::Result<()> {
        let begun = Instant::now();
        loop {
            let waiting = cluster.unready()?;
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

fn start_servers(cluster: &LocalCluster) -> anyhow::Result<Vec<(NodeRole, ServerProcess)>> {
    let program = std::env::current_exe().context("cannot find this program")?;
    let start = |node: &iolite_cluster::LocalNode| {
        let mut command = Runner::Same.command(&program);
        command.args(["serve", "--config"]).arg(node.config());
        Ok((node.role, ServerProcess::start(command, Ending::Kill, &node.log())?))
    };
    cluster.nodes().iter().map(start).collect()
}
