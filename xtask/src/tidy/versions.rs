//! The compiler is at least the `rust-version` of the workspace, and says so before anything fails strangely.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use super::finding::Finding;
use crate::process;

pub fn check(root: &Path) -> Result<Option<Finding>> {
    let manifest = std::fs::read_to_string(root.join("Cargo.toml")).context("cannot read Cargo.toml")?;
    let rustc = process::read(Command::new("rustc").arg("--version").current_dir(root))?;
    Ok(compare(&manifest, &rustc))
}

fn compare(manifest: &str, rustc: &str) -> Option<Finding> {
    let lines = || manifest.lines().enumerate();
    let Some((index, wanted)) = lines().find_map(|(index, line)| Some((index, line.strip_prefix("rust-version = ")?)))
    else {
        return Some(Finding::failure("Cargo.toml", 1, "sets no rust-version: add it under [workspace.package]"));
    };
    let wanted = wanted.trim().trim_matches('"');
    let found = rustc.split_whitespace().nth(1).unwrap_or("");
    (numbers(found) < numbers(wanted)).then(|| {
        let message = format!("needs Rust {wanted}, and `rustc` is {found}: run `rustup update stable`");
        Finding::failure("Cargo.toml", index + 1, message)
    })
}

/// `1.88` as (1, 88, 0); a suffix such as `-nightly` does not count.
fn numbers(version: &str) -> [u32; 3] {
    let release = version.split('-').next().unwrap_or("");
    let mut parts = release.split('.').map(|part| part.parse().unwrap_or(0));
    [0; 3].map(|_: u32| parts.next().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MANIFEST: &str = "[workspace.package]\nrust-version = \"1.88\"\n";

    #[test]
    fn an_older_compiler_is_reported() {
        assert_eq!(compare(MANIFEST, "rustc 1.87.0 (abc 2025-01-01)").map(|finding| finding.line), Some(2));
        assert_eq!(compare(MANIFEST, "rustc 1.9.9 (abc)").map(|finding| finding.line), Some(2));
    }

    #[test]
    fn the_same_or_a_newer_compiler_passes() {
        for rustc in ["rustc 1.88.0 (abc)", "rustc 1.100.0-nightly (abc)", "rustc 2.0.0"] {
            assert_eq!(compare(MANIFEST, rustc), None);
        }
    }

    #[test]
    fn a_workspace_without_rust_version_is_reported() {
        assert!(compare("[workspace]\n", "rustc 1.95.0").is_some());
    }
}
