//! `iolite-emulate compare`: designs under workloads, each on one size: the SLO over what was measured, and what was busiest.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::process::ExitCode;

use anyhow::{Context, Result, ensure};
use clap::{Args, ValueEnum};
use iolite_emulator::{
    Candidate, DESIGNS, HARDWARE, PlanFile, PlanFiles, Prices, Size, Slo, Trial, WORKLOADS, smallest,
};
use serde_json::json;

use crate::{cheapest, files, sizes};

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum SizeOf {
    /// The number of servers and disks that the command names
    AsNamed,
    /// The cheapest size, for each workload, on which its own design meets the SLO: the first design for the first workload, and so on
    SmallestForItsOwn,
}

#[derive(Args)]
pub struct Arguments {
    /// Workloads, by name or file
    #[arg(long, value_delimiter = ',', default_value = "paper-4.5-2")]
    workload: Vec<String>,
    /// Designs, by name or file [default: all that come with the program]
    #[arg(long, value_delimiter = ',')]
    designs: Vec<String>,
    /// Hardware: its name, or a file that ends in .toml
    #[arg(long, default_value = "hdd-7200")]
    hardware: String,
    /// Latencies to keep, as "get p90 < 60 ms" [default: those of each workload]
    #[arg(long)]
    slo: Option<String>,
    /// Other values for global parameters of those designs that have them: write_quorum=3,read_quorum=1
    #[arg(long, value_delimiter = ',', value_parser = files::parameter)]
    set: Vec<(String, String)>,
    #[arg(long, value_enum, default_value = "as-named")]
    size: SizeOf,
    /// Nodes of each role that has disks; with --size smallest-for-its-own the most that are tried, in all
    #[arg(long, default_value_t = 4)]
    servers: u32,
    /// Disks of each of them; or the most that are tried
    #[arg(long, default_value_t = 8)]
    disks: u32,
    /// The worst of so many seeds counts
    #[arg(long, default_value_t = 1)]
    seeds: u64,
    /// Prices, by name or file
    #[arg(long, default_value = "2025")]
    prices: String,
    /// Tell all in JSON
    #[arg(long)]
    json: bool,
}

/// A workload with its SLO, its candidates and the size that they run on.
struct Line {
    workload: String,
    slo: Slo,
    candidates: Vec<Candidate>,
    size: Size,
}

/// A design under a workload.
struct Cell<'a> {
    line: &'a Line,
    candidate: &'a Candidate,
}

pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let prices = sizes::prices(&arguments.prices)?;
    let names: Vec<String> = match arguments.designs.is_empty() {
        true => DESIGNS.iter().map(|kept| kept.name.to_owned()).collect(),
        false => arguments.designs.clone(),
    };
    let designs = names.iter().map(|name| files::find("design", DESIGNS, name)).collect::<Result<Vec<_>>>()?;
    let is_own = arguments.size == SizeOf::SmallestForItsOwn;
    ensure!(
        !is_own || arguments.workload.len() <= designs.len(),
        "--size smallest-for-its-own takes a design for each workload, in the same order: name as many with --designs"
    );
    let workloads = arguments.workload.iter().enumerate();
    let lines =
        workloads.map(|(number, name)| line(arguments, &designs, &prices, number, name)).collect::<Result<Vec<_>>>()?;
    let cells: Vec<Cell<'_>> =
        lines.iter().flat_map(|line| line.candidates.iter().map(move |candidate| Cell { line, candidate })).collect();
    let seeds: Vec<u64> = (1..=arguments.seeds).collect();
    let trials = sizes::each(&cells, |cell| cell.candidate.run(cell.line.size, &cell.line.slo, &seeds));
    let text = if arguments.json { told_json(&cells, &trials)? } else { told(&lines, &cells, &trials, &prices)? };
    crate::output::print(&text)?;
    Ok(ExitCode::SUCCESS)
}

