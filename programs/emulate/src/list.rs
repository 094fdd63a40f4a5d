//! `iolite-emulate list`: what there is.

use std::fmt::Write;
use std::process::ExitCode;

use anyhow::Result;
use iolite_emulator::{BROKEN, DESIGNS, Design, HARDWARE, Hardware, Kept, WORKLOADS, Workload, entries};

pub fn run() -> Result<ExitCode> {
    let mut text = String::new();
    part(&mut text, "Designs", DESIGNS, |kept| {
        let design = Design::load(kept.file, kept.text).ok()?;
        let broken = BROKEN.iter().filter(|broken| broken.design == kept.name).map(|broken| broken.rule);
        let broken: Vec<&str> = broken.collect();
        let promise = design.promise.name();
        Some(format!("{}; promises: {promise}; --broken {}", design.about, broken.join(", ")))
    })?;
    part(&mut text, "Workloads", WORKLOADS, |kept| Some(Workload::load(kept.file, kept.text).ok()?.about))?;
    part(&mut text, "Hardware", HARDWARE, |kept| Some(Hardware::load(kept.file, kept.text).ok()?.about))?;
    writeln!(text, "Modules")?;
    for entry in entries() {
        let calls: Vec<&str> = entry.calls.iter().map(|call| call.name).filter(|call| !call.is_empty()).collect();
        let calls = if calls.is_empty() { String::new() } else { format!(" ({})", calls.join(", ")) };
        writeln!(text, "  {:<24}{}{calls}", entry.name, entry.purpose)?;
    }
    crate::output::print(&text)?;
    Ok(ExitCode::SUCCESS)
}

fn part(text: &mut String, title: &str, kept: &[Kept], about: impl Fn(&Kept) -> Option<String>) -> Result<()> {
    writeln!(text, "{title}")?;
    for kept in kept {
        let about = about(kept).expect("what comes with the program loads: its tests load all of it");
        writeln!(text, "  {:<24}{about}", kept.name)?;
    }
    writeln!(text)?;
    Ok(())
}
