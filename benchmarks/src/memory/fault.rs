//! `memory-fault`: the time of a program that uses objects of which a part was taken, beside `pread` of as many bytes.
//!
//! Source: Marvin (Lebeck 2020) 4.8.4, Figure 4.10. Objects are used in an order that looks drawn. What was saved is read from the kernel's copy
//! of the file, or from the disk.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::time::Instant;

use anyhow::bail;
use serde::Serialize;

use super::MemoryOptions;
use super::arm::{Keeping, Say, Start};
use super::arms::Arms;
use super::daemon::OwnDaemon;
use super::draw::Draw;
use super::group::Group;
use super::objects::{content, forget, is_right, write_file};
use super::program::ms_since;
use super::report::load;
use super::resume::out_to_swap;
use super::swap_device::SwapDevice;

/// One run, a row for each part that was taken.
#[derive(Debug, Serialize)]
pub struct FaultReport {
    mb: u64,
    object_bytes: u64,
    load_before: String,
    rows: Vec<(u64, Arms<f64>)>,
}

struct Run<'a> {
    options: &'a MemoryOptions,
    daemon: OwnDaemon,
}

/// # Errors
/// When memoryd does not start.
pub fn measure(options: &MemoryOptions) -> anyhow::Result<FaultReport> {
    let load_before = load();
    let run = Run { options, daemon: OwnDaemon::start(None)? };
    let rows = options.taken.iter().map(|&percent| (percent, run.row(percent))).collect();
    Ok(FaultReport { mb: options.mb, object_bytes: options.object_bytes, load_before, rows })
}

/// Where `pread` puts an object.
#[derive(Clone, Copy)]
enum Into {
    /// The same buffer for each: nothing is kept.
    OneBuffer,
    /// Memory of its own, which the kernel has to give first.
    NewMemory,
}

impl Run<'_> {
    fn row(&self, percent: u64) -> Arms<f64> {
        let options = self.options;
        let mut arms = Arms::default();
        for (name, forgets) in [("region, file in memory", false), ("region, file on disk", true)] {
            arms.run(name, || self.in_region(percent, forgets));
        }
        for (name, into, forgets) in [
            ("pread, file in memory", Into::OneBuffer, false),
            ("pread to new memory, file in memory", Into::NewMemory, false),
            ("pread, file on disk", Into::OneBuffer, true),
        ] {
            arms.run(name, || self.by_pread(percent, into, forgets));
        }
        arms.run("swap file", || self.in_swap(percent, SwapDevice::file(&options.swap_in, options.swap_bytes())?));
        arms.run("zram", || self.in_swap(percent, SwapDevice::zram(options.swap_bytes())?));
        arms
    }

    fn in_region(&self, percent: u64, forgets: bool) -> anyhow::Result<f64> {
        let mut program = Start::of(self.options, Keeping::Region, self.daemon.socket()).start()?;
        let wanted = self.options.objects() * percent / 100 * self.options.object_bytes;
        let taken = if wanted > 0 { self.daemon.take(program.pid(), wanted)? } else { 0 };
        if taken != wanted {
            bail!("memoryd took {taken} bytes instead of {wanted}");
        }
        program.order(&Say::UseAllInAnyOrder { forgets })
    }

    fn in_swap(&self, percent: u64, _swap: SwapDevice) -> anyhow::Result<f64> {
        let group = Group::make("fault", None)?;
        let start = Start::of(self.options, Keeping::Heap, self.daemon.socket());
        let mut program = Start { group: Some(group.folder()), ..start }.start()?;
        out_to_swap(&program, &group, self.options, percent)?;
        // The kernel's copies went, and more of the program with them: what was not to be taken comes back first.
        program.order(&Say::UseFrom { percent })?;
        program.order(&Say::UseAllInAnyOrder { forgets: false })
    }

    /// Reads the first so many percent of the objects in the order in which a program meets them, and checks them, too.
    fn by_pread(&self, percent: u64, into: Into, forgets: bool) -> anyhow::Result<f64> {
        let each = usize::try_from(self.options.object_bytes)?;
        let count = usize::try_from(self.options.objects())?;
        let read = count * usize::try_from(percent)? / 100;
        let path = self.options.swap_in.join(format!("iolite-bench-pread-{}", std::process::id()));
        write_file(&path, count, each)?;
        let file = File::open(&path)?;
        std::fs::remove_file(&path)?;
        if forgets {
            forget(&file)?;
        } else {
            std::io::copy(&mut &file, &mut std::io::sink())?;
        }
        let order: Vec<usize> = Draw::new(1).shuffled(count).into_iter().filter(|&number| number < read).collect();
        let expected = content(0, each);
        let mut memory = vec![0; if matches!(into, Into::NewMemory) { read * each } else { each }];
        let begun = Instant::now();
        for number in order {
            let at = if matches!(into, Into::NewMemory) { number * each } else { 0 };
            let buffer = &mut memory[at..at + each];
            file.read_exact_at(buffer, (number * each) as u64)?;
            if !is_right(buffer, number, &expected) {
                bail!("WRONG BYTES");
            }
        }
        Ok(ms_since(begun))
    }
}

impl FaultReport {
    /// Each arm's time past that of the row of 0 %, by that of the floor.
    fn ratios(&self) -> Vec<String> {
        let pairs = [
            ("file in memory, past pread (aim 1.3)", "region, file in memory", "pread, file in memory"),
            (
                "file in memory, past pread to new memory",
                "region, file in memory",
                "pread to new memory, file in memory",
            ),
            ("file on disk, past pread (aim 1.3)", "region, file on disk", "pread, file on disk"),
            ("file on disk / swap file", "region, file on disk", "swap file"),
        ];
        let Some((_, base)) = self.rows.iter().find(|(percent, _)| *percent == 0) else { return Vec::new() };
        let past = |arms: &Arms<f64>, arm: &str| {
            let is_pread = arm.starts_with("pread");
            Some(arms.of(arm)? - if is_pread { 0.0 } else { *base.of(arm)? })
        };
        let of_row = |(percent, arms): &(u64, Arms<f64>)| {
            let ratio = |(name, ours, other): &(&str, &str, &str)| {
                Some(format!("{percent} %: {name}: {:.2}", past(arms, ours)? / past(arms, other)?))
            };
            pairs.iter().filter_map(ratio).collect::<Vec<String>>()
        };
        self.rows.iter().filter(|(percent, _)| *percent > 0).flat_map(of_row).collect()
    }

    pub fn in_words(&self) -> String {
        let mut lines = vec![
            format!("{} MB in objects of {} bytes; load {}", self.mb, self.object_bytes, self.load_before),
            "| taken | arm | ms |".to_owned(),
            "| ---: | --- | ---: |".to_owned(),
        ];
        for (percent, arms) in &self.rows {
            lines.extend(arms.figures.iter().map(|(arm, ms)| format!("| {percent} % | {arm} | {ms:.0} |")));
            lines.extend(arms.not_run_in_words().map(|line| format!("| {percent} % | {line} | |")));
        }
        lines.extend(self.ratios());
        lines.join("\n")
    }

    /// A wrong byte is no figure.
    pub fn is_right(&self) -> bool {
        self.rows.iter().all(|(_, arms)| arms.not_run.values().all(|reason| !reason.contains("WRONG")))
    }
}
