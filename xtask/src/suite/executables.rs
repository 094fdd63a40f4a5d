//! Builds the Rust tests, and lists their executables from what cargo prints.
//!
//! Invariant: every executable that `cargo test` would run is in the list, once.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result};
use serde_json::Value;

use super::outside::{self, Libraries};
use super::weights::{Weight, weight};

/// One test executable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Executable {
    pub package: String,
    /// The target's name; `lib` for the unit tests of a library.
    pub target: String,
    /// The options by which `cargo test` runs it alone: `--lib`, `--test NAME`, `--bin NAME`.
    pub choice: String,
    /// The package's folder, in which its tests run.
    pub folder: PathBuf,
    pub path: PathBuf,
}

impl Executable {
    pub fn name(&self) -> String {
        format!("{}/{}", self.package, self.target)
    }

    /// The command that runs it again.
    pub fn command(&self) -> String {
        format!("cargo test --locked --package {} {}", self.package, self.choice)
    }

    pub fn weight(&self) -> Weight {
        weight(&self.package, &self.target)
    }
}

/// Takes the variables of the package xtask, which `cargo xtask` sets, from a command. Build scripts that look at them would run again otherwise, and all
/// that rests on them would be compiled again.
pub fn without_own_variables(command: &mut Command) {
    let is_own = |name: &str| name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_");
    let own = std::env::vars_os().map(|(name, _)| name).filter(|name| name.to_str().is_some_and(is_own));
    own.for_each(|name| {
        command.env_remove(name);
    });
}

/// The executables, or nothing if something does not compile; cargo says what.
pub fn build(root: &Path) -> Result<Option<Vec<Executable>>> {
    // Browsers and simulations run meanwhile. They wait for answers, and the compiler takes what they leave.
    let mut cargo = Command::new("nice");
    cargo.args(["-n", "5", "cargo", "test", "--locked", "--no-run", "--message-format=json-render-diagnostics"]);
    without_own_variables(&mut cargo);
    let cargo = cargo.current_dir(root).stdin(Stdio::null()).stdout(Stdio::piped()).spawn();
    let mut cargo = cargo.context("cannot start cargo")?;
    let messages = BufReader::new(cargo.stdout.take().expect("its output was asked for"));
    let (mut executables, mut libraries) = (Vec::new(), Libraries::new());
    for line in messages.lines() {
        let line = line.context("cannot read what cargo prints")?;
        let Ok(message) = serde_json::from_str(&line) else { continue };
        executables.extend(of_message(&message));
        libraries.extend(library(&message));
    }
    if !cargo.wait()?.success() {
        return Ok(None);
    }
    let outside = outside::build(root, &libraries)?;
    Ok(outside.map(|outside| executables.into_iter().chain(outside).collect()))
}

/// The library that a message of cargo tells of, by the name that the compiler knows, if it tells of one.
fn library(message: &Value) -> Option<(String, PathBuf)> {
    if message["reason"] != "compiler-artifact" || message["profile"]["test"] == true {
        return None;
    }
    let mut files = message["filenames"].as_array()?.iter().filter_map(Value::as_str);
    let file = files.find(|file| file.ends_with(".rlib"))?;
    Some((message["target"]["name"].as_str()?.replace('-', "_"), PathBuf::from(file)))
}

/// The test executable that a message of cargo tells of, if it tells of one.
fn of_message(message: &Value) -> Option<Executable> {
    if message["reason"] != "compiler-artifact" || message["profile"]["test"] != true {
        return None;
    }
    let path = PathBuf::from(message["executable"].as_str()?);
    let folder = Path::new(message["manifest_path"].as_str()?).parent()?.to_owned();
    let (kind, name) = (message["target"]["kind"][0].as_str()?, message["target"]["name"].as_str()?);
    let (target, choice) = match kind {
        "test" | "bin" | "example" | "bench" => (name, format!("--{kind} {name}")),
        // A library of any kind, proc-macro among them.
        _ => ("lib", "--lib".to_owned()),
    };
    let package = package_name(message["package_id"].as_str()?);
    Some(Executable { package: package.to_owned(), target: target.to_owned(), choice, folder, path })
}

/// `path+file:///a/b#name@0.1.0`, or `path+file:///a/name#0.1.0` where the folder has the package's name.
fn package_name(id: &str) -> &str {
    let (place, end) = id.split_once('#').unwrap_or((id, ""));
    match end.split_once('@') {
        Some((name, _)) => name,
        None => place.rsplit('/').next().unwrap_or(place),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn message(id: &str, kind: &str, name: &str, is_test: bool) -> Value {
        json!({
            "reason": "compiler-artifact", "package_id": id, "manifest_path": "/r/crates/values/Cargo.toml",
            "target": { "kind": [kind], "name": name }, "profile": { "test": is_test }, "executable": "/r/target/debug/deps/x-1"
        })
    }

    #[test]
    fn executables_of_tests_are_taken_with_their_names_and_commands() {
        let unit =
            of_message(&message("path+file:///r/crates/values#iolite-values@0.1.0", "lib", "iolite_values", true));
        let unit = unit.expect("it is one");
        assert_eq!((unit.name().as_str(), unit.folder.as_path()), ("iolite-values/lib", Path::new("/r/crates/values")));
        assert_eq!(unit.command(), "cargo test --locked --package iolite-values --lib");
        let whole =
            of_message(&message("path+file:///r/hundred-game#0.1.0", "test", "rounds", true)).expect("it is one");
        assert_eq!(whole.command(), "cargo test --locked --package hundred-game --test rounds");
    }

    #[test]
    fn libraries_are_taken_with_the_names_that_the_compiler_knows() {
        let mut built = message("path+file:///r/crates/values#iolite-values@0.1.0", "lib", "iolite-values", false);
        assert_eq!(library(&built), None);
        built["filenames"] = json!(["/r/target/libv.rmeta", "/r/target/libv.rlib"]);
        assert_eq!(library(&built), Some(("iolite_values".to_owned(), PathBuf::from("/r/target/libv.rlib"))));
    }

    #[test]
    fn programs_and_libraries_that_are_no_tests_are_left_out() {
        assert_eq!(of_message(&message("path+file:///r#a@0.1.0", "bin", "a", false)), None);
        assert_eq!(of_message(&json!({ "reason": "build-finished", "success": true })), None);
    }
}
