//! One call, and all sessions that see it: `iolite bench fanout --sessions N`, on one gateway.
//!
//! The next call comes when every session has seen the last one: so each received each, and nothing was left out on the way.

mod crowd;

use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::bail;
use clap::Args;
use serde_json::{Map, json};

use crate::accounting::{CpuPerOp, Pid, Sides};
use crate::arguments::{Arguments, Role, Workload};
use crate::beside::{Beside, Line, Record};
use crate::child::ClientProcess;
use crate::hocuspocus::Hocuspocus;
use crate::intervals::Intervals;
use crate::measure::Measured;
use crate::metrics;
use crate::peer::Peer;
use crate::probe;
use crate::report::Report;
use crate::server::Server;
use crate::talk::{FromClient, RunResult, State, ToClient};
use crate::verify::verify;

pub use crowd::{FanArguments, run_fans};

#[derive(Args, Debug)]
pub struct FanoutOptions {
    /// Of fanout: how many sessions see every call
    #[arg(long, default_value_t = SESSIONS, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub sessions: u32,
}

const SESSIONS: u32 = 20;
/// Sessions that share a process.
const SESSIONS_OF_A_PROCESS: u32 = 250;
/// Calls before the first that counts.
const WARM_UP: u32 = 10;
/// From the last session's connection until memory is looked at.
const SETTLES_WITHIN: Duration = Duration::from_millis(500);

const LINES: &[Line] = &[
    ("memory_bytes_per_session", "/memory_bytes_per_session"),
    ("bytes_down_per_session", "/bytes_down_per_session"),
    ("processes", "/processes"),
    ("server cpu_us_per_op", "/cpu_us_per_op/server"),
    ("clients cpu_us_per_op", "/cpu_us_per_op/clients"),
];

impl FanoutOptions {
    /// What was asked for that only this workload has.
    pub fn name_of_any(&self) -> Option<&'static str> {
        (self.sessions != SESSIONS).then_some("--sessions")
    }
}

