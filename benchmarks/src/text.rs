//! `iolite bench text --trace FILE`: a recording of people who type, through real clients, beside Yjs on the same recording.
//!
//! The clients and the server are in this process, and speak over sockets of loopback. Memory is what the process takes
//! more when all has been replayed, and nothing has ended, than before the recording was read.

mod edits;
mod replay;
mod trace;
mod yjs;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use clap::Args;
use serde::Serialize;

use trace::Trace;

/// The options that only texts have.
#[derive(Args, Debug)]
pub struct TextOptions {
    /// The recording that `text` replays
    #[arg(long, value_name = "FILE")]
    pub trace: Option<PathBuf>,
    /// Replay it by Yjs in Node as well, in the same run
    #[arg(long, requires = "trace")]
    pub beside_yjs: bool,
}

#[derive(Clone, Debug, Serialize)]
struct Report {
    trace: String,
    agents: usize,
    patches: usize,
    ends_as_recorded: bool,
    /// For documents that see what the authors had seen, and make the edits: with encoding, decoding, and one that sees all at the end.
    seconds_of_documents: f64,
    /// From the first call to the last confirmation.
    seconds: f64,
    bytes_up_an_edit: f64,
    bytes_down_an_edit: f64,
    memory_bytes: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    yjs: Option<yjs::OfYjs>,
}

/// # Errors
/// When the trace cannot be read or replayed.
pub fn run(options: &TextOptions, path: &Path, json: bool) -> anyhow::Result<ExitCode> {
    let report = measure(path, options.beside_yjs)?;
    if json {
        println!("{}", serde_json::to_string(&report)?);
    } else {
        println!("{}", in_words(&report));
    }
    let right = report.ends_as_recorded && report.yjs.as_ref().is_none_or(|yjs| yjs.ends_as_recorded);
    Ok(if right { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn measure(path: &Path, beside_yjs: bool) -> anyhow::Result<Report> {
    // Before anything is read: what is freed meanwhile can only make it more.
    let memory_before = resident_bytes()?;
    let trace = Trace::read(path)?;
    let begun = Instant::now();
    let documents = edits::edits_of(&trace)?;
    let seconds_of_documents = begun.elapsed().as_secs_f64();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let (replayed, alive) = runtime.block_on(replay::replay(documents.made, trace.agents()))?;
    let memory_bytes = resident_bytes()?.saturating_sub(memory_before);
    runtime.block_on(alive.end())?;
    let edits = replayed.mutations.max(1) as f64;
    Ok(Report {
        trace: path.display().to_string(),
        agents: trace.agents(),
        patches: trace.patches(),
        ends_as_recorded: replayed.text == trace.end && documents.text == trace.end,
        seconds_of_documents,
        seconds: replayed.seconds,
        bytes_up_an_edit: replayed.bytes_up as f64 / edits,
        bytes_down_an_edit: replayed.bytes_down as f64 / edits,
        memory_bytes,
        yjs: if beside_yjs { Some(yjs::replay(path)?) } else { None },
    })
}

fn in_words(report: &Report) -> String {
    let Report { trace, agents, patches, seconds, memory_bytes, .. } = report;
    let ends = |right: bool| if right { "ends as recorded" } else { "DOES NOT END AS RECORDED" };
    let mebibytes = |bytes: u64| bytes as f64 / f64::from(1 << 20);
    let mut text = format!(
        "text {trace}: {agents} authors, {patches} patches\n  iolite: {}, {seconds:.2} s through clients, {:.2} s of documents, {:.1} bytes up and {:.1} down an edit, {:.1} MiB (server, clients, recording)",
        ends(report.ends_as_recorded),
        report.seconds_of_documents,
        report.bytes_up_an_edit,
        report.bytes_down_an_edit,
        mebibytes(*memory_bytes)
    );
    if let Some(yjs) = &report.yjs {
        text += &format!(
            "\n  yjs {}: {}, {:.2} s without any network, {:.1} bytes an edit, {:.1} MiB (documents, updates)",
            yjs.version,
            ends(yjs.ends_as_recorded),
            yjs.seconds,
            yjs.bytes_an_edit,
            mebibytes(yjs.memory_bytes)
        );
    }
    text
}

/// What this process holds in memory.
fn resident_bytes() -> anyhow::Result<u64> {
    let pages = std::fs::read_to_string("/proc/self/statm")?;
    let resident: u64 = pages.split_whitespace().nth(1).unwrap_or("0").parse()?;
    Ok(resident * rustix::param::page_size() as u64)
}

#[cfg(test)]
mod tests;
