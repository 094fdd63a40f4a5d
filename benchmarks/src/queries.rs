//! One changed row, and who watches a query over a table: `iolite bench query --rows 10,10000,1000000`.
//!
//! Each size has a server of its own. The next change comes when the watcher has seen the last one, so what is counted for a change is of this change alone.

mod crowd;
mod table;
mod watching;

use std::process::ExitCode;

use anyhow::bail;
use clap::Args;
use serde::Serialize;

use crate::arguments::Arguments;
use crate::latency::Percentiles;
use crate::server::Server;

#[derive(Args, Debug)]
pub struct QueryOptions {
    /// Of query: how many rows the table has, each with a server of its own. Of sync-overhead: how many a change set has
    #[arg(long, value_name = "N,...", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    pub rows: Vec<u32>,
    /// Of query: how many others watch the table, each by a query of its own that no row answers
    #[arg(long, default_value_t = 0, value_name = "N", value_parser = clap::value_parser!(u32).range(..=100_000))]
    pub watchers: u32,
}

const ROWS_MIN: u32 = 10;
const ROWS: &[u32] = &[10, 10_000, 1_000_000];

#[derive(Clone, Debug, Serialize)]
struct Report {
    workload: &'static str,
    durability: String,
    /// Of the query: its rows by rank, from the highest, so many.
    answers: usize,
    /// Others who watch the table, each by a query of its own that no row answers.
    watchers: u32,
    violations: u32,
    points: Vec<Point>,
}

/// What a table of one size came to.
#[derive(Clone, Debug, Serialize)]
struct Point {
    rows: u32,
    load_seconds: f64,
    /// Of the whole server, when all is loaded.
    memory_bytes: u64,
    /// From asking until the answer is there; the first one has the index made.
    first_answer_ms: f64,
    second_answer_ms: f64,
    /// A column of an answer changes that the query does not look at.
    changed: Changes,
    /// A row that the watcher does not hold comes in as the highest, and leaves, in turn.
    moved: Changes,
    violations: u32,
}

/// Changes of one kind, one at a time.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Changes {
    pub count: u64,
    /// From the call until the watcher's run with it.
    pub latency_ms: Percentiles,
    pub server_cpu_us_per_op: f64,
    /// Who changes and who watches.
    pub clients_cpu_us_per_op: f64,
    /// To who watches.
    pub bytes_down_per_op: f64,
}

impl QueryOptions {
    /// What was asked for that only this workload has.
    pub fn name_of_any(&self) -> Option<&'static str> {
        (self.watchers > 0).then_some("--watchers")
    }

    /// The same of one that `sync-overhead` has too.
    pub fn name_of_rows(&self) -> Option<&'static str> {
        (!self.rows.is_empty()).then_some("--rows")
    }
}

/// # Errors
/// When a server or a client does not start or fails. What the run found wrong is in the exit code.
pub fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    if arguments.queries.rows.iter().any(|rows| *rows < ROWS_MIN) {
        bail!("--rows of query: {ROWS_MIN} at least");
    }
    let sizes = if arguments.queries.rows.is_empty() { ROWS } else { &arguments.queries.rows };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let watchers = arguments.queries.watchers;
    let mut points = Vec::new();
    for rows in sizes {
        let server = Server::of(arguments)?;
        points.push(runtime.block_on(watching::measure(&server, *rows, watchers, arguments.seconds))?);
    }
    let violations = points.iter().map(|point| point.violations).sum();
    let durability = arguments.durability.name();
    let report = Report { workload: "query", durability, answers: table::ANSWERS, watchers, violations, points };
    let text = if arguments.json { serde_json::to_string(&report)? } else { in_words(&report) };
    iolite_host::print(&text)?;
    Ok(if violations == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn in_words(report: &Report) -> String {
    let Report { answers, watchers, durability, .. } = report;
    let head = format!("query: the {answers} highest of a table, {watchers} other queries beside, class {durability}");
    let kind = |name: &str, changes: &Changes| {
        let Changes { count, latency_ms, server_cpu_us_per_op, clients_cpu_us_per_op, bytes_down_per_op } = changes;
        let Percentiles { p50, p99, .. } = latency_ms;
        format!(
            "    {name:<8} {count} times, p50 {p50:.2} ms, p99 {p99:.2} ms, {server_cpu_us_per_op:.0} us of the server and {clients_cpu_us_per_op:.0} of the clients, {bytes_down_per_op:.0} bytes down"
        )
    };
    let point = |point: &Point| {
        let Point { rows, load_seconds, first_answer_ms, second_answer_ms, violations, .. } = point;
        [
            format!("  {rows} rows, loaded in {load_seconds:.1} s; first answer {first_answer_ms:.1} ms, second one {second_answer_ms:.1} ms; {violations} wrong"),
            kind("changed", &point.changed),
            kind("moved", &point.moved),
        ]
        .join("\n")
    };
    [head].into_iter().chain(report.points.iter().map(point)).collect::<Vec<_>>().join("\n")
}
