//! The cluster that is tortured: its folder, its processes, and the network between them.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

use anyhow::{Context, ensure};
use iolite_cluster::{ClusterShape, LocalCluster, LocalNode};
use iolite_node::NodeRole;
use rustix::process::Signal;
use toml::{Table, Value};

use crate::network::Network;

#[derive(Debug)]
pub struct Bed {
    cluster: LocalCluster,
    program: PathBuf,
    network: Network,
    children: BTreeMap<NodeRole, Child>,
}

/// Beside a node's file.
const OWN_CLUSTER: &str = "cluster.toml";
const SHIFT: &str = "shift";

impl Bed {
    /// Makes the cluster, and changes its files such that every link goes through the network, clocks can be shifted, and, with `hold_unsynced`,
    /// replicas lose with their process what they have not synced.
    pub async fn new(folder: &Path, shape: &ClusterShape, program: &Path, hold_unsynced: bool) -> anyhow::Result<Bed> {
        let cluster = LocalCluster::create(folder, shape)?;
        let text = std::fs::read_to_string(folder.join("cluster.toml")).context("the cluster has a file")?;
        let mut network = Network::default();
        for node in cluster.nodes() {
            let own = own_view(text.parse()?, node.role, &mut network).await?;
            std::fs::write(node.folder().join(OWN_CLUSTER), own.to_string())?;
            let listens = replica_address(&text.parse()?, node.role)?;
            let file = node.config();
            let changed = change(std::fs::read_to_string(&file)?.parse()?, listens, hold_unsynced)?;
            std::fs::write(file, changed.to_string())?;
        }
        Ok(Bed { cluster, program: program.to_owned(), network, children: BTreeMap::new() })
    }

    pub fn cluster(&self) -> &LocalCluster {
        &self.cluster
    }

    pub fn network(&self) -> &Network {
        &self.network
    }

    pub fn roles(&self) -> Vec<NodeRole> {
        self.cluster.nodes().iter().map(|node| node.role).collect()
    }

    fn node(&self, role: NodeRole) -> anyhow::Result<&LocalNode> {
        self.cluster.nodes().iter().find(|node| node.role == role).context("the cluster has such a node")
    }

    /// Starts a node that does not run.
    pub fn start(&mut self, role: NodeRole) -> anyhow::Result<()> {
        // With this process they end too, so that nothing is left of a run that was interrupted.
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "KILL", "--"]).arg(&self.program);
        let child = self.node(role)?.start_by(command)?;
        self.children.insert(role, child);
        Ok(())
    }

    /// SIGKILL, and the process is gone when this returns.
    pub fn kill(&mut self, role: NodeRole) -> anyhow::Result<()> {
        if let Some(mut child) = self.children.remove(&role) {
            child.kill()?;
            child.wait()?;
        }
        Ok(())
    }

    pub fn pause(&self, role: NodeRole) -> anyhow::Result<()> {
        self.signal(role, Signal::STOP)
    }

    pub fn resume(&self, role: NodeRole) -> anyhow::Result<()> {
        self.signal(role, Signal::CONT)
    }

    fn signal(&self, role: NodeRole, signal: Signal) -> anyhow::Result<()> {
        let child = self.children.get(&role).context("it runs")?;
        rustix::process::kill_process(rustix::process::Pid::from_child(child), signal)?;
        Ok(())
    }

    /// So many milliseconds the node's clock is wrong from now on.
    pub fn shift(&self, role: NodeRole, millis: i64) -> anyhow::Result<()> {
        let folder = self.node(role)?.folder();
        // Whole or not at all, for the node reads it at any time.
        let unfinished = folder.join("shift.new");
        std::fs::write(&unfinished, (millis * 1000).to_string())?;
        std::fs::rename(unfinished, folder.join(SHIFT))?;
        Ok(())
    }

    /// None of the nodes that should run has ended by itself.
    pub fn expect_alive(&mut self) -> anyhow::Result<()> {
        for (role, child) in &mut self.children {
            if let Some(status) = child.try_wait()? {
                let log = self.cluster.nodes().iter().find(|node| node.role == *role).map(LocalNode::log);
                let text = log.and_then(|log| std::fs::read_to_string(log).ok()).unwrap_or_default();
                let lines: Vec<&str> = text.lines().collect();
                let last = lines[lines.len().saturating_sub(5)..].join("\n");
                anyhow::bail!("{role} ended by itself: {status}. Its last words:\n{last}");
            }
        }
        Ok(())
    }
}

impl Drop for Bed {
    fn drop(&mut self) {
        for child in self.children.values_mut() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// The cluster's file as one node sees it: others are reached through proxies.
async fn own_view(mut table: Table, own: NodeRole, network: &mut Network) -> anyhow::Result<Table> {
    for replica in replicas(&mut table)? {
        let (role, address) = place(replica)?;
        if role != own {
            let link = network.link(own, role, address).await?;
            replica.insert("address".into(), Value::String(link.to_string()));
        }
    }
    Ok(table)
}

/// Where a replica listens really; none of a gateway.
fn replica_address(table: &Table, role: NodeRole) -> anyhow::Result<Option<SocketAddr>> {
    for replica in replicas(&mut table.clone())? {
        let (own, address) = place(replica)?;
        if own == role {
            return Ok(Some(address));
        }
    }
    Ok(None)
}

fn replicas(table: &mut Table) -> anyhow::Result<Vec<&mut Table>> {
    let shards = table.get_mut("shards").and_then(Value::as_array_mut).context("a cluster has shards")?;
    let replicas = shards.iter_mut().filter_map(|shard| shard.get_mut("replicas")?.as_array_mut());
    let found: Vec<&mut Table> = replicas.flatten().filter_map(Value::as_table_mut).collect();
    ensure!(!found.is_empty(), "a cluster has replicas");
    Ok(found)
}

fn place(replica: &Table) -> anyhow::Result<(NodeRole, SocketAddr)> {
    let number = replica.get("number").and_then(Value::as_integer).context("a replica has a number")?;
    let address = replica.get("address").and_then(Value::as_str).context("a replica has an address")?;
    let name = iolite_host::NodeName::new(&format!("store-{number}"))?;
    Ok((NodeRole::of(&name).context("it is a store")?, address.parse()?))
}

/// A node's file with its faults.
fn change(mut table: Table, listens: Option<SocketAddr>, hold_unsynced: bool) -> anyhow::Result<Table> {
    table.insert("cluster".into(), Value::String(OWN_CLUSTER.into()));
    let mut faults = Table::new();
    faults.insert("hold_unsynced".into(), Value::Boolean(hold_unsynced));
    faults.insert("clock_shift_file".into(), Value::String(SHIFT.into()));
    table.insert("faults".into(), Value::Table(faults));
    if let Some(address) = listens {
        let store = table.get_mut("store").and_then(Value::as_table_mut).context("it is a replica's file")?;
        store.insert("listen".into(), Value::String(address.to_string()));
    }
    Ok(table)
}
