//! One run: a server, clients, the workload, a restart, and what a fresh session finds.

use std::process::ExitCode;

use anyhow::bail;
use serde_json::json;

use crate::accounting::CpuPerOp;
use crate::arguments::{Arguments, Role, Workload};
use crate::beside::{Beside, Record};
use crate::child::ClientProcess;
use crate::intervals::IntervalCounts;
use crate::latency::Latencies;
use crate::metrics;
use crate::probe;
use crate::propagate;
use crate::report::Report;
use crate::server::Server;
use crate::talk::{FromClient, RunResult, State, ToClient};
use crate::verify::{Findings, verify};

/// The results of all clients together.
#[derive(Debug, Default)]
pub struct Measured {
    pub results: Vec<RunResult>,
    pub latency: Latencies,
    pub commit_latency: Latencies,
    /// Of the run as long as it was asked for.
    pub intervals: IntervalCounts,
    pub asked_seconds: u32,
    /// The longest client's.
    pub seconds: f64,
    /// Of `propagate` on a server that was started here.
    pub cpu: Option<CpuPerOp>,
}

/// Measures a workload and prints the report.
///
/// # Errors
/// When server or clients do not start or fail. What the run found wrong is in the exit code.
pub fn run(arguments: &Arguments, workload: Workload) -> anyhow::Result<ExitCode> {
    if workload == Workload::Propagate && arguments.clients > 1 {
        iolite_host::warn(
            "note: propagate measures one client that calls and one that listens, whatever --clients says",
        );
    }
    let mut server = Server::of(arguments)?;
    prepare(&server, workload)?;
    let before = read_state(&server, workload)?;
    let measured = match workload {
        Workload::Propagate => propagate::run(&server, arguments, workload)?,
        Workload::Counter | Workload::Rmw | Workload::Bank | Workload::Append => {
            run_load(&server, arguments, workload)?
        }
    };
    let text = server.metrics()?;
    server.restart()?;
    let after = read_state(&server, workload)?;
    let findings = verify(workload, &measured.results, &before, &after);
    let report = report_of(workload, &measured, findings, &text);
    let (text, good) = match arguments.transactions.beside.is_empty() {
        true => (report.text(arguments.json)?, report.is_good()),
        false => {
            let beside = beside(arguments, &measured, report)?;
            (beside.text(arguments.json)?, beside.is_good())
        }
    };
    iolite_host::print(&text)?;
    Ok(if good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// With Hocuspocus in the same run.
fn beside(arguments: &Arguments, measured: &Measured, mut report: Report) -> anyhow::Result<Beside> {
    // Both records say the same of the disk.
    let journal = std::mem::replace(&mut report.fsync_ms, probe::sync_ms(arguments.durability)?.into());
    let mut more = propagate::more(measured);
    more.insert("journal_sync_ms".to_owned(), json!(journal));
    let own = Record {
        system: "iolite".to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        durability_setting: format!("class {}, one replica", report.durability),
        report,
        more,
    };
    let settings = vec![("workload", json!("propagate")), ("delay_ms", json!(arguments.delay_ms()))];
    Ok(Beside { settings, records: vec![own, propagate::beside(arguments)?], lines: propagate::LINES })
}

fn prepare(server: &Server, workload: Workload) -> anyhow::Result<()> {
    match workload {
        Workload::Bank => ClientProcess::start(&server.clients_address(), workload, Role::Prepare, 0)?.end(),
        Workload::Counter | Workload::Rmw | Workload::Append | Workload::Propagate => Ok(()),
    }
}

fn read_state(server: &Server, workload: Workload) -> anyhow::Result<State> {
    let mut client = ClientProcess::start(&server.clients_address(), workload, Role::Verify, 0)?;
    match client.hear()? {
        FromClient::State(state) => Ok(state),
        other => bail!("a client said {other:?} instead of what it read"),
    }
}

fn run_load(server: &Server, arguments: &Arguments, workload: Workload) -> anyhow::Result<Measured> {
    let address = server.clients_address();
    let start = |number| ClientProcess::start(&address, workload, Role::Load, number);
    let mut clients = (1..=arguments.clients).map(start).collect::<anyhow::Result<Vec<_>>>()?;
    for client in &mut clients {
        client.expect_ready()?;
    }
    for client in &mut clients {
        client.tell(&ToClient::Run { seconds: arguments.seconds })?;
    }
    let mut measured = Measured { asked_seconds: arguments.seconds, ..Measured::default() };
    for client in &mut clients {
        let FromClient::Result(result) = client.hear()? else { bail!("a client did not say what its run came to") };
        measured.seconds = measured.seconds.max(result.nanos as f64 / 1e9);
        measured.latency.add(&result.commit_latency);
        measured.commit_latency.add(&result.commit_latency);
        measured.intervals.add(&result.intervals);
        measured.results.push(*result);
    }
    Ok(measured)
}

impl Measured {
    /// What the run came to; durability and syncs are the server's to say.
    pub fn report(&self, workload: Workload, findings: Findings) -> Report {
        let total = |of: fn(&RunResult) -> u64| self.results.iter().map(of).sum::<u64>();
        let committed = total(|result| result.committed);
        let (attempts, rejected) = (total(|result| result.attempts), total(|result| result.rejected));
        let per_op = |bytes: u64| if committed == 0 { 0.0 } else { bytes as f64 / committed as f64 };
        Report {
            workload: workload.name(),
            seconds: self.seconds,
            throughput_per_s: if self.seconds > 0.0 { committed as f64 / self.seconds } else { 0.0 },
            by_interval: self.intervals.report(f64::from(self.asked_seconds)),
            latency_ms: self.latency.percentiles(),
            commit_latency_ms: self.commit_latency.percentiles(),
            committed,
            aborts: attempts.saturating_sub(committed),
            retries: attempts.saturating_sub(committed + rejected),
            unknown: total(|result| result.unknown),
            lost_updates: findings.lost_updates,
            violations: findings.violations + total(|result| result.violations),
            bytes_up_per_op: per_op(total(|result| result.bytes_up)),
            bytes_down_per_op: per_op(total(|result| result.bytes_down)),
            durability: "unknown".to_owned(),
            fsync_ms: None.into(),
        }
    }
}

/// With what the server's metrics say.
fn report_of(workload: Workload, measured: &Measured, findings: Findings, text: &str) -> Report {
    let sync_seconds = metrics::number(text, "iolite_journal_sync_seconds{quantile=\"0.5\"}");
    Report {
        durability: metrics::durability(text).unwrap_or("unknown").to_owned(),
        fsync_ms: sync_seconds.map(|seconds| seconds * 1000.0).into(),
        ..measured.report(workload, findings)
    }
}
