//! `memory-resume`: the first second of a program that comes back, by how its memory was taken and how it returns.
//!
//! Every program touches a part of its objects, rests, and loses all of its memory. Back, it answers requests for what it had touched, one after the
//! other for a second, and in another run a thousand that come evenly. Source: Marvin (Lebeck 2020) 4.4 and 4.8; the aims are those of the issue.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::bail;
use serde::Serialize;

use super::MemoryOptions;
use super::arm::{Hear, Keeping, Program, Return, Say, Served, Start};
use super::arms::Arms;
use super::daemon::OwnDaemon;
use super::group::Group;
use super::report::load;
use super::swap_device::SwapDevice;
use super::{objects, pageout};

/// Longer than four rounds of the Clock: what is touched after it is told apart from what was made before.
const UNTIL_COLD: Duration = Duration::from_secs(22);

/// One run, with every arm.
#[derive(Debug, Serialize)]
pub struct ResumeReport {
    mb: u64,
    object_bytes: u64,
    touched_percent: u64,
    load_before: String,
    /// Requests one after the other.
    arms: Arms<Served>,
    /// A thousand requests in the second, each counted from when it was due.
    paced: Arms<Served>,
}

struct Run<'a> {
    options: &'a MemoryOptions,
    daemon: &'a OwnDaemon,
    is_paced: bool,
}

/// # Errors
/// When memoryd does not start.
pub fn measure(options: &MemoryOptions) -> anyhow::Result<ResumeReport> {
    let load_before = load();
    let daemon = OwnDaemon::start(None)?;
    let [arms, paced] = [false, true].map(|is_paced| Run { options, daemon: &daemon, is_paced }.all());
    let MemoryOptions { mb, object_bytes, touched: touched_percent, .. } = *options;
    Ok(ResumeReport { mb, object_bytes, touched_percent, load_before, arms, paced })
}

/// A file that is removed at the end.
struct Removed(PathBuf);

impl Drop for Removed {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_file(&self.0) {
            eprintln!("{} stays: remove it ({error})", self.0.display());
        }
    }
}

impl Run<'_> {
    fn all(&self) -> Arms<Served> {
        let options = self.options;
        let mut arms = Arms::default();
        arms.run("nothing was taken", || self.in_region(Return::OnDemand, false));
        arms.run("all at once", || self.in_region(Return::All, true));
        arms.run("on demand", || self.in_region(Return::OnDemand, true));
        arms.run("last touched first", || self.in_region(Return::LastTouchedFirst, true));
        arms.run("swap file", || self.in_swap(SwapDevice::file(&options.swap_in, options.swap_bytes())?));
        arms.run("zram", || self.in_swap(SwapDevice::zram(options.swap_bytes())?));
        arms.run("restart, objects computed", || self.restarted(None));
        arms.run("restart, objects read from a file", || {
            let file = Removed(options.swap_in.join(format!("iolite-bench-objects-{}", std::process::id())));
            objects::write_file(&file.0, usize::try_from(options.objects())?, usize::try_from(options.object_bytes)?)?;
            self.restarted(Some(&file))
        });
        arms
    }

    fn in_region(&self, by: Return, is_taken: bool) -> anyhow::Result<Served> {
        let save_every = Duration::from_millis(500);
        let start = Start { save_every, ..Start::of(self.options, Keeping::Region, self.daemon.socket()) };
        let mut program = start.start()?;
        if matches!(by, Return::LastTouchedFirst) {
            std::thread::sleep(UNTIL_COLD);
        }
        program.order(&Say::Rest { touched_percent: self.options.touched })?;
        if is_taken {
            let taken = self.daemon.take(program.pid(), u64::MAX)?;
            if taken < self.options.objects() * self.options.object_bytes {
                bail!("memoryd took {taken} bytes only");
            }
        }
        self.come_back(&mut program, by)
    }

    fn in_swap(&self, _swap: SwapDevice) -> anyhow::Result<Served> {
        let group = Group::make("resume", None)?;
        let start = Start::of(self.options, Keeping::Heap, self.daemon.socket());
        let mut program = Start { group: Some(group.folder()), ..start }.start()?;
        program.order(&Say::Rest { touched_percent: self.options.touched })?;
        out_to_swap(&program, &group, self.options, 100)?;
        // The program goes before its swap does: else all of it is read back.
        let served = self.come_back(&mut program, Return::OnDemand);
        drop(program);
        served
    }

    /// A new program, from the start of its process.
    fn restarted(&self, from_file: Option<&Removed>) -> anyhow::Result<Served> {
        let begun = Instant::now();
        let start = Start::of(self.options, Keeping::Heap, self.daemon.socket());
        let mut program = Start { from_file: from_file.map(|file| file.0.as_path()), ..start }.start()?;
        let started_ms = begun.elapsed().as_secs_f64() * 1e3;
        let served = self.come_back(&mut program, Return::OnDemand)?;
        let first_ms = started_ms + served.first_ms;
        Ok(Served { came_back_ms: started_ms, first_ms, worst_ms: first_ms.max(served.worst_ms), ..served })
    }

    fn come_back(&self, program: &mut Program, by: Return) -> anyhow::Result<Served> {
        match program.ask(&Say::Return { by, touched_percent: self.options.touched, is_paced: self.is_paced })? {
            Hear::Served(served) if served.wrong_bytes => bail!("WRONG BYTES"),
            Hear::Served(served) => Ok(served),
            Hear::Ready { .. } | Hear::Used { .. } => bail!("the program answers what it was not asked"),
        }
    }
}

