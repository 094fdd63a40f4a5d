//! `iolite cluster`: a cluster of processes on this machine, to develop against, to measure and to break.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, ensure};
use clap::{Args, Subcommand};
use iolite_cluster::{
    ClusterError, ClusterShape, LocalCluster, LocalNode, NodeState, OperatorError, PlaceCheck, PlaceProblem, Ports,
    Split,
};
use iolite_node::NodeRole;
use serde_json::json;

use crate::durability::Class;
use crate::members;

#[derive(Subcommand)]
pub enum Command {
    /// Make a cluster, or find the one that is there, and start every node that does not run
    Up(Up),
    /// Tell of each node whether it runs, and its process; fails when one does not that is needed
    Status(Status),
    /// Stop every node, or some; the data stay, and `up` starts them again
    Down(Down),
    /// Replace replicas by new ones, while the cluster runs: such as one that has lost its disk
    Replace(members::Replace),
    /// Give a shard more or fewer replicas, while the cluster runs
    Resize(members::Resize),
    /// Give a shard to new replicas, while the cluster runs
    Move(members::Move),
    /// Split the shard that has a place in two, with new replicas, while the cluster runs
    Split(members::SplitShard),
}

#[derive(Args)]
pub struct Place {
    /// The folder of the cluster
    #[arg(long, default_value = ".iolite-cluster", value_name = "DIR")]
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
    /// Only this node, like store-1; several with commas or again
    #[arg(long = "node", value_name = "NAME", value_delimiter = ',')]
    nodes: Vec<String>,
}

#[derive(Args)]
pub struct Up {
    #[command(flatten)]
    place: Place,
    /// Shards, which cut the tables into parts [default: 1]
    #[arg(long)]
    shards: Option<u32>,
    /// Replicas of each shard: 1, 3, 5 or 7. It goes on while less than half of them fail [default: 3]
    #[arg(long)]
    replicas: Option<u64>,
    /// Gateways, which clients connect to [default: 1]
    #[arg(long)]
    gateways: Option<u16>,
    /// Where a shard begins, instead of --shards: a table, or a key in it. Once for each shard but the first
    #[arg(long = "split", value_name = "TABLE[:KEY]")]
    splits: Vec<Split>,
    #[command(flatten)]
    unchecked: members::Unchecked,
    /// The port of the first gateway, on 127.0.0.1; replicas are from 100 above on; 0 takes free ones [default: 7777]
    #[arg(long)]
    port: Option<u16>,
    /// Milliseconds that every round trip between nodes takes in addition [default: 0]
    #[arg(long)]
    delay_ms: Option<f64>,
    /// What acknowledged means: `memory` does not survive a power cut, and is for benchmarks [default: fsync]
    #[arg(long, value_name = "CLASS")]
    durability: Option<Class>,
    /// No certificates between nodes
    #[arg(long)]
    plain: bool,
    /// The folder of your app's page
    #[arg(long, value_name = "DIR")]
    app: Option<PathBuf>,
}

/// Of a cluster on a busy machine.
const READY_WITHIN: Duration = Duration::from_secs(60);
/// Longer than a node takes whose disk works.
const STOPS_WITHIN: Duration = Duration::from_secs(10);

pub fn run(command: &Command) -> anyhow::Result<ExitCode> {
    match command {
        Command::Up(arguments) => up(arguments).map(|()| ExitCode::SUCCESS),
        Command::Status(arguments) => status(arguments),
        Command::Down(arguments) => down(arguments).map(|()| ExitCode::SUCCESS),
        Command::Replace(arguments) => members::replace(arguments).map(|()| ExitCode::SUCCESS),
        Command::Resize(arguments) => members::resize(arguments).map(|()| ExitCode::SUCCESS),
        Command::Split(arguments) => members::split(arguments).map(|()| ExitCode::SUCCESS),
        Command::Move(arguments) => members::move_shard(arguments).map(|()| ExitCode::SUCCESS),
    }
}

fn up(arguments: &Up) -> anyhow::Result<()> {
    let cluster = find_or_make(arguments)?;
    let program = std::env::current_exe().context("cannot find this program")?;
    cluster.start(&program, READY_WITHIN)?;
    let mut text = table(&states(&cluster)?);
    for gateway in cluster.gateways() {
        if let Some(address) = gateway.address {
            text += &format!("Clients connect to ws://{address}/sync, and people to http://{address}/\n");
        }
    }
    text += &format!("The token is {}\n", cluster.token()?);
    text += &format!("It goes on until `iolite cluster down --data {}`\n", cluster.folder().display());
    iolite_host::print(&text)?;
    Ok(())
}

/// Options that were given are held against a cluster that is there: it is never changed by them.
fn find_or_make(arguments: &Up) -> Result<LocalCluster, ClusterError> {
    let folder = &arguments.place.data;
    match LocalCluster::open(folder) {
        Err(ClusterError::None { .. }) => {
            let shape = arguments.over(ClusterShape::default());
            arguments.expect_places(&shape)?;
            LocalCluster::create(folder, &shape)
        }
        Err(error) => Err(error),
        Ok(cluster) => {
            let was = cluster.shape()?;
            let wanted = arguments.over(was.clone());
            if wanted == was {
                return Ok(cluster);
            }
            let (was, wanted) = (describe(&was), describe(&wanted));
            Err(ClusterError::OtherShape { folder: folder.clone(), was, wanted })
        }
    }
}

