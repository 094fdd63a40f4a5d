//! Tests of packages outside of the workspace, built as an app's are: with the public libraries, and nothing else.
//!
//! Cargo would build all of Iolite again for them, as each workspace has its own. So the compiler takes the libraries that the workspace's tests have built.
//! `cargo test` in the package's folder does the same from nothing.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use super::executables::Executable;

/// A package outside of the workspace.
pub struct Outside {
    pub folder: &'static str,
    /// The package's name, as the compiler knows it.
    name: &'static str,
    /// The libraries that its manifest names.
    libraries: &'static [&'static str],
}

pub const OUTSIDE: &[Outside] =
    &[Outside { folder: "examples/rate-limit", name: "rate_limit", libraries: &["iolite", "tokio"] }];

/// Libraries of the workspace, by the names that the compiler knows.
pub type Libraries = BTreeMap<String, PathBuf>;

/// The executables of all tests, or nothing if something does not compile; the compiler says what.
pub fn build(root: &Path, libraries: &Libraries) -> Result<Option<Vec<Executable>>> {
    let mut executables = Vec::new();
    for outside in OUTSIDE {
        let Some(own) = outside.build(root, libraries)? else { return Ok(None) };
        executables.extend(own);
    }
    Ok(Some(executables))
}

impl Outside {
    fn build(&self, root: &Path, libraries: &Libraries) -> Result<Option<Vec<Executable>>> {
        let (folder, into) = (root.join(self.folder), root.join("target/outside").join(self.name));
        fs::create_dir_all(&into).with_context(|| format!("cannot make {}", into.display()))?;
        let library = into.join(format!("lib{}.rlib", self.name));
        if !self.compile(&folder.join("src/lib.rs"), &["--crate-type", "lib"], &library, libraries)? {
            return Ok(None);
        }
        let mut with_own = libraries.clone();
        with_own.insert(self.name.to_owned(), library);
        let mut executables = Vec::new();
        let tests = fs::read_dir(folder.join("tests")).with_context(|| format!("{} has no tests", self.folder))?;
        for test in tests {
            let source = test?.path();
            let target = source.file_stem().and_then(|stem| stem.to_str()).context("a test has a name")?.to_owned();
            let path = into.join(&target);
            if !self.compile(&source, &["--test"], &path, &with_own)? {
                return Ok(None);
            }
            let choice = format!("--test {target} --manifest-path {}/Cargo.toml", self.folder);
            let package = self.name.replace('_', "-");
            executables.push(Executable { package, target, choice, folder: folder.clone(), path });
        }
        Ok(Some(executables))
    }

    /// Whether it compiles.
    fn compile(&self, source: &Path, kind: &[&str], into: &Path, libraries: &Libraries) -> Result<bool> {
        let mut rustc = Command::new("nice");
        rustc.args(["-n", "5", "rustc", "--edition", "2024", "--crate-name"]);
        let stem = into.file_stem().and_then(|stem| stem.to_str()).context("it has a name")?;
        rustc.arg(stem.trim_start_matches("lib")).args(kind).arg(source).arg("-o").arg(into).args(["-D", "warnings"]);
        for name in self.libraries.iter().copied().chain([self.name]) {
            if let Some(library) = libraries.get(name) {
                rustc.arg("--extern").arg(format!("{name}={}", library.display()));
                let folder = library.parent().context("a library is in a folder")?;
                rustc.arg("-L").arg(format!("dependency={}", folder.display()));
            }
        }
        Ok(rustc.status().context("cannot start rustc")?.success())
    }
}
