//! From one client's call to another client's reactive transaction, one at a time.
//!
//! Both are processes of this machine, so the times are of one clock.

use std::time::{Duration, Instant};

use anyhow::bail;
use serde_json::{Map, Value, json};

use crate::accounting::{Pid, Sides};
use crate::arguments::{Arguments, Role, Workload};
use crate::beside::{Line, Record};
use crate::child::ClientProcess;
use crate::hocuspocus::Hocuspocus;
use crate::intervals::Intervals;
use crate::measure::Measured;
use crate::peer::Peer;
use crate::probe;
use crate::server::Server;
use crate::talk::{Called, FromClient, RunResult, State, ToClient};
use crate::verify::verify;

/// Calls before the first that counts.
const WARM_UP: u32 = 20;

pub const LINES: &[Line] = &[
    ("server cpu_us_per_op", "/cpu_us_per_op/server"),
    ("clients cpu_us_per_op", "/cpu_us_per_op/clients"),
    ("journal_sync_ms p50", "/journal_sync_ms/p50"),
];

pub fn run(server: &Server, arguments: &Arguments, workload: Workload) -> anyhow::Result<Measured> {
    let address = server.clients_address();
    let writer = ClientProcess::start(&address, workload, Role::Writer, 1)?;
    let reader = ClientProcess::start(&address, workload, Role::Reader, 2)?;
    between(server.pid(), writer, reader, arguments, || Ok(()))
}

/// The same between two clients of Hocuspocus.
pub fn beside(arguments: &Arguments) -> anyhow::Result<Record> {
    let delay = Duration::from_millis(u64::from(arguments.delay_ms()));
    let server = Hocuspocus::start(arguments.durability, delay)?;
    let mut found = State::default();
    let (writer, reader) = (server.client(Role::Writer, 1)?, server.client(Role::Reader, 1)?);
    // While clients are connected: without a persistence extension, a document ends with the last of them.
    let look = || server.read_state().map(|state| found = state);
    let measured = between(Some(server.pid()), writer, reader, arguments, look)?;
    let findings = verify(Workload::Propagate, &measured.results, &State::default(), &found);
    let mut report = measured.report(Workload::Propagate, findings);
    report.durability = arguments.durability.name();
    report.fsync_ms = probe::sync_ms(arguments.durability)?.into();
    Ok(Record {
        system: Peer::Hocuspocus.name(),
        version: server.version().to_owned(),
        durability_setting: server.setting().to_owned(),
        report,
        more: more(&measured),
    })
}

/// What only this workload has.
pub fn more(measured: &Measured) -> Map<String, Value> {
    Map::from_iter([("cpu_us_per_op".to_owned(), json!(measured.cpu))])
}

/// Calls as long as was asked for; `look` is run when both have been heard for the last time, and are still connected.
fn between(
    server: Option<Pid>,
    mut writer: ClientProcess,
    mut reader: ClientProcess,
    arguments: &Arguments,
    look: impl FnOnce() -> anyhow::Result<()>,
) -> anyhow::Result<Measured> {
    writer.expect_ready()?;
    reader.expect_ready()?;
    let mut measured = Measured { asked_seconds: arguments.seconds, ..Measured::default() };
    let mut intervals = Intervals::default();
    for _ in 0..WARM_UP {
        once(&mut writer, &mut reader)?;
    }
    let sides = server.map(|server| Sides::of(server, vec![writer.pid(), reader.pid()]));
    let begun = Instant::now();
    let whole = Duration::from_secs(u64::from(arguments.seconds));
    while begun.elapsed() < whole {
        let (called, ran_nanos) = once(&mut writer, &mut reader)?;
        let nanos = ran_nanos.saturating_sub(called.called_nanos);
        measured.latency.record(nanos);
        intervals.record(begun.elapsed(), whole, nanos);
        measured.commit_latency.record(called.confirmed_nanos - called.called_nanos);
    }
    measured.seconds = begun.elapsed().as_secs_f64();
    measured.intervals = intervals.counts();
    measured.cpu = sides.map(|sides| sides.by_operation(measured.latency.counts().count()));
    look()?;
    for client in [&mut writer, &mut reader] {
        client.tell(&ToClient::End)?;
        measured.results.push(result(client)?);
    }
    Ok(measured)
}

/// One call, and the run that saw it.
fn once(writer: &mut ClientProcess, reader: &mut ClientProcess) -> anyhow::Result<(Called, u64)> {
    writer.tell(&ToClient::Call)?;
    let FromClient::Ran { total: _, at_nanos } = reader.hear()? else { bail!("the reader did not say when it ran") };
    let FromClient::Called(called) = writer.hear()? else { bail!("the writer did not say when it called") };
    Ok((called, at_nanos))
}

fn result(client: &mut ClientProcess) -> anyhow::Result<RunResult> {
    match client.hear()? {
        FromClient::Result(result) => Ok(*result),
        other => bail!("a client said {other:?} instead of what its run came to"),
    }
}
