//! Programs of their own that the command line starts from beside itself, so that the server's program carries none of them.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

use anyhow::{Context, bail};

/// Becomes the program, which has the rest of the command line. Signals, streams and the exit code are the program's then.
///
/// # Errors
/// The program was not built, with what to do, or it cannot be started.
pub fn run(name: &str, package: &str, arguments: &[OsString]) -> anyhow::Result<ExitCode> {
    let own = std::env::current_exe().context("cannot find this program")?;
    let program = own.with_file_name(name);
    if !program.is_file() {
        bail!(
            "{name} is not beside {}: build it with `cargo build --release --package {package}`, or without `--release` for a debug build",
            own.display()
        );
    }
    // It returns only if it fails.
    let error = Command::new(&program).args(arguments).exec();
    Err(error).with_context(|| format!("cannot start {}", program.display()))
}
