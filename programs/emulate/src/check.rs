//! `iolite-emulate check` and `new`: the file of a design.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Args;
use iolite_emulator::{DESIGNS, Design};

#[derive(Args)]
pub struct Check {
    /// The design's file, or the name of a design that comes with the program
    file: String,
}

#[derive(Args)]
pub struct New {
    /// The name of your design; it is written to NAME.toml
    name: String,
    /// The design that it starts from
    #[arg(long, default_value = "chain")]
    from: String,
}

pub fn run(arguments: &Check) -> Result<ExitCode> {
    let file = crate::files::find("design", DESIGNS, &arguments.file)?;
    match Design::load(&file.name, &file.text) {
        Ok(design) => {
            let mut text =
                format!("{}: {} is sound, and promises: {}\n", file.name, design.name, design.promise.name());
            for (role, module) in design.modules() {
                writeln!(text, "  {role:<12}{module}")?;
            }
            crate::output::print(&text)?;
            Ok(ExitCode::SUCCESS)
        }
        Err(problems) => {
            problems.iter().for_each(|problem| crate::output::warn(&problem.to_string()));
            Ok(ExitCode::FAILURE)
        }
    }
}

pub fn new(arguments: &New) -> Result<ExitCode> {
    let from = crate::files::find("design", DESIGNS, &arguments.from)?;
    let path = PathBuf::from(format!("{}.toml", arguments.name));
    let named = |line: &str| line.starts_with("name = ");
    let lines = from.text.lines().map(|line| match named(line) {
        true => format!("name = {:?}\n", arguments.name),
        false => format!("{line}\n"),
    });
    let text: String = lines.collect();
    let mut file = std::fs::File::create_new(&path)
        .with_context(|| format!("{} cannot be written; a file that is there is not overwritten", path.display()))?;
    file.write_all(text.as_bytes()).with_context(|| format!("{} cannot be written", path.display()))?;
    let told = format!("{}: a copy of {}; run it with `iolite-emulate run {0}`\n", path.display(), arguments.from);
    crate::output::print(&told)?;
    Ok(ExitCode::SUCCESS)
}
