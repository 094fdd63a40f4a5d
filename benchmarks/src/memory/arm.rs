//! The arms, and one program of an arm as its parent sees it.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

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
    /// The same, in an order that looks drawn; what was saved is read from the disk if it `forgets` the kernel's copy.
    UseAllInAnyOrder { forgets: bool },
    /// Use the objects past the first so many percent, in order.
    UseFrom { percent: u64 },
    /// Use so many of the objects, and rest.
    Rest { touched_percent: u64 },
    /// Come back, and answer requests for what was touched: one after the other, or a thousand a second.
    Return { by: Return, touched_percent: u64, is_paced: bool },
}

/// How a region comes back to the foreground.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub enum Return {
    OnDemand,
    All,
    LastTouchedFirst,
}

/// From the program.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Hear {
    /// Everything is made, and saved if it can be; objects on the heap are there.
    Ready { pid: u32, ready_ms: f64, heap_at: u64 },
    /// The objects were used.
    Used { ms: f64, wrong_bytes: bool },
    /// The requests of a second after the return.
    Served(Served),
}

/// The first second after a return.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Served {
    /// Until everything was back that comes back at once.
    pub came_back_ms: f64,
    /// From the order to come back until the first request was answered.
    pub first_ms: f64,
    /// The time of paced requests is from when each was due.
    pub p50_ms: f64,
    pub p99_ms: f64,
    pub worst_ms: f64,
    pub requests: u64,
    pub wrong_bytes: bool,
}

/// A program that is to be started.
pub struct Start<'a> {
    pub options: &'a MemoryOptions,
    pub keeping: Keeping,
    pub socket: &'a Path,
    pub working_set: u64,
    pub save_every: Duration,
    pub from_file: Option<&'a Path>,
    pub group: Option<&'a Path>,
}

impl<'a> Start<'a> {
    /// A program that saves when it is told to only, and is in no group.
    pub fn of(options: &'a MemoryOptions, keeping: Keeping, socket: &'a Path) -> Start<'a> {
        let save_every = Duration::from_secs(3600);
        Start { options, keeping, socket, working_set: 0, save_every, from_file: None, group: None }
    }

    fn command(&self) -> anyhow::Result<Command> {
        let Start { options, keeping, socket, working_set, save_every, from_file, group } = self;
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["bench-part", "memory", "--keeping", &crate::arguments::name_of(keeping)]);
        command.args(["--mb", &options.mb.to_string(), "--object-bytes", &options.object_bytes.to_string()]);
        command.args(["--working-set", &working_set.to_string()]);
        command.args(["--save-every-ms", &save_every.as_millis().to_string()]);
        command.arg("--swap-in").arg(&options.swap_in).arg("--socket").arg(socket);
        if options.while_writing {
            command.arg("--writes");
        }
        for (name, value) in [("--from-file", from_file), ("--group", group)] {
            if let Some(value) = value {
                command.arg(name).arg(value);
            }
        }
        Ok(command)
    }

    /// Starts it, and waits until its objects are there.
    pub fn start(&self) -> anyhow::Result<Program> {
        let mut part = PartProcess::start_by(self.command()?)?;
        match part.hear()? {
            Hear::Ready { pid, ready_ms, heap_at } => Ok(Program { part, pid, ready_ms, heap_at }),
            Hear::Used { .. } | Hear::Served(_) => bail!("the program answers what it was not asked"),
        }
    }
}

/// A program with its objects.
pub struct Program {
    part: PartProcess,
    pid: u32,
    pub ready_ms: f64,
    pub heap_at: u64,
}

impl Program {
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

    /// Gives an order whose answer is a time in milliseconds.
    ///
    /// # Errors
    /// When the program has ended, or a byte was wrong.
    pub fn order(&mut self, order: &Say) -> anyhow::Result<f64> {
        match self.ask(order)? {
            Hear::Used { wrong_bytes: true, .. } => bail!("WRONG BYTES"),
            Hear::Used { ms, .. } => Ok(ms),
            Hear::Ready { .. } | Hear::Served(_) => bail!("the program answers what it was not asked"),
        }
    }

    /// Gives an order, and waits for its answer.
    pub fn ask(&mut self, order: &Say) -> anyhow::Result<Hear> {
        self.part.tell(order)?;
        self.part.hear()
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
        match self.ask(&Say::UseAll)? {
            Hear::Used { ms: back_ms, wrong_bytes } => Ok(Taken { ms, bytes, back_ms, wrong_bytes }),
            Hear::Ready { .. } | Hear::Served(_) => bail!("the program answers what it was not asked"),
        }
    }
}

fn status_line(pid: u32, name: &str) -> anyhow::Result<String> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
    status.lines().find(|line| line.starts_with(name)).map(str::to_owned).with_context(|| format!("no {name}"))
}
