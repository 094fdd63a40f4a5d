//! The arms of `memory-reclaim`, one after the other.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Instant;

use anyhow::bail;
use iolite_memory::message::{FromDaemon, ToDaemon};
use iolite_memoryd::Ask;

use super::MemoryOptions;
use super::arm::{Keeping, Program, Start};
use super::daemon::OwnDaemon;
use super::report::{Cell, Report, Taken, load, not_run_in_words};
use super::setting::Setting;
use super::swap_device::SwapDevice;
use super::{floor, pageout};

const HUGE_PAGES: &str = "/sys/kernel/mm/transparent_hugepage/shmem_enabled";
/// Takes so many bytes from a program of the run.
type Arm = fn(&Run, u64) -> anyhow::Result<Taken>;

/// Every arm, in the order in which they run.
const ARMS: [(&str, Arm); 7] = [
    ("one fallocate", one_hole),
    ("memoryd", by_daemon),
    ("memoryd, huge pages", by_daemon_with_huge_pages),
    ("MADV_PAGEOUT, swap file", to_swap_file),
    ("MADV_PAGEOUT, swap file, huge pages", to_swap_file_with_huge_pages),
    ("MADV_PAGEOUT, zram", to_zram),
    ("kill and restart", kill_and_restart),
];

struct Run<'a> {
    options: &'a MemoryOptions,
    daemon: &'a Path,
}

/// # Errors
/// When memoryd took nothing, or does not start.
pub fn measure(options: &MemoryOptions) -> anyhow::Result<Report> {
    let load_before = load();
    let daemon = OwnDaemon::start(None)?;
    let run = Run { options, daemon: daemon.socket() };
    let cells: Vec<Cell> = options.working_set.iter().map(|&percent| run.cell(percent)).collect();
    if !cells.iter().any(|cell| cell.arms.contains_key("memoryd")) {
        bail!("memoryd took nothing: {}", not_run_in_words(&cells).join("; "));
    }
    let programs = match (options.stopped, options.while_writing) {
        (true, _) => "stopped",
        (false, true) => "writing",
        (false, false) => "running",
    };
    let ratios = cells.first().map(ratios).unwrap_or_default();
    Ok(Report { mb: options.mb, object_bytes: options.object_bytes, programs, load_before, cells, ratios })
}

/// Time for time, each a byte that was taken.
fn ratios(cell: &Cell) -> BTreeMap<&'static str, f64> {
    let ms_a_byte =
        |arm: &str| cell.arms.get(arm).filter(|taken| taken.bytes > 0).map(|taken| taken.ms / taken.bytes as f64);
    let pairs = [
        ("memoryd / one fallocate", "memoryd", "one fallocate"),
        ("memoryd / swap file", "memoryd", "MADV_PAGEOUT, swap file"),
        ("both with huge pages: memoryd / swap file", "memoryd, huge pages", "MADV_PAGEOUT, swap file, huge pages"),
        ("memoryd / zram", "memoryd", "MADV_PAGEOUT, zram"),
        ("huge pages / without", "memoryd, huge pages", "memoryd"),
    ];
    pairs.into_iter().filter_map(|(name, ours, other)| Some((name, ms_a_byte(ours)? / ms_a_byte(other)?))).collect()
}

impl Run<'_> {
    /// Every arm with one working set. An arm that fails is named, and the others run.
    fn cell(&self, working_set_percent: u64) -> Cell {
        let mut cell = Cell { working_set_percent, arms: BTreeMap::new(), not_run: BTreeMap::new() };
        for (name, arm) in ARMS {
            match arm(self, working_set_percent) {
                Ok(taken) => drop(cell.arms.insert(name, taken)),
                Err(error) => drop(cell.not_run.insert(name, format!("{error:#}"))),
            }
        }
        cell
    }

    fn start(&self, keeping: Keeping, working_set: u64) -> anyhow::Result<Program> {
        Start { working_set, ..Start::of(self.options, keeping, self.daemon) }.start()
    }

    /// Where the part begins that is not the working set, and how long it is.
    fn rest(&self, working_set: u64) -> (u64, u64) {
        let count = self.options.objects();
        let used = count * working_set / 100;
        let pages = self.options.object_bytes.next_multiple_of(4096);
        (used * pages, (count - used) * pages)
    }
}

fn one_hole(run: &Run, working_set: u64) -> anyhow::Result<Taken> {
    let program = run.start(Keeping::Floor, working_set)?;
    let file = floor::memory_file_of(program.pid())?;
    let (from, bytes) = run.rest(working_set);
    program.measure(run.options, |_| floor::punch(&file, from, bytes))
}

fn by_daemon(run: &Run, working_set: u64) -> anyhow::Result<Taken> {
    reclaimed(run, run.start(Keeping::Region, working_set)?)
}

fn by_daemon_with_huge_pages(run: &Run, working_set: u64) -> anyhow::Result<Taken> {
    let _advise = Setting::choose(HUGE_PAGES, "advise")?;
    reclaimed(run, run.start(Keeping::HugeRegion, working_set)?)
}

fn reclaimed(run: &Run, program: Program) -> anyhow::Result<Taken> {
    let mut ask = Ask::connect(run.daemon)?;
    // The program does not say it itself: then it would save its working set, which is to stay dirty.
    ask.ask(&ToDaemon::Background { pid: program.pid() })?;
    program.measure(run.options, |program| {
        let answers = ask.ask(&ToDaemon::Reclaim { pid: program.pid(), bytes_max: u64::MAX })?;
        match answers.as_slice() {
            [FromDaemon::Reclaimed { .. }] => Ok(()),
            other => bail!("memoryd answers {other:?}"),
        }
    })
}

fn to_swap_file(run: &Run, working_set: u64) -> anyhow::Result<Taken> {
    let _swap = SwapDevice::file(&run.options.swap_in, run.options.swap_bytes())?;
    paged_out(run, Keeping::Heap, working_set)
}

fn to_swap_file_with_huge_pages(run: &Run, working_set: u64) -> anyhow::Result<Taken> {
    let _swap = SwapDevice::file(&run.options.swap_in, run.options.swap_bytes())?;
    paged_out(run, Keeping::HugeHeap, working_set)
}

fn to_zram(run: &Run, working_set: u64) -> anyhow::Result<Taken> {
    let _swap = SwapDevice::zram(run.options.swap_bytes())?;
    paged_out(run, Keeping::Heap, working_set)
}

fn paged_out(run: &Run, keeping: Keeping, working_set: u64) -> anyhow::Result<Taken> {
    let program = run.start(keeping, working_set)?;
    let (from, bytes) = run.rest(working_set);
    // Whole pages: the heap's first may have something else.
    let start = (program.heap_at + from).next_multiple_of(4096);
    program.measure(run.options, |program| pageout::page_out(program.pid(), start, bytes - 4096))
}

/// Memory is back when the kernel has taken the process apart; the objects are back when another one has made them again.
fn kill_and_restart(run: &Run, working_set: u64) -> anyhow::Result<Taken> {
    let program = run.start(Keeping::Heap, working_set)?;
    let bytes = program.resident_bytes()?;
    let begun = Instant::now();
    drop(program);
    let ms = begun.elapsed().as_secs_f64() * 1e3;
    let again = run.start(Keeping::Heap, working_set)?;
    Ok(Taken { ms, bytes, back_ms: again.ready_ms, wrong_bytes: false })
}