fn line(arguments: &Arguments, designs: &[PlanFile], prices: &Prices, number: usize, name: &str) -> Result<Line> {
    let space = sizes::space(arguments.servers, arguments.disks, arguments.seeds)?;
    let workload = files::find("workload", WORKLOADS, name)?;
    let slo = sizes::slo(&workload, arguments.slo.as_deref())?;
    let parameters = files::parameters_of(designs, &arguments.set)?;
    let hardware = files::find("hardware", HARDWARE, &arguments.hardware)?;
    let candidate = |(design, parameters): (&PlanFile, BTreeMap<String, String>)| {
        let (workload, hardware) = (workload.clone(), hardware.clone());
        let (roles, disks) = (BTreeMap::new(), None);
        let files = PlanFiles { design: design.clone(), workload, hardware, parameters, roles, disks, seed: 1 };
        Ok(Candidate::new(&files, prices)?)
    };
    let candidates = designs.iter().zip(parameters).map(candidate).collect::<Result<Vec<_>>>()?;
    let size = match arguments.size {
        SizeOf::AsNamed => Size { servers: arguments.servers, disks: arguments.disks },
        SizeOf::SmallestForItsOwn => {
            let own = &candidates[number];
            let met = smallest(own, &slo, &space).met;
            met.with_context(|| {
                format!("{} does not meet {slo} with so many servers and disks: take more", own.design)
            })?
            .size
        }
    };
    Ok(Line { workload: workload.name, slo, candidates, size })
}

fn told(lines: &[Line], cells: &[Cell<'_>], trials: &[Trial], prices: &Prices) -> Result<String> {
    let mut text = String::new();
    for line in lines {
        writeln!(text, "{} ({})", line.workload, line.slo)?;
        writeln!(
            text,
            "{:<22}{:>10}{:>10}  size, what was measured, and what was busiest",
            "design", "ratio", prices.currency
        )?;
        for (cell, trial) in cells.iter().zip(trials).filter(|(cell, _)| std::ptr::eq(cell.line, line)) {
            let ratio = match (&trial.stopped, trial.keeps_up) {
                (Some(_), _) => "-".to_owned(),
                (None, true) => format!("{:.2}", trial.ratio()),
                (None, false) => "behind".to_owned(),
            };
            let measured: Vec<String> = trial.measured.iter().map(ToString::to_string).collect();
            let measured = if measured.is_empty() { String::new() } else { format!("{}; ", measured.join(", ")) };
            let (design, cost, size) = (&cell.candidate.design, trial.cost, cheapest::size(trial));
            writeln!(text, "{design:<22}{ratio:>10}{cost:>10.0}  {size}; {measured}{}", trial.limit())?;
        }
        writeln!(text)?;
    }
    writeln!(text, "The ratio is the bound over what was measured: from 1 on the SLO is met.")?;
    Ok(text)
}

fn told_json(cells: &[Cell<'_>], trials: &[Trial]) -> Result<String> {
    let cell = |(cell, trial): (&Cell<'_>, &Trial)| {
        json!({
            "workload": cell.line.workload, "slo": cell.line.slo.to_string(), "design": cell.candidate.design,
            "hardware": cell.candidate.hardware, "size": cheapest::size(trial), "cost": trial.cost,
            "keeps_up": trial.keeps_up, "meets": trial.meets(), "limit": trial.limit(),
        })
    };
    let ratio = |(cell, trial): (&Cell<'_>, &Trial)| {
        let (workload, design) = (&cell.line.workload, &cell.candidate.design);
        trial
            .stopped
            .is_none()
            .then(|| json!({"slo_over_measured": trial.ratio(), "workload": workload, "design": design}))
    };
    let value = json!({
        "cells": cells.iter().zip(trials).map(cell).collect::<Vec<_>>(),
        "ratios": cells.iter().zip(trials).filter_map(ratio).collect::<Vec<_>>(),
    });
    Ok(serde_json::to_string_pretty(&value)? + "\n")
}
