//! `iolite blobs`: how full the store of chunks is, whether all is there that rows name, and a sweep.

use std::process::ExitCode;
use std::time::{Duration, UNIX_EPOCH};

use clap::{Args, Subcommand};
use serde_json::Value;

use crate::target::Target;

#[derive(Subcommand)]
pub enum Command {
    /// How full the store is, and what the last sweep found
    Usage(Usage),
    /// Read every chunk that a row names, and say which are missing or changed
    Check(Check),
    /// Delete chunks that no row names any more; the server also does so by itself, once a day
    Sweep(Sweep),
}

#[derive(Args)]
pub struct Usage {
    #[command(flatten)]
    target: Target,
}

#[derive(Args)]
pub struct Check {
    #[command(flatten)]
    target: Target,
}

#[derive(Args)]
pub struct Sweep {
    #[command(flatten)]
    target: Target,
    /// Only say what would be deleted
    #[arg(long)]
    dry_run: bool,
    /// Seconds from when garbage is found until it is deleted, instead of those in the gateway's file: whoever reads a photo that was just removed may need
    /// its chunks still
    #[arg(long, value_name = "SECONDS")]
    grace: Option<u64>,
}

pub fn run(command: &Command) -> anyhow::Result<ExitCode> {
    match command {
        Command::Usage(arguments) => usage(&arguments.target),
        Command::Check(arguments) => check(&arguments.target),
        Command::Sweep(arguments) => sweep(arguments),
    }
}

fn usage(target: &Target) -> anyhow::Result<ExitCode> {
    let usage = target.ask("blobs/usage", |_, _| {})?;
    let bound = match usage["bytes_max"].as_u64() {
        Some(most) => format!(" of {} (bytes_max)", bytes(most)),
        None => " (no bound)".into(),
    };
    let mut text = format!("{} chunks, {}{bound}\n", number(&usage["chunks"]), bytes(number(&usage["bytes"])));
    text += &format!("{} leases for uploads\n", number(&usage["leases"]));
    let swept = &usage["swept"];
    if let Some(at) = swept["at"].as_u64() {
        let at = humantime::format_rfc3339_seconds(UNIX_EPOCH + Duration::from_secs(at));
        text += &format!("The last sweep ended at {at}: {}\n", found(swept));
        if let Some(failure) = swept["failure"].as_str() {
            text += &format!("It did not come to its end: {failure}\n");
        }
    } else {
        text += "No sweep has ended since this server was started\n";
    }
    if usage["sweeping"] == true {
        text += "A sweep goes on\n";
    }
    tell(&text);
    Ok(ExitCode::SUCCESS)
}

fn check(target: &Target) -> anyhow::Result<ExitCode> {
    let checked = target.ask("blobs/check", |kind, line| {
        if kind == "problem" {
            tell(&problem(line));
        }
    })?;
    let [blobs, chunks, problems] = ["blobs", "chunks", "problems"].map(|key| number(&checked[key]));
    let size = bytes(number(&checked["bytes"]));
    if problems == 0 {
        tell(&format!("All is there: {blobs} blobs with {chunks} chunks, {size}\n"));
        return Ok(ExitCode::SUCCESS);
    }
    tell(&format!(
        "{problems} of {chunks} chunks are no good, of {blobs} blobs. Put these objects back from a copy of the store, or have the rows written with new blobs\n"
    ));
    Ok(ExitCode::FAILURE)
}

fn problem(line: &Value) -> String {
    let [table, key, column, chunk, object, flaw] =
        ["table", "key", "column", "chunk", "object", "flaw"].map(|name| line[name].as_str().unwrap_or("?"));
    format!("{table} [{key}] {column}: chunk {chunk} is {flaw} (object {object})\n")
}

fn sweep(arguments: &Sweep) -> anyhow::Result<ExitCode> {
    let options = [arguments.dry_run.then(|| "dry".to_owned()), arguments.grace.map(|grace| format!("grace={grace}"))];
    let options: Vec<String> = options.into_iter().flatten().collect();
    let done = arguments.target.ask(&format!("blobs/sweep?{}", options.join("&")), |_, _| {})?;
    let mut text = format!("{}\n", found(&done));
    match done["after"].as_u64() {
        Some(seconds) => {
            let grace = humantime::format_duration(Duration::from_secs(seconds));
            text += &format!("The server deletes it in {grace}, if it runs until then\n");
        }
        None if arguments.dry_run => text += "Nothing was deleted\n",
        None => {}
    }
    if number(&done["damaged"]) > 0 {
        text += "Some rows name trees that cannot be read: run `iolite blobs check`\n";
    }
    tell(&text);
    Ok(ExitCode::SUCCESS)
}

/// Describes what a sweep has found and done.
fn found(report: &Value) -> String {
    let [garbage, size, chunks, deleted] =
        ["garbage", "garbage_bytes", "chunks", "deleted"].map(|key| number(&report[key]));
    format!("{garbage} of {chunks} chunks are garbage, {}; {deleted} were deleted", bytes(size))
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_default()
}

/// Bytes with a unit that people read.
pub fn bytes(bytes: u64) -> String {
    let mut size = bytes as f64;
    for unit in ["B", "KiB", "MiB", "GiB"] {
        if size < 1024.0 {
            return if unit == "B" { format!("{bytes} B") } else { format!("{size:.1} {unit}") };
        }
        size /= 1024.0;
    }
    format!("{size:.1} TiB")
}

/// Prints. Nobody may listen.
fn tell(text: &str) {
    let _ = iolite_host::print(text);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_have_a_unit_that_people_read() {
        let shown = [0, 1023, 1024, 1536, 3 << 20, 5 << 40].map(bytes);
        assert_eq!(shown, ["0 B", "1023 B", "1.0 KiB", "1.5 KiB", "3.0 MiB", "5.0 TiB"]);
    }
}
