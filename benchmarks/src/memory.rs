//! `iolite bench memory-…`: memory that is taken from a program that rests, beside what the kernel offers.
//!
//! Invariants: every arm is a process of its own with as many bytes, taken from outside; each checks all its bytes afterwards. What the machine does not
//! allow is named as not run.
//! Source: Marvin (Lebeck 2020) 4.8. All arms of a row are in one run; absolute times are reported, never aimed at.

mod arm;
mod arms;
mod burst;
mod daemon;
mod draw;
mod fault;
mod floor;
mod group;
mod objects;
mod pageout;
mod program;
mod reclaim;
mod report;
mod resume;
mod setting;
mod swap_device;

use std::process::ExitCode;

use clap::{Args, ValueEnum};
use serde::Serialize;

pub use burst::{BurstArguments, run_burst};
pub use program::{ProgramArguments, run_program};

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum MemoryWorkload {
    /// Memory taken from a program that rests, beside the kernel's swap
    #[value(name = "memory-reclaim")]
    Reclaim,
    /// Memory for a program that allocates much at once, while another rests
    #[value(name = "memory-burst")]
    Burst,
    /// The first second of a program that comes back
    #[value(name = "memory-resume")]
    Resume,
    /// A program that uses objects of which a part was taken, beside `pread`
    #[value(name = "memory-fault")]
    Fault,
}

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
    /// `memory-resume`: the part of the objects that is used before the rest and after it, in percent
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..=100))]
    pub touched: u64,
    /// `memory-fault`: parts of the objects that are taken, in percent
    #[arg(long, value_delimiter = ',', default_value = "0,20,40,60,80,100", value_parser = clap::value_parser!(u64).range(0..=100))]
    pub taken: Vec<u64>,
    /// `memory-burst`: MiB that are allocated at once
    #[arg(long, default_value_t = 512, value_parser = clap::value_parser!(u64).range(1..=16_384))]
    pub burst_mb: u64,
    /// `memory-burst`: how often each arm runs
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..=100))]
    pub rounds: u64,
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

impl MemoryOptions {
    /// How many objects a program has.
    fn objects(&self) -> u64 {
        self.mb * 1_000_000 / self.object_bytes
    }

    /// Room for all of a program, and a quarter more.
    fn swap_bytes(&self) -> u64 {
        (self.mb * 1_250_000).next_multiple_of(4096)
    }
}

/// Measures and prints the table, or a line of JSON.
///
/// # Errors
/// When a program does not start or fails. A wrong byte is in the exit code.
pub fn run(options: &MemoryOptions, workload: MemoryWorkload, json: bool) -> anyhow::Result<ExitCode> {
    let is_right = match workload {
        MemoryWorkload::Reclaim => {
            let report = reclaim::measure(options)?;
            print(&report, report.in_words(), json)?;
            report.is_right()
        }
        MemoryWorkload::Burst => {
            let report = burst::measure(options)?;
            print(&report, report.in_words(), json)?;
            report.is_right()
        }
        MemoryWorkload::Resume => {
            let report = resume::measure(options)?;
            print(&report, report.in_words(), json)?;
            report.is_right()
        }
        MemoryWorkload::Fault => {
            let report = fault::measure(options)?;
            print(&report, report.in_words(), json)?;
            report.is_right()
        }
    };
    Ok(if is_right { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn print(report: &impl Serialize, in_words: String, json: bool) -> anyhow::Result<()> {
    println!("{}", if json { serde_json::to_string(report)? } else { in_words });
    Ok(())
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
