//! `iolite torture`: real processes under faults, judged.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, ensure};
use clap::Args;
use iolite_torture::{FaultKind, TortureOptions, Verdict, run as torture};

use crate::durability::Class;
use crate::seconds::seconds;

#[derive(Args)]
pub struct Arguments {
    /// Shards and replicas of each, like 2x3
    #[arg(long, default_value = "2x3", value_name = "SxN")]
    cluster: String,
    /// Gateways, which clients connect to
    #[arg(long, default_value_t = 2)]
    gateways: u16,
    /// How long faults are made
    #[arg(long, default_value = "60", value_parser = seconds)]
    seconds: Duration,
    /// Which: kill, power, pause, partition, skew, with commas; or none, with an empty text
    #[arg(long, default_value = "kill,power,pause,partition,skew", value_name = "KINDS")]
    faults: String,
    /// What acknowledged means to the replicas: with `memory` and `power` acknowledged transactions are lost, which has to be found
    #[arg(long, default_value = "fsync", value_name = "CLASS")]
    durability: Class,
    /// Clients at one time
    #[arg(long, default_value_t = 8)]
    clients: u32,
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
}

/// Nothing was found, and not everything was judged. Arguments that are wrong end with 2.
const NOT_JUDGED: u8 = 3;

pub fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let (shards, replicas) = arguments.cluster.split_once('x').context("--cluster is like 2x3")?;
    let kinds = arguments.faults.split(',').filter(|name| !name.is_empty()).map(str::parse::<FaultKind>);
    ensure!(arguments.clients > 0, "--clients is at least 1");
    let options = TortureOptions {
        program: std::env::current_exe().context("cannot find this program")?,
        shards: shards.parse().context("--cluster is like 2x3")?,
        replicas: replicas.parse().context("--cluster is like 2x3")?,
        gateways: arguments.gateways,
        clients: arguments.clients,
        time: arguments.seconds,
        faults: kinds.collect::<Result<BTreeSet<FaultKind>, String>>().map_err(anyhow::Error::msg)?,
        durability: arguments.durability.into(),
        seed: arguments.seed,
        history: arguments.history.clone(),
        answers_within: arguments.answers_within,
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let report = runtime.block_on(torture(&options))?;
    let text = if arguments.json { report.to_json().to_string() } else { report.to_string() };
    iolite_host::print(&format!("{text}\n"))?;
    Ok(match report.verdict() {
        Verdict::Clean => ExitCode::SUCCESS,
        Verdict::NotClean => ExitCode::FAILURE,
        Verdict::NotJudged => ExitCode::from(NOT_JUDGED),
    })
}
