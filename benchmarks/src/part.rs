//! A part of a benchmark that is a process of its own, and what it and its parent say to each other: a JSON value a line.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::{Context, bail};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::accounting::Pid;

/// This program again, with other arguments; killed when it is dropped.
#[derive(Debug)]
pub struct PartProcess {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl PartProcess {
    pub fn start(arguments: &[&str]) -> anyhow::Result<PartProcess> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(arguments);
        PartProcess::start_by(command)
    }

    /// Another program that speaks the same way.
    pub fn start_by(mut command: Command) -> anyhow::Result<PartProcess> {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let input = child.stdin.take().expect("its input is a pipe");
        let output = BufReader::new(child.stdout.take().expect("its output is a pipe"));
        Ok(PartProcess { child, input, output })
    }

    pub fn pid(&self) -> Pid {
        Pid::of(&self.child)
    }

    pub fn tell<T: Serialize>(&mut self, message: &T) -> anyhow::Result<()> {
        let mut line = serde_json::to_string(message)?;
        line.push('\n');
        self.input.write_all(line.as_bytes()).context("a client ended early")
    }

    pub fn hear<T: DeserializeOwned>(&mut self) -> anyhow::Result<T> {
        let mut line = String::new();
        if self.output.read_line(&mut line)? == 0 {
            bail!("a client ended early: {}", self.child.wait()?);
        }
        Ok(serde_json::from_str(&line)?)
    }

    /// Waits for an end by itself.
    pub fn end(mut self) -> anyhow::Result<()> {
        let status = self.child.wait()?;
        if status.success() { Ok(()) } else { bail!("a client failed: {status}") }
    }
}

impl Drop for PartProcess {
    fn drop(&mut self) {
        // It has ended already, in every case but an error.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Says something to the parent.
pub fn say<T: Serialize>(message: &T) -> anyhow::Result<()> {
    let mut output = std::io::stdout().lock();
    serde_json::to_writer(&mut output, message)?;
    output.write_all(b"\n")?;
    output.flush()?;
    Ok(())
}

/// Waits for the parent, while the client's own task goes on.
pub async fn hear<T: DeserializeOwned + Send + 'static>() -> anyhow::Result<T> {
    tokio::task::spawn_blocking(hear_now).await?
}

pub fn hear_now<T: DeserializeOwned>() -> anyhow::Result<T> {
    let mut line = String::new();
    std::io::stdin().lock().read_line(&mut line)?;
    serde_json::from_str(&line).context("the parent is gone")
}
