//! From one client's call to another client's reactive transaction, one at a time.
//!
//! Both are processes of this machine, so the times are of one clock.

use std::time::{Duration, Instant};

use anyhow::bail;

use crate::arguments::{Arguments, Role, Workload};
use crate::child::ClientProcess;
use crate::measure::Measured;
use crate::server::Server;
use crate::talk::{Called, FromClient, RunResult, ToClient};

/// Calls before the first that counts.
const WARM_UP: u32 = 20;

pub fn run(server: &Server, arguments: &Arguments, workload: Workload) -> anyhow::Result<Measured> {
    let address = server.clients_address();
    let mut writer = ClientProcess::start(&address, workload, Role::Writer, 1)?;
    let mut reader = ClientProcess::start(&address, workload, Role::Reader, 2)?;
    writer.expect_ready()?;
    reader.expect_ready()?;
    let mut measured = Measured::default();
    for _ in 0..WARM_UP {
        once(&mut writer, &mut reader)?;
    }
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(u64::from(arguments.seconds)) {
        let (called, ran_nanos) = once(&mut writer, &mut reader)?;
        measured.latency.record(ran_nanos.saturating_sub(called.called_nanos));
        measured.commit_latency.record(called.confirmed_nanos - called.called_nanos);
    }
    measured.seconds = begun.elapsed().as_secs_f64();
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
