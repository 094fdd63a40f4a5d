//! `iolite bench memory-reclaim`: how long it takes to get memory back from a program that rests, beside what the kernel offers.
//!
//! Invariants: every arm is a process of its own with as many bytes, taken from outside; each checks all its bytes afterwards. What the machine does not
//! allow is named as not run.
//! Source: Marvin (Lebeck 2020) 4.8.2, Figure 4.6. All arms of a row are in one run; absolute times are reported, never aimed at.

mod arm;
mod floor;
mod pageout;
mod program;
mod reclaim;
mod report;
mod setting;
mod swap_device;

use std::process::ExitCode;

use clap::Args;

pub use program::{ProgramArguments, run_program};

/// The options that only memory has.
#[derive(Args, Debug)]
pub struct MemoryOptions {
    /// Megabytes of objects that each program has
    #[arg(long, default_value_t = 500, value_parser = clap::value_parser!(u64).range(1..=16_384))]
    pub mb: u64,
    /// Parts of the objects that the program still uses, in percent; these are not taken
    #[arg(long, value_delimiter = ',', default_value = "0,20,40,60,80", value_parser = clap::value_parser!(u64).range(0..=99))]
    pub working_set: Vec<u64>,
    /// Bytes of an object: whole pages of 4096, so that every arm has as many bytes
    #[arg(long, default_value_t = 4096, value_parser = whole_pages)]
    pub object_bytes: u64,
    /// Stop the programs by SIGSTOP while their memory is taken
    #[arg(long, conflicts_with = "while_writing")]
    pub stopped: bool,
    /// Let the programs write to their working set while the rest is taken
    #[arg(long)]
    pub while_writing: bool,
    /// The folder of swap files, on a disk
    #[arg(long, default_value = "/var/tmp", value_name = "FOLDER")]
    pub swap_in: std::path::PathBuf,
}

/// An object's bytes, if they are whole pages.
fn whole_pages(text: &str) -> Result<u64, String> {
    let bytes: u64 = text.parse().map_err(|error| format!("{error}"))?;
    if (4096..=1_048_576).contains(&bytes) && bytes.is_multiple_of(4096) {
        Ok(bytes)
    } else {
        Err("choose a multiple of 4096, at most 1048576".to_owned())
    }
}

/// Measures and prints the table, or a line of JSON.
///
/// # Errors
/// When a program does not start or fails. A wrong byte is in the exit code.
pub fn run(options: &MemoryOptions, json: bool) -> anyhow::Result<ExitCode> {
    let report = reclaim::measure(options)?;
    if json {
        println!("{}", serde_json::to_string(&report)?);
    } else {
        println!("{}", report.in_words());
    }
    Ok(if report.is_right() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_have_whole_pages() {
        assert_eq!(whole_pages("8192"), Ok(8192));
        for text in ["0", "4095", "5000", "1052672", "many"] {
            assert!(whole_pages(text).is_err(), "{text}");
        }
    }
}
