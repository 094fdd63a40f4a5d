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
    /// Bytes of an object
    #[arg(long, default_value_t = 4096, value_parser = clap::value_parser!(u64).range(4096..=1_048_576))]
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
