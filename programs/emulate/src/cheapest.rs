//! `iolite-emulate cheapest`: the design and the size that meet an SLO at the least cost, why the others do not, and when the answer would turn.

use std::fmt::Write;
use std::process::ExitCode;

use anyhow::{Result, ensure};
use clap::Args;
use iolite_emulator::{
    Candidate, DESIGNS, Design, HARDWARE, Kept, Plan, PlanFile, PlanFiles, Prices, Promise, Searched, Slo, Trial,
    Verdict, WORKLOADS, judge, smallest, turns,
};
use serde_json::{Value, json};

use crate::{files, sizes};

#[derive(Args)]
pub struct Arguments {
    /// A workload: its name, or a file that ends in .toml
    #[arg(long, default_value = "paper-4.5-2")]
    workload: String,
    /// Latencies to keep, as "get p90 < 60 ms, put p90 < 20 s" [default: those of the workload]
    #[arg(long)]
    slo: Option<String>,
    /// Prices: the name of a file that comes with the program, or a file that ends in .toml
    #[arg(long, default_value = "2025")]
    prices: String,
    /// Designs, by name or file [default: all that keep what they are given]
    #[arg(long, value_delimiter = ',')]
    designs: Vec<String>,
    /// Hardware, by name or file
    #[arg(long, value_delimiter = ',', default_value = "hdd-7200")]
    hardware: Vec<String>,
    /// Other values for global parameters of those designs that have them: write_quorum=3,read_quorum=1
    #[arg(long, value_delimiter = ',', value_parser = files::parameter)]
    set: Vec<(String, String)>,
    /// The most servers in all
    #[arg(long, default_value_t = 10)]
    servers: u32,
    /// The most disks of a server
    #[arg(long, default_value_t = 8)]
    disks: u32,
    /// A size meets the SLO if it does so from so many seeds
    #[arg(long, default_value_t = 3)]
    seeds: u64,
    /// Run the best two in real time as well: a minute each
    #[arg(long)]
    confirm: bool,
    /// Tell all in JSON
    #[arg(long)]
    json: bool,
}

/// A candidate and what the search found.
struct Row {
    candidate: Candidate,
    searched: Searched,
}

/// All that is told.
struct Told<'a> {
    title: String,
    slo: &'a Slo,
    prices: &'a Prices,
    /// Rows that meet the SLO, the cheapest first, then the others, the closest first.
    rows: Vec<Row>,
    confirmed: Vec<String>,
}

pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let workload = files::find("workload", WORKLOADS, &arguments.workload)?;
    let slo = sizes::slo(&workload, arguments.slo.as_deref())?;
    let prices = sizes::prices(&arguments.prices)?;
    let space = sizes::space(arguments.servers, arguments.disks, arguments.seeds)?;
    let candidates = candidates(arguments, &workload, &prices)?;
    let searched = sizes::each(&candidates, |candidate| smallest(candidate, &slo, &space));
    let mut rows: Vec<Row> =
        candidates.into_iter().zip(searched).map(|(candidate, searched)| Row { candidate, searched }).collect();
    rows.sort_by(|one, other| order(&one.searched, &other.searched));
    let confirmed = if arguments.confirm { confirm(&rows, &slo) } else { Vec::new() };
    let title = format!(
        "{} ({slo}), by prices {}, up to {} servers of {} disks, {} seeds",
        workload.name, prices.name, space.servers, space.disks, arguments.seeds
    );
    let told = Told { title, slo: &slo, prices: &prices, rows, confirmed };
    let text = if arguments.json { told.json()? } else { told.text()? };
    crate::output::print(&text)?;
    let is_met = told.rows.iter().any(|row| row.searched.met.is_some());
    Ok(if is_met { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn candidates(arguments: &Arguments, workload: &PlanFile, prices: &Prices) -> Result<Vec<Candidate>> {
    let keeps = |kept: &&Kept| {
        let design = Design::load(kept.file, kept.text);
        design.is_ok_and(|design| design.promise != Promise::MissAllowed)
    };
    let names: Vec<String> = match arguments.designs.is_empty() {
        true => DESIGNS.iter().filter(keeps).map(|kept| kept.name.to_owned()).collect(),
        false => arguments.designs.clone(),
    };
    let designs = names.iter().map(|name| files::find("design", DESIGNS, name)).collect::<Result<Vec<_>>>()?;
    let parameters = files::parameters_of(&designs, &arguments.set)?;
    let mut candidates = Vec::new();
    for (design, parameters) in designs.iter().zip(parameters) {
        for hardware in &arguments.hardware {
            let files = PlanFiles {
                design: design.clone(),
                workload: workload.clone(),
                hardware: files::find("hardware", HARDWARE, hardware)?,
                parameters: parameters.clone(),
                roles: std::collections::BTreeMap::new(),
                disks: None,
                seed: 1,
            };
            candidates.push(Candidate::new(&files, prices)?);
        }
    }
    ensure!(!candidates.is_empty(), "there is no design to search: name some with --designs");
    Ok(candidates)
}

/// Orders rows: those that meet the SLO come first, by cost; the rest by how close it comes.
fn order(one: &Searched, other: &Searched) -> std::cmp::Ordering {
    let close = |searched: &Searched| searched.failed.as_ref().map_or((false, false, 0.0), Trial::closeness);
    match (&one.met, &other.met) {
        (Some(one), Some(other)) => one.cost.total_cmp(&other.cost),
        (Some(_), None) => std::cmp::Ordering::Less,
        (None, Some(_)) => std::cmp::Ordering::Greater,
        (None, None) => close(other).partial_cmp(&close(one)).unwrap_or(std::cmp::Ordering::Equal),
    }
}

/// Runs the best two in real time: a sentence each. A run that fails is told, and loses nothing of the search.
fn confirm(rows: &[Row], slo: &Slo) -> Vec<String> {
    let met = rows.iter().filter_map(|row| Some((row, row.searched.met.as_ref()?)));
    met.take(2)
        .map(|(row, trial)| {
            let design = &row.candidate.design;
            confirm_one(row, trial, slo)
                .unwrap_or_else(|error| format!("{design} could not be run in real time: {error:#}"))
        })
        .collect()
}

fn confirm_one(row: &Row, trial: &Trial, slo: &Slo) -> Result<String> {
    let (design, files) = (&row.candidate.design, row.candidate.files(trial.size, 1));
    let plan = Plan::read(&files)?;
    let (history, _) = crate::real::run(&files, &plan)?;
    if let Verdict::Broken { key, what } = judge(plan.design.promise, &history, |key| plan.before(key)) {
        let promise = row.candidate.promise;
        return Ok(format!("{design} in real time is not {promise}, at object {}: {what}", key.0));
    }
    let measured = slo.measure(&history, plan.workload.warm_up);
    let meets = if measured.iter().all(iolite_emulator::Measured::is_met) { "meets" } else { "does not meet" };
    let parts: Vec<String> = measured.iter().map(ToString::to_string).collect();
    Ok(format!("{design} in real time {meets} the SLO: {}", parts.join(", ")))
}

impl Told<'_> {
    fn text(&self) -> Result<String> {
        let mut text = String::new();
        writeln!(text, "{}\n", self.title)?;
        let currency = &self.prices.currency;
        match self.rows[0].searched.met.as_ref() {
            Some(met) => {
                let Row { candidate, .. } = &self.rows[0];
                let (design, hardware) = (&candidate.design, &candidate.hardware);
                writeln!(text, "The cheapest is {design} on {hardware}: {}, {:.0} {currency}.", size(met), met.cost)?;
                writeln!(text, "It promises: {}.", candidate.promise)?;
            }
            None => writeln!(text, "None of these designs meets the SLO with so many servers and disks.")?,
        }
        writeln!(text)?;
        writeln!(text, "{:<22}{:<12}{:>12}  size, SLO and limit", "design", "hardware", currency)?;
        for row in &self.rows {
            self.row(&mut text, row)?;
        }
        writeln!(text)?;
        self.turns(&mut text)?;
        self.confirmed.iter().try_for_each(|line| writeln!(text, "{line}."))?;
        Ok(text)
    }

    fn row(&self, text: &mut String, Row { candidate, searched }: &Row) -> Result<()> {
        let (design, hardware) = (&candidate.design, &candidate.hardware);
        let (cost, trial, meets) = match (&searched.met, &searched.failed) {
            (Some(met), _) => (format!("{:.0}", met.cost), met, ""),
            (None, Some(failed)) => ("not met".to_owned(), failed, "closest "),
            (None, None) => {
                writeln!(text, "{design:<22}{hardware:<12}{:>12}  it needs more servers than that", "not met")?;
                return Ok(());
            }
        };
        let measured: Vec<String> = trial.measured.iter().map(ToString::to_string).collect();
        let measured = if measured.is_empty() { String::new() } else { format!("; {}", measured.join(", ")) };
        writeln!(text, "{design:<22}{hardware:<12}{cost:>12}  {meets}{}{measured}; {}", size(trial), trial.limit())?;
        if let (Some(_), Some(below)) = (&searched.met, &searched.failed) {
            let measured: Vec<String> = below.measured.iter().map(ToString::to_string).collect();
            let measured = if measured.is_empty() { String::new() } else { format!("{}; ", measured.join(", ")) };
            writeln!(text, "{:48}too small: {}; {measured}{}", "", size(below), below.limit())?;
        }
        Ok(())
    }

    /// When another design would be the cheapest.
    fn turns(&self, text: &mut String) -> Result<()> {
        let has_next = self.rows.get(1).is_some_and(|row| row.searched.met.is_some());
        if has_next && self.all_turns().is_empty() {
            writeln!(text, "No price of one part alone would make {} the cheapest.", self.rows[1].candidate.design)?;
        }
        for (row, next, turn) in self.all_turns() {
            let Row { candidate, .. } = row;
            writeln!(
                text,
                "{} ({:.0} more) would cost as little with {} at {:.0} {}, which is {:.0} here.",
                candidate.design,
                next.cost - self.rows[0].searched.met.as_ref().map_or(0.0, |met| met.cost),
                turn.of,
                turn.at,
                self.prices.currency,
                turn.now
            )?;
        }
        Ok(())
    }

    fn all_turns(&self) -> Vec<(&Row, &Trial, iolite_emulator::Turn)> {
        let Some(best) = &self.rows[0].searched.met else { return Vec::new() };
        let Some((next, met)) = self.rows.get(1).and_then(|row| Some((row, row.searched.met.as_ref()?))) else {
            return Vec::new();
        };
        // With two hardwares there is no one price of a disk.
        let is_same = next.candidate.hardware == self.rows[0].candidate.hardware;
        let disk = is_same.then(|| self.prices.disk(&next.candidate.hardware).ok()).flatten();
        turns(best, met, self.prices, disk).into_iter().map(|turn| (next, met, turn)).collect()
    }

    fn json(&self) -> Result<String> {
        let bounds = |trial: &Trial| -> Vec<Value> {
            let one = |measured: &iolite_emulator::Measured| {
                let latency = measured.latency.map(|latency| latency.as_secs_f64() * 1e3);
                json!({"bound": measured.bound.to_string(), "measured_ms": latency, "ratio": measured.ratio()})
            };
            trial.measured.iter().map(one).collect()
        };
        let trial = |trial: &Option<Trial>| {
            trial.as_ref().map(|trial| {
                json!({
                    "nodes_with_disks": trial.parts.servers, "nodes_without": trial.parts.diskless,
                    "disks": trial.parts.disks, "cost": trial.cost, "slo": bounds(trial),
                    "keeps_up": trial.keeps_up, "limit": trial.limit(),
                })
            })
        };
        let cell = |Row { candidate, searched }: &Row| {
            json!({
                "design": candidate.design, "hardware": candidate.hardware, "promise": candidate.promise,
                "sizes": searched.sizes, "met": trial(&searched.met), "closest": trial(&searched.failed),
            })
        };
        let turns = self.all_turns().into_iter().map(|(row, _, turn)| {
            json!({"design": row.candidate.design, "price_of": turn.of, "now": turn.now, "turns_at": turn.at})
        });
        let value = json!({
            "slo": self.slo.to_string(), "prices": self.prices.name, "currency": self.prices.currency,
            "cells": self.rows.iter().map(cell).collect::<Vec<_>>(), "turns": turns.collect::<Vec<_>>(),
            "confirmed": self.confirmed,
        });
        Ok(serde_json::to_string_pretty(&value)? + "\n")
    }
}

/// A size, as people read it.
pub fn size(trial: &Trial) -> String {
    let several = |count: u32, what: &str| if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") };
    let servers = several(trial.parts.servers, "server");
    let disks = several(trial.size.disks, "disk");
    match (trial.parts.servers, trial.parts.diskless) {
        (0, diskless) => format!("{} without disks", several(diskless, "server")),
        (_, 0) => format!("{servers} of {disks}"),
        (_, diskless) => format!("{servers} of {disks} and {diskless} without"),
    }
}
