//! `memory-burst`: a program that allocates much at once, while another one rests in the memory that it needs.
//!
//! Both are in a control group that does not hold them together. Memoryd has made room before; swap makes room while the program waits.
//! Source: Marvin (Lebeck 2020) 4.8.1, Figure 4.3.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use clap::Args;
use iolite_memoryd::Watch;
use iolite_memoryd::limit::{Group as WatchedGroup, Limit};
use serde::{Deserialize, Serialize};

use super::MemoryOptions;
use super::arm::{Keeping, Program, Say, Start};
use super::arms::{Arms, median};
use super::daemon::OwnDaemon;
use super::group::{self, Group};
use super::program::ms_since;
use super::report::load;
use super::swap_device::SwapDevice;
use crate::part::{PartProcess, hear_now, say};

const PAGE_BYTES: usize = 4096;
/// For the programs themselves, beside their objects.
const BESIDE_BYTES: u64 = 64 << 20;
const RESERVE_WITHIN: Duration = Duration::from_secs(60);

/// The program that allocates.
#[derive(Args, Debug)]
pub struct BurstArguments {
    #[arg(long)]
    bytes: usize,
    #[arg(long)]
    group: std::path::PathBuf,
}

#[derive(Serialize, Deserialize)]
struct Go;

#[derive(Serialize, Deserialize)]
struct Allocated {
    ms: f64,
}

/// # Errors
/// When the parent is gone.
pub fn run_burst(arguments: &BurstArguments) -> anyhow::Result<()> {
    group::join(&arguments.group)?;
    rustix::thread::disable_transparent_huge_pages(true)?;
    say(&Go)?;
    let Go = hear_now()?;
    let begun = Instant::now();
    let mut memory: Vec<u8> = vec![0; arguments.bytes];
    memory.iter_mut().step_by(PAGE_BYTES).for_each(|byte| *byte = 1);
    let ms = ms_since(begun);
    // The pages are needed until here.
    std::hint::black_box(&memory);
    say(&Allocated { ms })
}

/// One run, with every arm.
#[derive(Debug, Serialize)]
pub struct BurstReport {
    resting_mb: u64,
    burst_mb: u64,
    load_before: String,
    arms: Arms<Vec<f64>>,
}

/// # Errors
/// None for now: an arm that fails is named.
pub fn measure(options: &MemoryOptions) -> anyhow::Result<BurstReport> {
    let load_before = load();
    let run = Run { options };
    let mut arms: Arms<Vec<f64>> = Arms::default();
    let rounds = |arm: fn(&Run<'_>) -> anyhow::Result<f64>| (0..options.rounds).map(|_| arm(&run)).collect();
    // The first run pays for memory that the machine has not used yet.
    let _ = run.free();
    arms.run("free memory", || rounds(|run| run.free()));
    arms.run("memoryd with its reserve", || rounds(|run| run.reserved()));
    arms.run("swap file", || rounds(|run| run.swap_file()));
    arms.run("zram", || rounds(|run| run.zram()));
    Ok(BurstReport { resting_mb: options.mb, burst_mb: options.burst_mb, load_before, arms })
}

struct Run<'a> {
    options: &'a MemoryOptions,
}

impl Run<'_> {
    fn burst_bytes(&self) -> u64 {
        self.options.burst_mb << 20
    }

    /// Room for the resting program, and for a quarter of the burst.
    fn limit_bytes(&self) -> u64 {
        self.options.mb * 1_000_000 + self.burst_bytes() / 4 + BESIDE_BYTES
    }

    fn free(&self) -> anyhow::Result<f64> {
        let group = Group::make("burst", Some(self.burst_bytes() + BESIDE_BYTES))?;
        self.burst(&group)
    }

    fn reserved(&self) -> anyhow::Result<f64> {
        let group = Group::make("burst", Some(self.limit_bytes()))?;
        // Such a reserve lets the burst meet free memory to its end.
        let reserve_bytes = Some(self.burst_bytes() + BESIDE_BYTES / 2);
        let limit = Limit::Group(WatchedGroup::at(group.folder())?);
        let daemon = OwnDaemon::start(Some(Watch { limit, reserve_bytes, floor_bytes: 0 }))?;
        let mut program = self.resting(Keeping::Region, daemon.socket(), &group)?;
        let begun = Instant::now();
        loop {
            let (free, reserve) = daemon.free_and_reserve()?;
            if free >= reserve {
                break;
            }
            if begun.elapsed() > RESERVE_WITHIN {
                bail!("{free} bytes are free, and {reserve} were to be");
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        let ms = self.burst(&group)?;
        program.order(&Say::UseAll)?;
        Ok(ms)
    }

    fn swap_file(&self) -> anyhow::Result<f64> {
        self.swapped(SwapDevice::file(&self.options.swap_in, self.options.swap_bytes() * 2)?)
    }

    fn zram(&self) -> anyhow::Result<f64> {
        self.swapped(SwapDevice::zram(self.options.swap_bytes() * 2)?)
    }

    fn swapped(&self, _swap: SwapDevice) -> anyhow::Result<f64> {
        let group = Group::make("burst", Some(self.limit_bytes()))?;
        let mut program = self.resting(Keeping::Heap, Path::new("/nonexistent"), &group)?;
        let ms = self.burst(&group)?;
        program.order(&Say::UseAll)?;
        // The program goes before its swap does.
        drop(program);
        Ok(ms)
    }

    fn resting(&self, keeping: Keeping, socket: &Path, group: &Group) -> anyhow::Result<Program> {
        let start = Start::of(self.options, keeping, socket);
        let mut program = Start { group: Some(group.folder()), ..start }.start()?;
        program.order(&Say::Rest { touched_percent: 0 })?;
        Ok(program)
    }

    fn burst(&self, group: &Group) -> anyhow::Result<f64> {
        let mut command = std::process::Command::new(std::env::current_exe()?);
        command.args(["bench-part", "memory-burst", "--bytes", &self.burst_bytes().to_string()]);
        let mut part = PartProcess::start_by({
            command.arg("--group").arg(group.folder());
            command
        })?;
        let Go = part.hear()?;
        part.tell(&Go)?;
        let Allocated { ms } = part.hear().context("the kernel killed the program, or it failed")?;
        Ok(ms)
    }
}

impl BurstReport {
    pub fn in_words(&self) -> String {
        let mut lines = vec![
            format!(
                "{} MiB allocated beside a program of {} MB that rests; load {}",
                self.burst_mb, self.resting_mb, self.load_before
            ),
            "| arm | median, ms | runs, ms |".to_owned(),
            "| --- | ---: | --- |".to_owned(),
        ];
        for (arm, runs) in &self.arms.figures {
            let each: Vec<String> = runs.iter().map(|ms| format!("{ms:.0}")).collect();
            lines.push(format!("| {arm} | {:.0} | {} |", median(runs), each.join(", ")));
        }
        if let Some(free) = self.arms.of("free memory") {
            for (arm, runs) in self.arms.figures.iter().filter(|(arm, _)| *arm != "free memory") {
                lines.push(format!("{arm} / free memory: {:.2}", median(runs) / median(free)));
            }
        }
        lines.extend(self.arms.not_run_in_words());
        lines.join("\n")
    }

    pub fn is_right(&self) -> bool {
        self.arms.not_run.values().all(|reason| !reason.contains("WRONG"))
    }
}
