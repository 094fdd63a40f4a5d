//! `iolite shard`: who keeps the shards of a cluster, on whichever machines it is.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::bail;
use clap::{Args, Subcommand};
use iolite_cluster::{LocalCluster, Operator};
use iolite_host::{LinkSecurity, TlsFiles};
use iolite_node::config::{ClusterFile, ReplicaPlace};
use iolite_replication::node::{ReplicaId, Report};

#[derive(Subcommand)]
pub enum Command {
    /// Tell of each replica where it stands; fails when one does not take part
    Status(Connection),
    /// Give a shard to other replicas. Those that are new run already, and are `joining` in the cluster's file
    Change(Change),
    /// Split a shard as the cluster's file says. The replicas of its parts run already
    Split(Split),
}

/// By what an operator's tool reaches the replicas. It is a node with a name of its own: gateway-4095.
#[derive(Args)]
pub struct Connection {
    /// The cluster's file, which is brought up to date
    #[arg(long, value_name = "FILE", required_unless_present = "data")]
    cluster: Option<PathBuf>,
    /// The certificate of gateway-4095
    #[arg(long, value_name = "DIR", conflicts_with = "plain")]
    certificates: Option<PathBuf>,
    /// No certificates: only where all nodes are on this machine
    #[arg(long)]
    plain: bool,
    /// Instead of all these: the folder of a cluster of `iolite cluster up`
    #[arg(long, value_name = "DIR", conflicts_with_all = ["cluster", "certificates", "plain"])]
    data: Option<PathBuf>,
    /// How many seconds each step may take
    #[arg(long, default_value_t = 60)]
    within: u64,
}

#[derive(Args)]
pub struct Change {
    #[command(flatten)]
    connection: Connection,
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
    connection: Connection,
    /// Its number in the cluster's file
    #[arg(long)]
    shard: u32,
}

impl Connection {
    fn open(&self) -> anyhow::Result<Operator> {
        let within = Duration::from_secs(self.within);
        if let Some(folder) = &self.data {
            let cluster = LocalCluster::open(folder)?;
            return Ok(Operator::open(&cluster.file(), cluster.operator_security()?, within)?);
        }
        let Some(file) = &self.cluster else { bail!("give the cluster's file with --cluster") };
        let security = match (&self.certificates, self.plain) {
            (Some(folder), _) => LinkSecurity::Tls(TlsFiles::in_folder(folder)),
            (None, true) => LinkSecurity::PlainOnLoopback,
            (None, false) => bail!(
                "give the certificate of gateway-4095 with --certificates (`iolite certificate issue gateway-4095` makes one), or --plain where all nodes \
                 are on this machine"
            ),
        };
        Ok(Operator::open(file, security, within)?)
    }
}

pub fn run(command: &Command) -> anyhow::Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        match command {
            Command::Status(connection) => status(&connection.open()?).await,
            Command::Split(arguments) => split(arguments).await.map(|()| ExitCode::SUCCESS),
            Command::Change(arguments) => change(arguments).await.map(|()| ExitCode::SUCCESS),
        }
    })
}

async fn status(operator: &Operator) -> anyhow::Result<ExitCode> {
    let file = operator.file()?;
    let reports = operator.reports().await?;
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
    let operator = arguments.connection.open()?;
    let file: ClusterFile = operator.change(arguments.shard, &arguments.replicas).await?;
    let Some(shard) = file.shard(arguments.shard) else { bail!("the cluster has no shard {}", arguments.shard) };
    let numbers = |list: &[ReplicaPlace]| list.iter().map(|at| at.number.to_string()).collect::<Vec<_>>().join(", ");
    let mut text = format!("shard {} has the replicas {} now\n", shard.number, numbers(&shard.replicas));
    text += "Bring the cluster's file to every node";
    if !shard.leaving.is_empty() {
        text += &format!("; then stop the replicas {}, and take them out of it", numbers(&shard.leaving));
    }
    iolite_host::print(&format!("{text}\n"))?;
    Ok(())
}

async fn split(arguments: &Split) -> anyhow::Result<()> {
    let operator = arguments.connection.open()?;
    let file = operator.split(arguments.shard).await?;
    let leaving = file.shard(arguments.shard).map(|shard| shard.leaving.as_slice()).unwrap_or_default();
    let leaving: Vec<String> = leaving.iter().map(|place| place.number.to_string()).collect();
    iolite_host::print(&format!(
        "shard {} has ended, and its parts serve\nBring the cluster's file to every node; then stop the replicas {}, and take them out of it\n",
        arguments.shard,
        leaving.join(", ")
    ))?;
    Ok(())
}