/// Writes the first so many percent of a program's objects to swap, and lets the kernel forget its copies.
pub fn out_to_swap(program: &Program, group: &Group, options: &MemoryOptions, percent: u64) -> anyhow::Result<()> {
    // Whole pages: the heap's first may have something else.
    let start = program.heap_at.next_multiple_of(4096);
    let bytes = options.objects() * percent / 100 * options.object_bytes;
    if bytes > 4096 {
        let before = program.resident_bytes()?;
        pageout::page_out(program.pid(), start, bytes - 4096)?;
        let out = before.saturating_sub(program.resident_bytes()?);
        if out < bytes / 10 * 9 {
            bail!("the kernel wrote {out} of {bytes} bytes only");
        }
        rustix::fs::sync();
        group.drop_copies()?;
    }
    Ok(())
}

impl ResumeReport {
    pub fn in_words(&self) -> String {
        let mut lines = vec![format!(
            "{} MB in objects of {} bytes, of which {} % were touched; load {}",
            self.mb, self.object_bytes, self.touched_percent, self.load_before
        )];
        lines.push("Requests one after the other:".to_owned());
        lines.extend(table(&self.arms));
        lines.push("A thousand requests in the second, each counted from when it was due:".to_owned());
        lines.extend(table(&self.paced));
        lines.extend(self.ratios());
        lines.extend(self.arms.not_run_in_words());
        lines.extend(self.paced.not_run_in_words());
        lines.join("\n")
    }

    /// A wrong byte is no figure.
    pub fn is_right(&self) -> bool {
        self.arms.not_run.values().chain(self.paced.not_run.values()).all(|reason| !reason.contains("WRONG"))
    }

    fn ratios(&self) -> impl Iterator<Item = String> {
        let p99 = |served: &Served| served.p99_ms;
        let first = |served: &Served| served.first_ms;
        [
            ratio(
                &self.arms,
                "p99, last touched first / swap file (aim 0.25)",
                ["last touched first", "swap file"],
                p99,
            ),
            ratio(&self.paced, "the same, a thousand requests", ["last touched first", "swap file"], p99),
            ratio(
                &self.arms,
                "first answer, all at once / restart, computed (aim 0.5)",
                ["all at once", "restart, objects computed"],
                first,
            ),
            ratio(
                &self.arms,
                "first answer, all at once / restart, from a file (aim 0.5)",
                ["all at once", "restart, objects read from a file"],
                first,
            ),
        ]
        .into_iter()
        .flatten()
    }
}

fn ratio(arms: &Arms<Served>, name: &str, pair: [&str; 2], of: fn(&Served) -> f64) -> Option<String> {
    let [ours, other] = pair.map(|arm| arms.of(arm).map(of));
    Some(format!("{name}: {:.3}", ours? / other?))
}

fn table(arms: &Arms<Served>) -> Vec<String> {
    let mut lines = vec![
        "| arm | back, ms | first answer, ms | p50, ms | p99, ms | worst, ms | requests |".to_owned(),
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: |".to_owned(),
    ];
    for (arm, served) in &arms.figures {
        let Served { came_back_ms, first_ms, p50_ms, p99_ms, worst_ms, requests, .. } = served;
        lines.push(format!(
            "| {arm} | {came_back_ms:.1} | {first_ms:.1} | {p50_ms:.3} | {p99_ms:.3} | {worst_ms:.1} | {requests} |"
        ));
    }
    lines
}