impl Up {
    /// A cluster that is to be made has no schema by which a place could be checked.
    fn expect_places(&self, shape: &ClusterShape) -> Result<(), ClusterError> {
        match (self.unchecked.check(), shape.splits.first()) {
            (PlaceCheck::IfKnown, _) => {
                self.splits.iter().try_for_each(|split| Ok(split.unchecked().map(drop).map_err(OperatorError::from)?))
            }
            (PlaceCheck::Schema, None) => Ok(()),
            (PlaceCheck::Schema, Some(split)) => {
                let (place, table) = (split.to_string(), split.table.clone());
                Err(OperatorError::from(PlaceProblem::NoSchema { place, table }).into())
            }
        }
    }

    /// As they are taken without a schema; what cannot be is refused before it is used.
    fn places(&self) -> Vec<Split> {
        self.splits.iter().map(|split| split.unchecked().unwrap_or_else(|_| split.clone())).collect()
    }

    fn over(&self, shape: ClusterShape) -> ClusterShape {
        // Nodes are started elsewhere; a path that cannot be made whole is told of by the gateway.
        let absolute = |folder: &Path| std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
        ClusterShape {
            shards: self.shards.unwrap_or(shape.shards),
            replicas: self.replicas.unwrap_or(shape.replicas),
            gateways: self.gateways.unwrap_or(shape.gateways),
            splits: if self.splits.is_empty() { shape.splits } else { self.places() },
            ports: match self.port {
                None => shape.ports,
                Some(0) => Ports::Free,
                Some(port) => Ports::From(port),
            },
            delay_ms: self.delay_ms.unwrap_or(shape.delay_ms),
            durability: self.durability.map_or(shape.durability, Into::into),
            plain: self.plain || shape.plain,
            app: self.app.as_deref().map(absolute).or(shape.app),
        }
    }
}

pub(crate) fn describe(shape: &ClusterShape) -> String {
    let ports = match shape.ports {
        Ports::From(port) => format!("ports from {port}"),
        Ports::Free => "free ports".to_owned(),
    };
    let splits: Vec<String> = shape.splits.iter().map(ToString::to_string).collect();
    let mut text = format!(
        "{} shards of {} replicas, {} gateways, {ports}, a delay of {} ms, durability {:?}",
        shape.shards, shape.replicas, shape.gateways, shape.delay_ms, shape.durability
    );
    if !splits.is_empty() {
        text += &format!(", splits at {}", splits.join(" "));
    }
    if shape.plain {
        text += ", no certificates";
    }
    if let Some(app) = &shape.app {
        text += &format!(", the app {}", app.display());
    }
    text
}

fn status(arguments: &Status) -> anyhow::Result<ExitCode> {
    let cluster = LocalCluster::open(&arguments.place.data)?;
    let states = states(&cluster)?;
    if arguments.json {
        let nodes: Vec<serde_json::Value> = states.iter().map(|(node, state)| as_json(node, *state)).collect();
        iolite_host::print(&format!("{}\n", json!({ "nodes": nodes })))?;
    } else {
        iolite_host::print(&table(&states))?;
    }
    let all_ready = states.iter().all(|(node, state)| !node.is_needed || matches!(state, NodeState::Ready { .. }));
    Ok(if all_ready { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Asks each node once.
pub(crate) fn states(cluster: &LocalCluster) -> Result<Vec<(&LocalNode, NodeState)>, ClusterError> {
    cluster.nodes().iter().map(|node| Ok((node, node.state()?))).collect()
}

pub(crate) fn table(states: &[(&LocalNode, NodeState)]) -> String {
    let mut text = format!("{:<12} {:<9} {:<8} {}\n", "NODE", "STATE", "PID", "ADDRESS");
    for (node, state) in states.iter().copied() {
        let pid = state.pid().map(|pid| pid.to_string()).unwrap_or_default();
        text += &format!("{:<12} {:<9} {:<8} {}\n", node.role.to_string(), word(state), pid, address(node));
    }
    text
}

pub(crate) fn as_json(node: &LocalNode, state: NodeState) -> serde_json::Value {
    let role = match node.role {
        NodeRole::Store(_) => "store",
        NodeRole::Gateway(_) => "gateway",
    };
    json!({
        "name": node.role.to_string(),
        "role": role,
        "state": word(state),
        "pid": state.pid(),
        "address": node.address,
        "config": node.config(),
        "log": node.log(),
    })
}

fn word(state: NodeState) -> &'static str {
    match state {
        NodeState::Stopped => "stopped",
        NodeState::Starting { .. } => "starting",
        NodeState::Ready { .. } => "ready",
    }
}

fn address(node: &LocalNode) -> String {
    node.address.map(|address| format!("http://{address}/")).unwrap_or_default()
}

fn down(arguments: &Down) -> anyhow::Result<()> {
    let folder = &arguments.place.data;
    let cluster = LocalCluster::open(folder)?;
    let names: Vec<String> = cluster.nodes().iter().map(|node| node.role.to_string()).collect();
    for node in &arguments.nodes {
        ensure!(names.contains(node), "the cluster has no node {node}; it has {}", names.join(", "));
    }
    let is_meant = |node: &LocalNode| arguments.nodes.is_empty() || arguments.nodes.contains(&node.role.to_string());
    let killed = cluster.stop(is_meant, STOPS_WITHIN)?;
    for node in killed {
        iolite_host::warn(&format!("{node} did not end within {STOPS_WITHIN:?}, and was killed"));
    }
    iolite_host::print(&format!("stopped; the data stay in {}\n", folder.display()))?;
    Ok(())
}
