//! Designs, workloads and hardware by name, or by the path of a file.

use std::path::Path;

use anyhow::{Context, Result, bail};
use iolite_emulator::{BROKEN, Broken, Kept, PlanFile};

/// One that comes with the program, or a file whose name ends in `.toml`.
pub fn find(what: &str, kept: &[Kept], name: &str) -> Result<PlanFile> {
    if let Some(kept) = kept.iter().find(|kept| kept.name == name) {
        return Ok(PlanFile { name: kept.file.to_owned(), text: kept.text.to_owned() });
    }
    if Path::new(name).extension().is_some_and(|extension| extension == "toml") {
        let text = std::fs::read_to_string(name).with_context(|| format!("{what} {name} cannot be read"))?;
        return Ok(PlanFile { name: name.to_owned(), text });
    }
    let known: Vec<&str> = kept.iter().map(|kept| kept.name).collect();
    bail!("there is no {what} `{name}`: name one of {}, or a file that ends in .toml", known.join(", "));
}

/// A design with one rule taken out.
pub fn broken(design: &str, rule: &str) -> Result<PlanFile> {
    let of_design: Vec<&Broken> = BROKEN.iter().filter(|broken| broken.design == design).collect();
    if let Some(broken) = of_design.iter().find(|broken| broken.rule == rule) {
        return Ok(PlanFile { name: broken.file.to_owned(), text: broken.text.to_owned() });
    }
    let known: Vec<&str> = of_design.iter().map(|broken| broken.rule).collect();
    bail!(
        "design `{design}` has no rule `{rule}` that can be taken out: {}",
        match known.is_empty() {
            true => "it has none".to_owned(),
            false => format!("name one of {}", known.join(", ")),
        }
    );
}
