//! `cargo xtask tidy`: the rules of the house that no compiler checks.
//!
//! Invariant: the check only reads, and every rule has a test with bad input that must be reported.
//! Source: the house style, rules 3, 5, 10, 11, 15, 17, 18, 20 and 22, and the crate graph of the design (ARCHITECTURE.md).

mod crates;
mod dependencies;
mod english;
mod finding;
mod functions;
mod graph;
mod lengths;
mod limits;
mod links;
mod manifests;
mod map;
mod mentions;
mod names;
mod openings;
mod outside;
mod plain_code;
mod protos;
mod quotes;
mod runtimes;
mod sources;
mod unwraps;
mod versions;

use std::path::Path;

use anyhow::{Context, Result};

use finding::{Finding, Severity};

/// Prints one line a finding; false if one of them is more than a warning.
pub fn run(root: &Path) -> Result<bool> {
    let sources = sources::read(root)?;
    let crates = crates::read(root)?;

    let mut findings = Vec::new();
    for source in &sources {
        findings.extend(names::check(source));
        findings.extend(lengths::check(source));
        findings.extend(openings::check(source));
        findings.extend(mentions::check(source));
        findings.extend(protos::check(source));
        findings.extend(manifests::check(source));
        findings.extend(unwraps::check(source));
    }
    findings.extend(english::check(&sources));
    findings.extend(protos::check_reserved(&sources));
    findings.extend(links::check(&sources));
    findings.extend(quotes::check(&sources));
    findings.extend(limits::check(&sources));
    findings.extend(map::check(&sources));
    findings.extend(outside::check(&sources));
    findings.extend(graph::check(&crates.ours));
    findings.extend(dependencies::check(&crates.ours));
    findings.extend(runtimes::check(&crates));
    findings.extend(versions::check(root)?);
    Ok(report(findings))
}

/// The sentences of each page and the doc comments of all code, counted.
pub fn english(root: &Path) -> Result<String> {
    Ok(english::table(&sources::read(root)?))
}

/// Lowers the figures of `english.txt` that files no longer need.
pub fn lower_english(root: &Path) -> Result<()> {
    let figures = english::lowered(&sources::read(root)?);
    std::fs::write(root.join(english::PATH), figures).with_context(|| format!("cannot write {}", english::PATH))
}

fn report(mut findings: Vec<Finding>) -> bool {
    findings.sort();
    for finding in &findings {
        println!("{finding}");
    }
    let failures = findings.iter().filter(|finding| finding.severity == Severity::Failure).count();
    println!("tidy: {failures} to repair, {} to look at again", findings.len() - failures);
    failures == 0
}