/// # Errors
/// When options do not fit together, or servers or clients do not start or fail. What the run found wrong is in the exit code.
pub fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    if let Some(other) = arguments.transactions.beside.iter().find(|peer| **peer != Peer::Hocuspocus) {
        bail!("{} is beside {}, not beside fanout", other.name(), other.beside());
    }
    let mut records = vec![on_iolite(arguments)?];
    if !arguments.transactions.beside.is_empty() {
        records.push(on_hocuspocus(arguments)?);
    }
    let settings = vec![
        ("workload", json!("fanout")),
        ("sessions", json!(arguments.fanout.sessions)),
        ("delay_ms", json!(arguments.delay_ms())),
    ];
    let beside = Beside { settings, records, lines: LINES };
    iolite_host::print(&beside.text(arguments.json)?)?;
    Ok(if beside.is_good() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn on_iolite(arguments: &Arguments) -> anyhow::Result<Record> {
    let server = Server::of(arguments)?;
    let address = server.clients_address();
    let pid = server.pid().expect("it was started here");
    let writer = ClientProcess::start(&address, Workload::Propagate, Role::Writer, 0)?;
    let (fan, memory) = Fan::gather(arguments, writer, pid, |sessions| crowd::start(&address, sessions))?;
    let verifies = || ClientProcess::start(&address, Workload::Propagate, Role::Verify, 0);
    let fanned = fan.measure(arguments, memory, || state(&mut verifies()?))?;
    let text = server.metrics()?;
    let durability = metrics::durability(&text).unwrap_or("unknown").to_owned();
    let report = report(arguments, &fanned, durability)?;
    let setting = format!("class {}, one replica", report.durability);
    Ok(record(arguments, "iolite", env!("CARGO_PKG_VERSION"), setting, report, &fanned))
}

fn on_hocuspocus(arguments: &Arguments) -> anyhow::Result<Record> {
    let delay = Duration::from_millis(u64::from(arguments.delay_ms()));
    let server = Hocuspocus::start(arguments.durability, delay)?;
    let writer = server.client(Role::Writer, 1)?;
    let readers = |sessions| server.client(Role::Reader, sessions);
    let (fan, memory) = Fan::gather(arguments, writer, server.pid(), readers)?;
    let fanned = fan.measure(arguments, memory, || server.read_state())?;
    let report = report(arguments, &fanned, arguments.durability.name())?;
    Ok(record(arguments, &Peer::Hocuspocus.name(), server.version(), server.setting().to_owned(), report, &fanned))
}

fn state(client: &mut ClientProcess) -> anyhow::Result<State> {
    match client.hear()? {
        FromClient::State(state) => Ok(state),
        other => bail!("a client said {other:?} instead of what it read"),
    }
}

/// What a run came to.
struct Fanned {
    measured: Measured,
    found: State,
    cpu: CpuPerOp,
    memory_bytes_per_session: f64,
}

/// One who calls, and all who see it.
pub struct Fan {
    server: Pid,
    writer: ClientProcess,
    readers: Vec<ClientProcess>,
}

impl Fan {
    /// All of them have said that they are ready. Each reader says when it has seen a call.
    pub fn new(server: Pid, writer: ClientProcess, readers: Vec<ClientProcess>) -> Fan {
        Fan { server, writer, readers }
    }

    /// With the memory that each session takes at the server.
    fn gather(
        arguments: &Arguments,
        mut writer: ClientProcess,
        server: Pid,
        start: impl Fn(u32) -> anyhow::Result<ClientProcess>,
    ) -> anyhow::Result<(Fan, f64)> {
        let sessions = arguments.fanout.sessions;
        writer.expect_ready()?;
        std::thread::sleep(SETTLES_WITHIN);
        let before = server.resident_bytes();
        let mut readers = Vec::new();
        for first in (0..sessions).step_by(SESSIONS_OF_A_PROCESS as usize) {
            readers.push(start(SESSIONS_OF_A_PROCESS.min(sessions - first))?);
        }
        readers.iter_mut().try_for_each(ClientProcess::expect_ready)?;
        std::thread::sleep(SETTLES_WITHIN);
        let more = server.resident_bytes().saturating_sub(before);
        Ok((Fan::new(server, writer, readers), more as f64 / f64::from(sessions)))
    }

    /// Calls as long as was asked for; the state is read while all are still connected.
    fn measure(
        mut self,
        arguments: &Arguments,
        memory_bytes_per_session: f64,
        read_state: impl FnOnce() -> anyhow::Result<State>,
    ) -> anyhow::Result<Fanned> {
        for _ in 0..WARM_UP {
            self.once()?;
        }
        let mut measured = Measured { asked_seconds: arguments.seconds, ..Measured::default() };
        let mut intervals = Intervals::default();
        let begun = Instant::now();
        let pids = [&self.writer].into_iter().chain(&self.readers).map(ClientProcess::pid);
        let sides = Sides::of(self.server, pids.collect());
        let whole = Duration::from_secs(u64::from(arguments.seconds));
        while begun.elapsed() < whole {
            let (seen_nanos, confirmed_nanos) = self.once()?;
            measured.latency.record(seen_nanos);
            measured.commit_latency.record(confirmed_nanos);
            intervals.record(begun.elapsed(), whole, seen_nanos);
        }
        measured.seconds = begun.elapsed().as_secs_f64();
        let cpu = sides.by_operation(measured.latency.counts().count());
        measured.intervals = intervals.counts();
        let found = read_state()?;
        measured.results = self.end()?;
        Ok(Fanned { measured, found, cpu, memory_bytes_per_session })
    }

    /// One call, which everybody sees: the time until the last one saw it, and until the caller knew that it was committed.
    ///
    /// # Errors
    /// When a client has failed.
    pub fn once(&mut self) -> anyhow::Result<(u64, u64)> {
        self.writer.tell(&ToClient::Call)?;
        let mut last = 0;
        for reader in &mut self.readers {
            let FromClient::Ran { at_nanos, .. } = reader.hear()? else { bail!("a reader did not say when it ran") };
            last = last.max(at_nanos);
        }
        let FromClient::Called(called) = self.writer.hear()? else { bail!("the writer did not say when it called") };
        Ok((last.saturating_sub(called.called_nanos), called.confirmed_nanos - called.called_nanos))
    }

    /// The processor time of the server up to now.
    pub fn server_cpu(&self) -> Duration {
        self.server.tree_cpu()
    }

    /// Ends all clients. Returns what the run of each came to, the writer's first.
    ///
    /// # Errors
    /// When a client has failed.
    pub fn end(&mut self) -> anyhow::Result<Vec<RunResult>> {
        let mut results = Vec::new();
        for client in [&mut self.writer].into_iter().chain(&mut self.readers) {
            client.tell(&ToClient::End)?;
            let FromClient::Result(result) = client.hear()? else { bail!("a client did not say what its run came to") };
            results.push(*result);
        }
        Ok(results)
    }
}

fn report(arguments: &Arguments, fanned: &Fanned, durability: String) -> anyhow::Result<Report> {
    let Fanned { measured, found, .. } = fanned;
    let findings = verify(Workload::Propagate, &measured.results, &State::default(), found);
    let report = measured.report(Workload::Propagate, findings);
    // Of calls that were measured: those before are committed too.
    let throughput_per_s = measured.latency.counts().count() as f64 / measured.seconds;
    let fsync_ms = probe::sync_ms(arguments.durability)?.into();
    Ok(Report { workload: "fanout".to_owned(), throughput_per_s, durability, fsync_ms, ..report })
}

fn record(
    arguments: &Arguments,
    system: &str,
    version: &str,
    setting: String,
    report: Report,
    fanned: &Fanned,
) -> Record {
    let sessions = arguments.fanout.sessions;
    let more = Map::from_iter([
        ("memory_bytes_per_session".to_owned(), json!(fanned.memory_bytes_per_session)),
        ("bytes_down_per_session".to_owned(), json!(report.bytes_down_per_op / f64::from(sessions))),
        ("cpu_us_per_op".to_owned(), json!(fanned.cpu)),
        ("processes".to_owned(), json!(sessions.div_ceil(SESSIONS_OF_A_PROCESS))),
    ]);
    let (system, version) = (system.to_owned(), version.to_owned());
    Record { system, version, durability_setting: setting, report, more }
}
