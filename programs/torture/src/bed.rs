//! The cluster that is tortured: its folder, its processes, and the network between them. In a run with objects, their hosts and devices too.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

use anyhow::{Context, ensure};
use iolite_cluster::{ClusterShape, LocalCluster, LocalNode, free_ports};
use iolite_node::NodeRole;
use iolite_node::config::{FaultsTable, ObjectsTable};
use rustix::process::Signal;

use crate::callers::Callers;
use crate::network::Network;
use crate::objects::Crew;
use crate::party::Party;

#[derive(Debug)]
pub struct Bed {
    cluster: LocalCluster,
    program: PathBuf,
    network: Network,
    callers: Callers,
    children: BTreeMap<Party, Child>,
    crew: Option<Crew>,
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
                    seen.insert(
                        *replica,
                        network.link(Party::Node(node.role), Party::Node(role), address.parse()?).await?.to_string(),
                    );
                }
            }
            cluster.set_view(node, &seen)?;
            node.edit(|own| {
                own.faults =
                    FaultsTable { hold_unsynced, clock_shift_file: Some(SHIFT.into()), ..FaultsTable::default() };
            })?;
        }
        let (callers, children) = (Callers::default(), BTreeMap::new());
        Ok(Bed { cluster, program: program.to_owned(), network, callers, children, crew: None })
    }

    /// Has the gateways serve objects. They reach each other through the network. Before they are started.
    pub async fn serve_objects(&mut self) -> anyhow::Result<()> {
        let gateways: Vec<Party> = self.cluster.gateways().map(|gateway| Party::Node(gateway.role)).collect();
        let ports = free_ports(&[[127, 0, 0, 1].into()], gateways.len())?;
        for ((node, own), port) in self.cluster.gateways().zip(&gateways).zip(ports) {
            let listen = SocketAddr::from(([127, 0, 0, 1], port));
            let address = self.network.answer(*own, &gateways, listen, self.callers.clone()).await?;
            node.edit(|file| file.objects = Some(ObjectsTable { listen, address: Some(address.to_string()) }))?;
        }
        Ok(())
    }

    /// A way to the gateways for each of these.
    pub async fn gates(&mut self, parties: &[Party]) -> anyhow::Result<BTreeMap<Party, SocketAddr>> {
        let found = self.cluster.gateways().filter_map(|node| Some((Party::Node(node.role), node.address?)));
        let mut gateways: Vec<(Party, SocketAddr)> = found.collect();
        let mut gates = BTreeMap::new();
        for party in parties {
            gates.insert(*party, self.network.gate(*party, &gateways).await?);
            // The next one begins at another gateway.
            gateways.rotate_left(1);
        }
        Ok(gates)
    }

    pub fn join(&mut self, crew: Crew) {
        self.crew = Some(crew);
    }

    /// The hosts and devices of a run with objects.
    pub fn crew(&mut self) -> anyhow::Result<&mut Crew> {
        self.crew.as_mut().context("this is a run with objects")
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

    /// All that faults are made to.
    pub fn parties(&self) -> Vec<Party> {
        let nodes = self.cluster.nodes().iter().map(|node| Party::Node(node.role));
        nodes.chain(self.crew.iter().flat_map(Crew::parties)).collect()
    }

    fn node(&self, role: NodeRole) -> anyhow::Result<&LocalNode> {
        self.cluster.nodes().iter().find(|node| node.role == role).context("the cluster has such a node")
    }

    /// Starts a process that does not run.
    pub fn start(&mut self, party: Party) -> anyhow::Result<()> {
        // With this process they end too, so that nothing is left of a run that was interrupted.
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "KILL", "--"]).arg(&self.program);
        let child = match party {
            Party::Node(role) => self.node(role)?.start_by(command)?,
            Party::Host(_) | Party::Device(_) => self.crew()?.start(party, command)?,
        };
        self.callers.runs(party, child.id());
        self.children.insert(party, child);
        Ok(())
    }

    /// SIGKILL, and the process is gone when this returns.
    pub fn kill(&mut self, party: Party) -> anyhow::Result<()> {
        if let Some(mut child) = self.children.remove(&party) {
            self.callers.has_ended(child.id());
            child.kill()?;
            child.wait()?;
        }
        Ok(())
    }

    pub fn pause(&self, party: Party) -> anyhow::Result<()> {
        self.signal(party, Signal::STOP)
    }

    pub fn resume(&self, party: Party) -> anyhow::Result<()> {
        self.signal(party, Signal::CONT)
    }

    fn signal(&self, party: Party, signal: Signal) -> anyhow::Result<()> {
        let child = self.children.get(&party).with_context(|| format!("{party} does not run"))?;
        rustix::process::kill_process(rustix::process::Pid::from_child(child), signal)?;
        Ok(())
    }

    /// Asks a host or a device to end: its input does.
    pub fn ask_to_end(&mut self, party: Party) {
        if let Some(child) = self.children.get_mut(&party) {
            drop(child.stdin.take());
        }
    }

    /// Whether a process that was asked to end has ended.
    ///
    /// # Errors
    /// How, if not well.
    pub fn has_ended(&mut self, party: Party) -> anyhow::Result<bool> {
        let Some(child) = self.children.get_mut(&party) else { return Ok(true) };
        let Some(status) = child.try_wait()? else { return Ok(false) };
        self.callers.has_ended(child.id());
        self.children.remove(&party);
        ensure!(status.success(), "{party} failed: {status}. Its last words:\n{}", self.last_words(party));
        Ok(true)
    }

    fn last_words(&self, party: Party) -> String {
        match party {
            Party::Node(role) => self.node(role).map_or_else(|error| error.to_string(), LocalNode::last_words),
            Party::Host(_) | Party::Device(_) => {
                self.crew.as_ref().map_or_else(String::new, |crew| crew.last_words(party))
            }
        }
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

    /// None of the processes that should run has ended by itself.
    ///
    /// # Errors
    /// Those that have, with their last words.
    pub fn expect_alive(&mut self) -> anyhow::Result<()> {
        let ended = self.ended();
        ensure!(ended.is_empty(), "{}", ended.join("\n"));
        Ok(())
    }

    /// The processes that should run and have ended by themselves, one line and the last words of each. Each is told once.
    pub fn ended(&mut self) -> Vec<String> {
        let mut told = Vec::new();
        for party in self.parties() {
            let Some(child) = self.children.get_mut(&party) else { continue };
            let is_asked_to_end = !matches!(party, Party::Node(_)) && child.stdin.is_none();
            if is_asked_to_end {
                continue;
            }
            let how = match child.try_wait() {
                Ok(None) => continue,
                Ok(Some(status)) => status.to_string(),
                Err(error) => format!("nobody knows how, {error}"),
            };
            self.callers.has_ended(child.id());
            self.children.remove(&party);
            told.push(format!("{party} ended by itself: {how}. Its last words:\n{}", self.last_words(party)));
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
