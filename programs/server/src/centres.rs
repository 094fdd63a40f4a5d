//! `iolite centres`: several data centres on this machine, each a cluster of its own.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, ensure};
use clap::{Args, Subcommand};
use iolite_cluster::{CentresShape, ClusterError, LocalCentres, LocalCluster, NodeState, PeerReport, Ports};
use serde_json::json;

use crate::cluster;
use crate::durability::Class;

#[derive(Subcommand)]
pub enum Command {
    /// Make data centres, or find those that are there, and start every node that does not run
    Up(Up),
    /// Tell of each data centre whether its nodes run, and how far it is with the others
    Status(Status),
    /// Stop all data centres, or some; the data stay, and `up` starts them again
    Down(Down),
}

#[derive(Args)]
pub struct Place {
    /// The folder of the data centres
    #[arg(long, default_value = ".iolite-centres", value_name = "DIR")]
    data: PathBuf,
}

#[derive(Args)]
pub struct Status {
    #[command(flatten)]
    place: Place,
    /// For programs
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
pub struct Down {
    #[command(flatten)]
    place: Place,
    /// Only this data centre; several with commas or again
    #[arg(long = "centre", value_name = "NAME", value_delimiter = ',')]
    centres: Vec<String>,
}

#[derive(Args)]
pub struct Up {
    #[command(flatten)]
    place: Place,
    /// Data centres: 1 to 7 [default: 3]
    #[arg(long)]
    centres: Option<usize>,
    /// Names, with commas, in place of a, b and so on
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    names: Vec<String>,
    /// Data centres that have a transaction before others see it [default: 2]
    #[arg(long)]
    k: Option<usize>,
    /// Milliseconds that a round trip between data centres takes in addition: one for all, or one for each pair (1-2, 1-3, 2-3) [default: 0]
    #[arg(long, value_name = "MS", value_delimiter = ',')]
    rtt_ms: Vec<f64>,
    /// Replicas of each data centre: 1, 3, 5 or 7 [default: 1]
    #[arg(long)]
    replicas: Option<u64>,
    /// The port of the first gateway, on 127.0.0.1; the other data centres are from 400 above on; 0 takes free ones [default: 7777]
    #[arg(long)]
    port: Option<u16>,
    /// Durability of what is acknowledged: `memory` does not survive a power cut, and is for benchmarks [default: fsync]
    #[arg(long, value_name = "CLASS")]
    durability: Option<Class>,
    /// No certificates
    #[arg(long)]
    plain: bool,
}

/// Time for several clusters on a busy machine.
const READY_WITHIN: Duration = Duration::from_secs(60);
/// Longer than a node takes whose disk works.
const STOPS_WITHIN: Duration = Duration::from_secs(10);

pub fn run(command: &Command) -> anyhow::Result<ExitCode> {
    match command {
        Command::Up(arguments) => up(arguments).map(|()| ExitCode::SUCCESS),
        Command::Status(arguments) => status(arguments),
        Command::Down(arguments) => down(arguments).map(|()| ExitCode::SUCCESS),
    }
}

fn up(arguments: &Up) -> anyhow::Result<()> {
    let centres = find_or_make(arguments)?;
    let program = std::env::current_exe().context("cannot find this program")?;
    // All at once: a data centre may have to wait for another one before it serves.
    for (_, cluster) in centres.centres() {
        for node in cluster.nodes() {
            if node.state()?.pid().is_none() {
                node.start(&program)?;
            }
        }
    }
    for (_, cluster) in centres.centres() {
        cluster.start(&program, READY_WITHIN)?;
    }
    let mut text = String::new();
    for (name, cluster) in centres.centres() {
        for gateway in cluster.gateways() {
            if let Some(address) = gateway.address {
                text += &format!("Data centre {name}: clients connect to ws://{address}/sync\n");
            }
        }
    }
    if let Some((_, cluster)) = centres.centres().first() {
        text += &format!("The token of all is {}\n", cluster.token()?);
    }
    text += &format!("It goes on until `iolite centres down --data {}`\n", centres.folder().display());
    iolite_host::print(&text)?;
    Ok(())
}

/// Options that were given are held against data centres that are there: they are never changed by them.
fn find_or_make(arguments: &Up) -> Result<LocalCentres, ClusterError> {
    let folder = &arguments.place.data;
    match LocalCentres::open(folder) {
        Err(ClusterError::NoCentres { .. }) => {
            let count = arguments.centres.unwrap_or(if arguments.names.is_empty() { 3 } else { arguments.names.len() });
            LocalCentres::create(folder, &arguments.over(CentresShape::new(count)))
        }
        Err(error) => Err(error),
        Ok(centres) => {
            let wanted = arguments.over(centres.shape().clone());
            let same_count = arguments.centres.is_none_or(|count| count == wanted.names.len());
            if wanted == *centres.shape() && same_count {
                return Ok(centres);
            }
            let count = arguments.centres.unwrap_or(wanted.names.len());
            let (was, wanted) = (describe(centres.shape(), centres.shape().names.len()), describe(&wanted, count));
            Err(ClusterError::OtherShape { folder: folder.clone(), was, wanted })
        }
    }
}

impl Up {
    fn over(&self, shape: CentresShape) -> CentresShape {
        let CentresShape { names, k, rtt_ms, mut cluster } = shape;
        cluster.replicas = self.replicas.unwrap_or(cluster.replicas);
        cluster.durability = self.durability.map_or(cluster.durability, Into::into);
        cluster.plain |= self.plain;
        cluster.ports = match self.port {
            None => cluster.ports,
            Some(0) => Ports::Free,
            Some(port) => Ports::From(port),
        };
        CentresShape {
            names: if self.names.is_empty() { names } else { self.names.clone() },
            k: self.k.unwrap_or(k),
            rtt_ms: if self.rtt_ms.is_empty() { rtt_ms } else { self.rtt_ms.clone() },
            cluster,
        }
    }
}

fn describe(shape: &CentresShape, count: usize) -> String {
    let CentresShape { names, k, rtt_ms, cluster } = shape;
    let names = names.join(", ");
    format!("{count} data centres ({names}), k {k}, round trips of {rtt_ms:?} ms, each {}", cluster::describe(cluster))
}

fn status(arguments: &Status) -> anyhow::Result<ExitCode> {
    let centres = LocalCentres::open(&arguments.place.data)?;
    let (mut text, mut all, mut all_ready) = (String::new(), Vec::new(), true);
    for ((name, cluster), reports) in centres.centres().iter().zip(centres.reports()) {
        let states = cluster::states(cluster)?;
        all_ready &= states.iter().all(|(node, state)| !node.is_needed || matches!(state, NodeState::Ready { .. }));
        text += &format!("Data centre {name}\n{}", cluster::table(&states));
        text += &reports.as_deref().map_or_else(|| "its gateway does not answer\n".to_owned(), peers);
        let nodes: Vec<_> = states.iter().map(|(node, state)| cluster::as_json(node, *state)).collect();
        let own: Vec<_> = reports.unwrap_or_default().iter().map(as_json).collect();
        all.push(json!({ "name": name.as_str(), "nodes": nodes, "peers": own }));
    }
    if arguments.json {
        text = format!("{}\n", json!({ "centres": all }));
    }
    iolite_host::print(&text)?;
    Ok(if all_ready { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn peers(reports: &[PeerReport]) -> String {
    let mut text = format!("{:<12} {:<10} {:>10} {:>10} {:>10}\n", "PEER", "STATE", "TAKEN", "APPLIED", "LAG");
    for report in reports {
        let PeerReport { peer, taken, applied, lag, .. } = report;
        let lag = lag.map_or_else(|| "-".to_owned(), |lag| lag.to_string());
        text += &format!("{:<12} {:<10} {taken:>10} {applied:>10} {lag:>10}\n", peer.as_str(), word(report));
    }
    text
}

fn word(report: &PeerReport) -> &'static str {
    match report {
        PeerReport { stopped: true, .. } => "stopped",
        PeerReport { lost_here: true, .. } => "lost-here",
        PeerReport { lost: true, .. } => "lost",
        PeerReport { following: true, .. } => "following",
        PeerReport { .. } => "away",
    }
}

fn as_json(report: &PeerReport) -> serde_json::Value {
    let PeerReport { peer, taken, applied, lag, .. } = report;
    json!({ "name": peer.as_str(), "state": word(report), "taken": taken, "applied": applied, "lag": lag })
}

fn down(arguments: &Down) -> anyhow::Result<()> {
    let folder = &arguments.place.data;
    let centres = LocalCentres::open(folder)?;
    for name in &arguments.centres {
        let names = centres.shape().names.join(", ");
        ensure!(centres.centre(name).is_some(), "there is no data centre {name}; there are {names}");
    }
    let is_meant = |name: &str| arguments.centres.is_empty() || arguments.centres.iter().any(|own| own == name);
    for (name, cluster) in centres.centres().iter().filter(|(name, _)| is_meant(name.as_str())) {
        stop(name.as_str(), cluster)?;
    }
    iolite_host::print(&format!("stopped; the data stay in {}\n", folder.display()))?;
    Ok(())
}

fn stop(name: &str, cluster: &LocalCluster) -> Result<(), ClusterError> {
    for node in cluster.stop(|_| true, STOPS_WITHIN)? {
        iolite_host::warn(&format!("{node} of {name} did not end within {STOPS_WITHIN:?}, and was killed"));
    }
    Ok(())
}
