//! The report of a run, as a table for people and as JSON for programs.

use std::fmt::Write;

use anyhow::Result;
use iolite_emulator::{Deployment, Percentiles, Plan, Report, Verdict};
use serde_json::json;

/// One run: by which clock, what came of it, what the judge says.
pub struct Cell {
    pub clock: &'static str,
    pub report: Report,
    pub verdict: Verdict,
}

type Column = (&'static str, fn(&Percentiles) -> f64);

const COLUMNS: [Column; 4] =
    [("p50", |of| of.p50_ms), ("p90", |of| of.p90_ms), ("p99", |of| of.p99_ms), ("longest", |of| of.longest_ms)];

pub fn text(plan: &Plan, cells: &[Cell]) -> Result<String> {
    let mut text = String::new();
    writeln!(text, "{} under {} on {}, seed {}", plan.design.name, plan.workload.name, plan.hardware.name, plan.seed)?;
    writeln!(text, "{}; {} disks a node; {}", nodes(plan), plan.deployment.disks(), plan.workload.about)?;
    write!(text, "\n{:<10}{:<10}", "clock", "ms of")?;
    COLUMNS.iter().try_for_each(|(name, _)| write!(text, "{name:>12}"))?;
    writeln!(text, "{:>12}", "count")?;
    for cell in cells {
        for (name, percentiles) in operations(&cell.report) {
            write!(text, "{:<10}{name:<10}", cell.clock)?;
            COLUMNS.iter().try_for_each(|(_, value)| write!(text, "{:>12.2}", value(percentiles)))?;
            writeln!(text, "{:>12}", percentiles.count)?;
        }
    }
    for (name, percentile, ratio) in ratios(cells) {
        writeln!(text, "real is {:+.1} % of virtual at the {percentile} of {name}", (ratio - 1.0) * 100.0)?;
    }
    for cell in cells {
        writeln!(text)?;
        for busy in &cell.report.busiest {
            let disk = match busy.seeking + busy.rotating > 0.0 {
                true => format!(
                    ", of which {:.0} % seeks and {:.0} % rotation",
                    busy.seeking * 100.0,
                    busy.rotating * 100.0
                ),
                false => String::new(),
            };
            writeln!(text, "{}: busiest is {}: {:.1} %{disk}", cell.clock, busy.what, busy.share * 100.0)?;
        }
        for (what, count) in &cell.report.failures {
            writeln!(text, "{}: {count} operations ended with: {what}", cell.clock)?;
        }
        writeln!(text, "{}: {}", cell.clock, judged(plan, &cell.verdict))?;
    }
    Ok(text)
}

pub fn json(plan: &Plan, cells: &[Cell]) -> Result<String> {
    let cell = |cell: &Cell| {
        json!({
            "design": plan.design.name, "workload": plan.workload.name, "hardware": plan.hardware.name,
            "nodes": nodes(plan), "disks": plan.deployment.disks(), "seed": plan.seed, "clock": cell.clock,
            "report": cell.report, "judge": judged(plan, &cell.verdict),
            "holds": matches!(cell.verdict, Verdict::Holds { .. }),
        })
    };
    let ratio = |(name, percentile, ratio): (&str, &str, f64)| json!({"real_over_virtual": ratio, "of": name, "at": percentile});
    let value = json!({
        "cells": cells.iter().map(cell).collect::<Vec<_>>(),
        "ratios": ratios(cells).into_iter().map(ratio).collect::<Vec<_>>(),
    });
    Ok(serde_json::to_string_pretty(&value)? + "\n")
}

fn operations(report: &Report) -> impl Iterator<Item = (&'static str, &Percentiles)> {
    [("puts", &report.puts), ("gets", &report.gets)].into_iter().filter(|(_, percentiles)| percentiles.count > 0)
}

/// The ratios of two cells, the second over the first: operations, percentile, ratio.
fn ratios(cells: &[Cell]) -> Vec<(&'static str, &'static str, f64)> {
    let [one, other] = cells else { return Vec::new() };
    let pairs = operations(&one.report).zip(operations(&other.report));
    let of = |((name, one), (_, other)): ((&'static str, &Percentiles), (_, &Percentiles))| {
        COLUMNS[..3]
            .iter()
            .map(|(percentile, value)| (name, *percentile, value(other) / value(one)))
            .collect::<Vec<_>>()
    };
    pairs.flat_map(of).collect()
}

fn nodes(plan: &Plan) -> String {
    let mut counts = plan.design.counts();
    counts.remove(Deployment::CLIENT_ROLE);
    let counts = counts.keys().map(|role| format!("{role}={}", plan.deployment.of(role).len()));
    counts.collect::<Vec<_>>().join(", ")
}

fn judged(plan: &Plan, verdict: &Verdict) -> String {
    let promise = plan.design.promise.name();
    match verdict {
        Verdict::Holds { operations, objects } => {
            format!("the judge finds it {promise}, over {operations} operations on {objects} objects")
        }
        Verdict::Broken { key, what } => format!("the judge finds it not {promise}, at object {}: {what}", key.0),
    }
}
