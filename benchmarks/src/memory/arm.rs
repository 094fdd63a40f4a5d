//! The arms, and one program of an arm as its parent sees it.

use std::process::Command;
use std::time::Instant;

use anyhow::{Context, bail};
use rustix::process::{Pid, Signal, kill_process};
use serde::{Deserialize, Serialize};

use super::MemoryOptions;
use super::report::Taken;
use crate::part::PartProcess;

/// How a program keeps its objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Keeping {
    /// In a region.
    Region,
    /// In a region of huge pages.
    HugeRegion,
    /// In a region without a swap file, whose memory is thrown away: the floor.
    Floor,
    /// On the heap, in pages of 4 KiB.
    Heap,
    /// On the heap, in huge pages where the kernel gives them.
    HugeHeap,
}

/// To the program.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Say {
    /// Use every object, and check its bytes.
    UseAll,
}

/// From the program.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Hear {
    /// Everything is made, and saved if it can be; objects on the heap are there.
    Ready { pid: u32, ready_ms: f64, heap_at: u64 },
    /// Every object was used.
    Used { ms: f64, wrong_bytes: bool },
}

/// A program with its objects.
pub struct Program {
    part: PartProcess,
    pid: u32,
    pub ready_ms: f64,
    pub heap_at: u64,
}

impl Program {
    /// Starts one, and waits until its objects are there.
    pub fn start(options: &MemoryOptions, keeping: Keeping, working_set: u64, socket: &str) -> anyhow::Result<Program> {
        let keeping = crate::arguments::name_of(&keeping);
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["bench-part", "memory", "--keeping", &keeping, "--socket", socket]);
        command.args(["--mb", &options.mb.to_string(), "--object-bytes", &options.object_bytes.to_string()]);
        command.args(["--working-set", &working_set.to_string()]);
        command.arg("--swap-in").arg(&options.swap_in);
        if options.while_writing {
            command.arg("--writes");
        }
        let mut part = PartProcess::start_by(command)?;
        match part.hear()? {
            Hear::Ready { pid, ready_ms, heap_at } => Ok(Program { part, pid, ready_ms, heap_at }),
            Hear::Used { .. } => bail!("the program answers what it was not asked"),
        }
    }

    pub fn pid(&self) -> u32 {
        self.pid
    }

    fn process(&self) -> anyhow::Result<Pid> {
        i32::try_from(self.pid()).ok().and_then(Pid::from_raw).context("its number is positive")
    }

    pub fn stop(&self) -> anyhow::Result<()> {
        kill_process(self.process()?, Signal::STOP)?;
        while !status_line(self.pid(), "State:")?.contains('T') {
            std::thread::yield_now();
        }
        Ok(())
    }

    pub fn go_on(&self) -> anyhow::Result<()> {
        Ok(kill_process(self.process()?, Signal::CONT)?)
    }

    /// The resident bytes of everything that it has mapped.
    pub fn resident_bytes(&self) -> anyhow::Result<u64> {
        let line = status_line(self.pid(), "VmRSS:")?;
        let kb: u64 =
            line.split_whitespace().nth(1).and_then(|number| number.parse().ok()).context("it is a number")?;
        Ok(kb * 1024)
    }

    /// Takes memory by the closure, and then lets the program use everything.
    pub fn measure(
        mut self,
        options: &MemoryOptions,
        take: impl FnOnce(&Program) -> anyhow::Result<()>,
    ) -> anyhow::Result<Taken> {
        if options.stopped {
            self.stop()?;
        }
        let before = self.resident_bytes()?;
        let begun = Instant::now();
        take(&self)?;
        let ms = begun.elapsed().as_secs_f64() * 1e3;
        let bytes = before.saturating_sub(self.resident_bytes()?);
        if options.stopped {
            self.go_on()?;
        }
        self.part.tell(&Say::UseAll)?;
        match self.part.hear()? {
            Hear::Used { ms: back_ms, wrong_bytes } => Ok(Taken { ms, bytes, back_ms, wrong_bytes }),
            Hear::Ready { .. } => bail!("the program answers what it was not asked"),
        }
    }
}

fn status_line(pid: u32, name: &str) -> anyhow::Result<String> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
    status.lines().find(|line| line.starts_with(name)).map(str::to_owned).with_context(|| format!("no {name}"))
}
