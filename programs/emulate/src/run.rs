//! `iolite-emulate run`: one design under one workload, in virtual time, in real time, or both side by side.

use std::collections::BTreeMap;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use clap::{Args, ValueEnum};
use iolite_emulator::{
    DESIGNS, HARDWARE, NodeId, Plan, PlanFiles, Recorded, Report, Roughness, Span, Verdict, WORKLOADS, hunt, judge,
    read_span,
};

use crate::files;
use crate::table::{self, Cell};

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Clock {
    /// All nodes in one thread; much faster than real time, and the same to the last digit from the same seed
    Virtual,
    /// A process a node over loopback; disks wait for as long as their models say
    Real,
    /// Both, side by side
    Both,
}

#[derive(Args)]
pub struct Arguments {
    /// A design: its name, or a file that ends in .toml
    design: String,
    /// A workload: its name, or a file that ends in .toml [default: paper-4.5-2; with --broken or --seeds few-keys]
    #[arg(long)]
    workload: Option<String>,
    /// Hardware: its name, or a file that ends in .toml
    #[arg(long, default_value = "hdd-7200")]
    hardware: String,
    /// How many nodes of each role, where not as many as the design says: store=9,directory=1
    #[arg(long, value_delimiter = ',', value_parser = role)]
    roles: Vec<(String, u32)>,
    /// Disks a node, where not as many as the hardware says
    #[arg(long)]
    disks: Option<u32>,
    #[arg(long, value_enum, default_value = "virtual")]
    clock: Clock,
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Take one rule of the design out, and look for a seed at which the judge sees it
    #[arg(long)]
    broken: Option<String>,
    /// Judge runs from all these seeds, with messages that are late, instead of measuring one: 1..60
    #[arg(long, value_parser = seeds)]
    seeds: Option<(u64, u64)>,
    /// Stop a node for good, in virtual time: store-2@10s
    #[arg(long, value_parser = stop)]
    stop: Vec<(String, Span)>,
    /// Tell all in JSON
    #[arg(long)]
    json: bool,
}

fn role(text: &str) -> Result<(String, u32), String> {
    let parts = text.split_once('=').and_then(|(role, count)| Some((role.to_owned(), count.parse().ok()?)));
    parts.ok_or_else(|| "write a role and how many: store=9".to_owned())
}

fn seeds(text: &str) -> Result<(u64, u64), String> {
    let parts = text.split_once("..").and_then(|(first, last)| Some((first.parse().ok()?, last.parse().ok()?)));
    parts.filter(|(first, last)| first <= last).ok_or_else(|| "write the first and the last: 1..60".to_owned())
}

fn stop(text: &str) -> Result<(String, Span), String> {
    let parts = text.split_once('@').and_then(|(node, at)| Some((node.to_owned(), read_span(at)?)));
    parts.ok_or_else(|| "write a node and when: store-2@10s".to_owned())
}

pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let is_hunt = arguments.broken.is_some() || arguments.seeds.is_some();
    let default = if is_hunt { "few-keys" } else { "paper-4.5-2" };
    let files = PlanFiles {
        design: match &arguments.broken {
            Some(rule) => files::broken(&arguments.design, rule)?,
            None => files::find("design", DESIGNS, &arguments.design)?,
        },
        workload: files::find("workload", WORKLOADS, arguments.workload.as_deref().unwrap_or(default))?,
        hardware: files::find("hardware", HARDWARE, &arguments.hardware)?,
        roles: arguments.roles.iter().cloned().collect::<BTreeMap<_, _>>(),
        disks: arguments.disks,
        seed: arguments.seed,
    };
    if is_hunt {
        return hunt_seeds(arguments, &files);
    }
    let plan = Plan::read(&files)?;
    let mut cells = Vec::new();
    if arguments.clock != Clock::Real {
        cells.push(in_virtual_time(arguments, &plan)?);
    }
    if arguments.clock != Clock::Virtual {
        if !arguments.stop.is_empty() {
            bail!("--stop is for virtual time only: leave it out, or take --clock virtual");
        }
        let (history, busiest) = crate::real::run(&files, &plan)?;
        let report = Report { busiest: busiest.into_iter().collect(), ..Report::of(&history, plan.workload.warm_up) };
        cells.push(Cell { clock: "real", report, verdict: verdict(&plan, &history) });
    }
    let text = if arguments.json { table::json(&plan, &cells)? } else { table::text(&plan, &cells)? };
    crate::output::print(&text)?;
    let holds = |cell: &Cell| matches!(cell.verdict, Verdict::Holds { .. });
    Ok(if cells.iter().all(holds) { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn in_virtual_time(arguments: &Arguments, plan: &Plan) -> Result<Cell> {
    let stops = arguments.stop.iter().map(|(name, at)| Ok((node(plan, name)?, *at))).collect::<Result<Vec<_>>>()?;
    let ran = iolite_emulator::run(plan, &Roughness { stops, ..Roughness::default() })?;
    Ok(Cell { clock: "virtual", report: Report::of_virtual(plan, &ran), verdict: verdict(plan, &ran.history) })
}

fn node(plan: &Plan, name: &str) -> Result<NodeId> {
    let known: Vec<String> = plan.deployment.nodes().skip(1).map(|node| plan.deployment.name(node)).collect();
    let named = plan.deployment.named(name).filter(|node| *node != iolite_emulator::Deployment::CLIENT);
    named.with_context(|| format!("there is no node `{name}`: name one of {}", known.join(", ")))
}

fn verdict(plan: &Plan, history: &[Recorded]) -> Verdict {
    judge(plan.design.promise, history, |key| plan.before(key))
}

/// With a rule taken out, it is a success that the judge sees it; without, that it sees nothing.
fn hunt_seeds(arguments: &Arguments, files: &PlanFiles) -> Result<ExitCode> {
    if arguments.clock != Clock::Virtual || !arguments.stop.is_empty() {
        bail!("seeds are judged in virtual time, with all nodes: leave --clock and --stop out");
    }
    let (first, last) = arguments.seeds.unwrap_or((1, 60));
    let found = hunt(files, first..=last)?;
    let (name, count) = (&files.design.name, last - first + 1);
    let text = match &found {
        Some(found) => format!("{name}: the judge found, with seed {}: {}\n", found.seed, found.what),
        None => format!("{name}: the judge found nothing in {count} seeds\n"),
    };
    crate::output::print(&text)?;
    Ok(if found.is_some() == arguments.broken.is_some() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
