//! Rows with blobs, and tables that sync: bytes and time that they take.
//!
//! Source: Simba (Perkins 2015, chapter 3), Table 3.7 and figures 3.4 and 3.8.

mod blob;
mod counted;
mod frames;
mod member;
mod noise;
mod overhead;
mod peak;
mod schemes;
mod wire;

use std::process::ExitCode;

use anyhow::bail;
use clap::Args;

use crate::arguments::{AppWorkload, Arguments};

pub use member::{MemberArguments, run_member};

#[derive(Args, Debug)]
pub struct RowsOptions {
    /// For blob: cut the link so often while the blob is sent, and again while it is received
    #[arg(long, default_value_t = 0, value_name = "N", value_parser = clap::value_parser!(u32).range(..=1_000))]
    pub cuts: u32,
    /// For sync-overhead: the object of each row, "none" or its length; several with commas [default: none,1,65536]
    #[arg(long, value_name = "LENGTH,...", value_delimiter = ',', value_parser = overhead::object)]
    pub blob: Vec<overhead::Object>,
    /// For schemes: how long writer and reader of a causal or eventual table are cut off
    #[arg(long, default_value_t = AWAY_MS, value_name = "MS", value_parser = clap::value_parser!(u32).range(..=60_000))]
    pub away_ms: u32,
    /// For schemes, sync-overhead and object-moves: how often each is measured; the median counts [default: 7, 5 and 50]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000))]
    pub times: Option<u32>,
}

const AWAY_MS: u32 = 1000;

impl RowsOptions {
    /// The options that only `blob` has.
    pub fn name_of_cuts(&self) -> Option<&'static str> {
        (self.cuts > 0).then_some("--cuts")
    }

    /// The same of `sync-overhead`.
    pub fn name_of_blob(&self) -> Option<&'static str> {
        (!self.blob.is_empty()).then_some("--blob")
    }

    /// The same of `schemes`.
    pub fn name_of_away(&self) -> Option<&'static str> {
        (self.away_ms != AWAY_MS).then_some("--away-ms")
    }

    /// The same of `schemes`, `sync-overhead` and `object-moves`.
    pub fn name_of_times(&self) -> Option<&'static str> {
        self.times.map(|_| "--times")
    }
}

const KIB: u64 = 1024;
/// Rows of a change set that is measured.
const ROWS_MAX: u32 = 1000;
/// The longest blob of a column.
const LENGTH_MAX: u64 = 64 << 30;

/// A length of a blob: bytes, or KiB, MiB or GiB.
///
/// # Errors
/// When it is none.
pub fn length(text: &str) -> Result<u64, String> {
    let units = [("KiB", KIB), ("MiB", KIB << 10), ("GiB", KIB << 20)];
    let unit = units.into_iter().find_map(|(name, bytes)| Some((text.strip_suffix(name)?, bytes)));
    let (number, bytes) = unit.unwrap_or((text, 1));
    let length = number.parse::<u64>().ok().and_then(|number| number.checked_mul(bytes));
    length
        .filter(|length| *length <= LENGTH_MAX)
        .ok_or_else(|| "say bytes, or a length like 3MiB or 1GiB, up to 64GiB".to_owned())
}

/// # Errors
/// When options do not fit together, or a server or a client does not start or fails. What the run found wrong is in the exit code.
pub fn run_blob(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    match arguments.views.bytes {
        Some(Some(bytes)) if bytes > 4 * KIB => blob::run(arguments, bytes),
        Some(Some(_)) => bail!("a blob of up to 4 KiB lies in its row, and has no bytes of its own: say a longer one"),
        None | Some(None) => bail!("nothing to measure: blob needs its length, like --bytes 64MiB"),
    }
}

/// # Errors
/// As [`run_blob`].
pub fn run_overhead(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let rows: &[u32] = if arguments.queries.rows.is_empty() { &[1, 100] } else { &arguments.queries.rows };
    if rows.iter().any(|rows| *rows > ROWS_MAX) {
        bail!("--rows of sync-overhead are of one change set: {ROWS_MAX} at most");
    }
    let usual = [None, Some(1), Some(65_536)].map(overhead::Object::of);
    let objects = if arguments.rows.blob.is_empty() { &usual[..] } else { &arguments.rows.blob };
    overhead::run(arguments, rows, objects)
}

/// # Errors
/// As [`run_blob`].
pub fn run_schemes(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    schemes::run(arguments)
}

/// The name of a workload, as reports say it.
fn name(workload: AppWorkload) -> String {
    workload.name()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_length_has_a_unit_or_is_bytes() {
        assert_eq!(["7", "3KiB", "1GiB"].map(length), [Ok(7), Ok(3 << 10), Ok(1 << 30)]);
        for wrong in ["", "GiB", "1GB", "65GiB", "99999999999GiB", "-1"] {
            assert!(length(wrong).is_err(), "{wrong}");
        }
    }
}
