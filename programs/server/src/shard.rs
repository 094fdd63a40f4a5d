//! `iolite shard`: who keeps the shards of a cluster, on whichever machines it is.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::bail;
use clap::{Args, Subcommand};
use iolite_cluster::{Observer, Operator, operator_id};
use iolite_node::config::{ClusterFile, ReplicaPlace};
use iolite_replication::node::{ReplicaId, Report};

use crate::description;
use crate::logs::{KeptWarnings, unless_interrupted};
use crate::members::Unchecked;
use crate::operator::Connection;
use crate::seconds::seconds;

#[derive(Subcommand)]
pub enum Command {
    /// Tell of each replica where it stands; fails when one does not take part
    Status(Place),
    /// Give a shard to other replicas. Those that are new run already, and are `joining` in the cluster's file
    Change(Change),
    /// Split a shard as the cluster's file says. The replicas of its parts run already
    Split(Split),
    /// Print the cluster's description, wherever it is
    Describe(description::Describe),
    /// Write the cluster's description into etcd, unless somebody else has changed it since it was read
    Write(description::Write),
}

#[derive(Args)]
pub struct Place {
    #[command(flatten)]
    connection: Connection,
    /// How many seconds each step may take
    #[arg(long, default_value = "60", value_name = "SECONDS", value_parser = seconds)]
    within: Duration,
}

#[derive(Args)]
pub struct Change {
    #[command(flatten)]
    place: Place,
    /// Its number in the cluster's file
    #[arg(long)]
    shard: u32,
    /// The numbers of all replicas that it is to have
    #[arg(long, value_delimiter = ',', required = true)]
    replicas: Vec<u64>,
}

#[derive(Args)]
pub struct Split {
    #[command(flatten)]
    place: Place,
    /// Its number in the cluster's file
    #[arg(long)]
    shard: u32,
    #[command(flatten)]
    unchecked: Unchecked,
}

impl Place {
    fn open(&self) -> anyhow::Result<Operator> {
        let (file, security) = self.connection.of(operator_id())?;
        Ok(Operator::open(&file, security, self.within)?)
    }

    fn observe(&self) -> anyhow::Result<Observer> {
        let id = self.connection.observer();
        let (file, security) = self.connection.of(id)?;
        Ok(Observer::open(&file, id, security)?)
    }
}

/// Where it fails, it tells why links were refused.
pub fn run(command: &Command) -> anyhow::Result<ExitCode> {
    let warnings = KeptWarnings::begin();
    let ended = perform(command);
    if !matches!(ended, Ok(ExitCode::SUCCESS)) {
        warnings.tell();
    }
    ended
}

fn perform(command: &Command) -> anyhow::Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(unless_interrupted(async {
        match command {
            Command::Status(place) => status(&place.observe()?).await,
            Command::Split(arguments) => split(arguments).await.map(|()| ExitCode::SUCCESS),
            Command::Change(arguments) => change(arguments).await.map(|()| ExitCode::SUCCESS),
            Command::Describe(arguments) => description::describe(arguments).await.map(|()| ExitCode::SUCCESS),
            Command::Write(arguments) => description::write(arguments).await.map(|()| ExitCode::SUCCESS),
        }
    }))
}

async fn status(observer: &Observer) -> anyhow::Result<ExitCode> {
    let file = observer.file().await?;
    let reports = observer.reports(&file).await?;
    let mut text = format!("{:<6} {:<8} {:<8} {:<6} {}\n", "SHARD", "REPLICA", "IS", "EPOCH", "STATE");
    let mut all_well = true;
    for shard in &file.shards {
        let lists = [("member", &shard.replicas), ("joining", &shard.joining), ("leaving", &shard.leaving)];
        for (kind, place) in lists.iter().flat_map(|(kind, list)| list.iter().map(move |place| (*kind, place))) {
            let report = reports.get(&ReplicaId(place.number));
            let epoch = report.map(|report| report.group.epoch.0.to_string()).unwrap_or_default();
            let state = word(kind, report);
            all_well &= kind != "member" || report.is_some_and(|report| report.takes_part);
            text += &format!("{:<6} {:<8} {:<8} {:<6} {}\n", shard.number, place.number, kind, epoch, state);
        }
    }
    iolite_host::print(&text)?;
    Ok(if all_well { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn word(kind: &str, report: Option<&Report>) -> &'static str {
    match report {
        None => "does not answer",
        Some(report) if report.takes_part => "takes part",
        Some(_) if kind == "joining" => "follows the members",
        Some(_) if kind == "leaving" => "may be stopped when all members take part",
        Some(_) => "does not take part",
    }
}

async fn change(arguments: &Change) -> anyhow::Result<()> {
    let operator = arguments.place.open()?;
    let file: ClusterFile = operator.change(arguments.shard, &arguments.replicas).await?;
    let Some(shard) = file.shard(arguments.shard) else { bail!("the cluster has no shard {}", arguments.shard) };
    let numbers = |list: &[ReplicaPlace]| list.iter().map(|at| at.number.to_string()).collect::<Vec<_>>().join(", ");
    let mut text = format!("shard {} has the replicas {} now\n", shard.number, numbers(&shard.replicas));
    text += operator.how_nodes_learn()?;
    if !shard.leaving.is_empty() {
        text += &format!("; then stop the replicas {}, and take them out of it", numbers(&shard.leaving));
    }
    iolite_host::print(&format!("{text}\n"))?;
    Ok(())
}

async fn split(arguments: &Split) -> anyhow::Result<()> {
    let operator = arguments.place.open()?;
    let file = operator.split(arguments.shard, arguments.unchecked.check()).await?;
    let leaving = file.shard(arguments.shard).map(|shard| shard.leaving.as_slice()).unwrap_or_default();
    let leaving: Vec<String> = leaving.iter().map(|place| place.number.to_string()).collect();
    iolite_host::print(&format!(
        "shard {} has ended, and its parts serve\n{}; then stop the replicas {}, and take them out of it\n",
        arguments.shard,
        operator.how_nodes_learn()?,
        leaving.join(", ")
    ))?;
    Ok(())
}
