//! The house's own tooling, as `cargo xtask COMMAND`. It knows the repository, never a protocol.
//!
//! It stays quick to compile: what needs heavy dependencies is a crate of its own (`xtask/bindgen`).

mod lines;
mod process;
mod suite;
mod tidy;
mod wasm;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Result, bail};

const USAGE: &str = "usage: cargo xtask COMMAND
  tidy            checks the house rules that no compiler checks (STYLE: lengths, names, openings, the crate graph)
  wasm            builds the browser modules and their JavaScript into sdks/typescript/client/src/wasm and sdks/typescript/objects/src/wasm
  wasm --install  only makes sure that a compiler for wasm is there
  wasm --lint     runs clippy on the browser crates
  test            runs every test and sums them up
  test PART       runs one part of them, such as rust, browser or simulation
  english         counts the sentences of each page, those past 30 words, and doc comments that begin with a word that points
  english --lower lowers the figures that `tidy` holds these counts to; it raises none
  lines           counts the lines of examples, on Iolite and on Redis";

fn main() -> ExitCode {
    match run() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Whether all was well.
fn run() -> Result<bool> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let root = repository_root();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["tidy"] => tidy::run(&root),
        ["wasm"] => wasm::build(&root).map(|()| true),
        ["wasm", "--install"] => wasm::install(&root).map(|_route| true),
        ["wasm", "--lint"] => wasm::lint(&root).map(|()| true),
        ["test"] => suite::run(&root, None),
        ["test", part] => suite::run(&root, Some(part)),
        ["english"] => tidy::english(&root).map(|table| print!("{table}")).map(|()| true),
        ["english", "--lower"] => tidy::lower_english(&root).map(|()| true),
        ["lines"] => lines::tables(&root).map(|tables| print!("{}", tables.join("\n"))).map(|()| true),
        _ => bail!("{USAGE}"),
    }
}

fn repository_root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the repository's root").to_owned()
}
