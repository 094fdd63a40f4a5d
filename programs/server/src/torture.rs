//! `iolite torture`: real processes under faults, judged.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, ensure};
use clap::Args;
use iolite_torture::{
    FaultKind, ObjectsOptions, TortureOptions, Verdict, run as torture, run_node as objects_node, run_objects,
};

use crate::durability::Class;
use crate::seconds::seconds;

#[derive(Args)]
pub struct Arguments {
    /// Call objects under several managers, and judge what each promises, in place of transactions
    #[arg(long)]
    objects: bool,
    /// Shards and replicas of each, like 2x3, which is the default. With --objects there is one shard, of three replicas if not given
    #[arg(long, value_name = "SxN")]
    cluster: Option<String>,
    /// Gateways, which clients connect to: 2, or 3 with --objects
    #[arg(long)]
    gateways: Option<u16>,
    /// How long faults are made
    #[arg(long, default_value = "60", value_parser = seconds)]
    seconds: Duration,
    /// Which: kill, power, pause, partition, skew, with commas; or none, with an empty text
    #[arg(long, default_value = "kill,power,pause,partition,skew", value_name = "KINDS")]
    faults: String,
    /// What acknowledged means to the replicas: with `memory` and `power` acknowledged transactions are lost, which has to be found
    #[arg(long, default_value = "fsync", value_name = "CLASS", conflicts_with = "objects")]
    durability: Class,
    /// Clients at one time: 8, or 5 devices with --objects
    #[arg(long)]
    clients: Option<u32>,
    /// Chooses faults and transactions; the machine chooses the times
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Write what clients saw into this file
    #[arg(long, value_name = "FILE")]
    history: Option<PathBuf>,
    /// How many seconds after the faults every client has an answer; the run fails when one has none
    #[arg(long, default_value = "90", value_name = "SECONDS", value_parser = seconds)]
    answers_within: Duration,
    /// Print one line of JSON
    #[arg(long)]
    json: bool,
    /// A process of such a run: a host or a device, as the file says
    #[arg(long, hide = true, value_name = "FILE")]
    objects_node: Option<PathBuf>,
}

/// Nothing was found, and not everything was judged. Arguments that are wrong end with 2.
const NOT_JUDGED: u8 = 3;

pub fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    if let Some(file) = &arguments.objects_node {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(objects_node(file))?;
        return Ok(ExitCode::SUCCESS);
    }
    ensure!(arguments.clients != Some(0), "--clients is at least 1");
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let (verdict, text, json) = if arguments.objects {
        let report = runtime.block_on(run_objects(&objects(arguments)?))?;
        (report.verdict(), report.to_string(), report.to_json())
    } else {
        let report = runtime.block_on(torture(&transactions(arguments)?))?;
        (report.verdict(), report.to_string(), report.to_json())
    };
    let text = if arguments.json { json.to_string() } else { text };
    iolite_host::print(&format!("{text}\n"))?;
    Ok(match verdict {
        Verdict::Clean => ExitCode::SUCCESS,
        Verdict::NotClean => ExitCode::FAILURE,
        Verdict::NotJudged => ExitCode::from(NOT_JUDGED),
    })
}

fn transactions(arguments: &Arguments) -> anyhow::Result<TortureOptions> {
    let (shards, replicas) = shape(arguments, "2x3")?;
    Ok(TortureOptions {
        program: program()?,
        shards,
        replicas,
        gateways: arguments.gateways.unwrap_or(2),
        clients: arguments.clients.unwrap_or(8),
        time: arguments.seconds,
        faults: faults(arguments)?,
        durability: arguments.durability.into(),
        seed: arguments.seed,
        history: arguments.history.clone(),
        answers_within: arguments.answers_within,
    })
}

fn objects(arguments: &Arguments) -> anyhow::Result<ObjectsOptions> {
    let (shards, replicas) = shape(arguments, "1x3")?;
    ensure!(shards == 1, "--objects has one shard: --cluster is like 1x3");
    Ok(ObjectsOptions {
        program: program()?,
        replicas,
        gateways: arguments.gateways.unwrap_or(3),
        devices: arguments.clients.unwrap_or(5),
        time: arguments.seconds,
        faults: faults(arguments)?,
        seed: arguments.seed,
        history: arguments.history.clone(),
        answers_within: arguments.answers_within,
    })
}

fn program() -> anyhow::Result<PathBuf> {
    std::env::current_exe().context("cannot find this program")
}

/// Shards, and replicas of each.
fn shape(arguments: &Arguments, default: &str) -> anyhow::Result<(u32, u64)> {
    let cluster = arguments.cluster.as_deref().unwrap_or(default);
    let (shards, replicas) = cluster.split_once('x').context("--cluster is like 2x3")?;
    Ok((shards.parse().context("--cluster is like 2x3")?, replicas.parse().context("--cluster is like 2x3")?))
}

fn faults(arguments: &Arguments) -> anyhow::Result<BTreeSet<FaultKind>> {
    let kinds = arguments.faults.split(',').filter(|name| !name.is_empty()).map(str::parse::<FaultKind>);
    kinds.collect::<Result<_, String>>().map_err(anyhow::Error::msg)
}
