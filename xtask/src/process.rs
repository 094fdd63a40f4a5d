//! Runs other programs, with errors that say which one and what to do.

use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

/// Runs to the end with our own output; an error if it fails.
pub fn run(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("cannot start {}", name(command)))?;
    if !status.success() {
        bail!("{} failed ({status})", name(command));
    }
    Ok(())
}

/// What it printed; its errors go to ours.
pub fn read(command: &mut Command) -> Result<String> {
    let output =
        command.stderr(Stdio::inherit()).output().with_context(|| format!("cannot start {}", name(command)))?;
    if !output.status.success() {
        bail!("{} failed ({})", name(command), output.status);
    }
    String::from_utf8(output.stdout).with_context(|| format!("{} printed something that is not UTF-8", name(command)))
}

/// What it printed, or nothing if it is missing or fails: for asking whether something is there.
pub fn ask(command: &mut Command) -> Option<String> {
    let output = command.stdin(Stdio::null()).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

fn name(command: &Command) -> String {
    let mut words = vec![command.get_program().to_string_lossy().into_owned()];
    words.extend(command.get_args().map(|argument| argument.to_string_lossy().into_owned()));
    format!("`{}`", words.join(" "))
}
