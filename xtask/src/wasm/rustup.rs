//! The compiler that is in use, with the wasm target that rustup adds to it.

use std::path::Path;
use std::process::Command;

use anyhow::Result;

use super::TARGET;
use crate::process;

/// Whether the compiler in use has a standard library for wasm, wherever it came from.
pub fn is_installed() -> bool {
    let folder = process::ask(Command::new("rustc").args(["--print", "target-libdir", "--target", TARGET]));
    folder.is_some_and(|folder| Path::new(folder.trim()).is_dir())
}

pub fn install() -> Result<()> {
    if is_installed() {
        return Ok(());
    }
    process::run(Command::new("rustup").args(["target", "add", TARGET]))
}

pub fn cargo() -> Command {
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}
