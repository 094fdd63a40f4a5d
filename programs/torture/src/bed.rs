//! The cluster that is tortured: its folder, its processes, and the network between them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

use anyhow::{Context, ensure};
use iolite_cluster::{ClusterShape, LocalCluster, LocalNode};
use iolite_node::NodeRole;
use iolite_node::config::FaultsTable;
use rustix::process::Signal;

use crate::network::Network;

#[derive(Debug)]
pub struct Bed {
    cluster: LocalCluster,
    program: PathBuf,
    network: Network,
    children: BTreeMap<NodeRole, Child>,
}

/// Beside a node's file.
const SHIFT: &str = "shift";

impl Bed {
    /// Makes the cluster, and changes its files such that every link goes through the network, clocks can be shifted, and, with `hold_unsynced`,
    /// replicas lose with their process what they have not synced.
    pub async fn new(folder: &Path, shape: &ClusterShape, program: &Path, hold_unsynced: bool) -> anyhow::Result<Bed> {
        let cluster = LocalCluster::create(folder, shape)?;
        let mut network = Network::default();
        let addresses = cluster.layout()?.addresses;
        for node in cluster.nodes() {
            let mut seen = BTreeMap::new();
            for (replica, address) in &addresses {
                let role = NodeRole::Store(*replica);
                if role != node.role {
                    seen.insert(*replica, network.link(node.role, role, address.parse()?).await?.to_string());
                }
            }
            cluster.set_view(node, &seen)?;
            node.edit(|own| {
                own.faults =
                    FaultsTable { hold_unsynced, clock_shift_file: Some(SHIFT.into()), ..FaultsTable::default() };
            })?;
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
        let child = self.children.get(&role).with_context(|| format!("{role} does not run"))?;
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
    ///
    /// # Errors
    /// Those that have, with their last words.
    pub fn expect_alive(&mut self) -> anyhow::Result<()> {
        let ended = self.ended();
        ensure!(ended.is_empty(), "{}", ended.join("\n"));
        Ok(())
    }

    /// The nodes that should run and have ended by themselves, one line and the last words of each. Each is told once.
    pub fn ended(&mut self) -> Vec<String> {
        let mut told = Vec::new();
        for node in self.cluster.nodes() {
            let Some(child) = self.children.get_mut(&node.role) else { continue };
            let how = match child.try_wait() {
                Ok(None) => continue,
                Ok(Some(status)) => status.to_string(),
                Err(error) => format!("nobody knows how, {error}"),
            };
            self.children.remove(&node.role);
            told.push(format!("{} ended by itself: {how}. Its last words:\n{}", node.role, node.last_words()));
        }
        told
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
