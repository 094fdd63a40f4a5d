//! A client's process, as its parent sees it.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::{Context, bail};

use crate::arguments::{Role, Workload};
use crate::talk::{FromClient, ToClient};

/// Where clients connect to.
#[derive(Clone, Debug)]
pub struct Address {
    pub url: String,
    pub token: String,
}

/// Killed when it is dropped.
#[derive(Debug)]
pub struct ClientProcess {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl ClientProcess {
    pub fn start(address: &Address, workload: Workload, role: Role, number: u32) -> anyhow::Result<ClientProcess> {
        let program = std::env::current_exe()?;
        let mut command = Command::new(program);
        command.args(["bench-client", "--url", &address.url, "--token", &address.token]);
        command.args(["--workload", &workload.name(), "--role", &role.name(), "--number", &number.to_string()]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let input = child.stdin.take().expect("its input is a pipe");
        let output = BufReader::new(child.stdout.take().expect("its output is a pipe"));
        Ok(ClientProcess { child, input, output })
    }

    pub fn tell(&mut self, message: &ToClient) -> anyhow::Result<()> {
        let mut line = serde_json::to_string(message)?;
        line.push('\n');
        self.input.write_all(line.as_bytes()).context("a client ended early")
    }

    pub fn hear(&mut self) -> anyhow::Result<FromClient> {
        let mut line = String::new();
        if self.output.read_line(&mut line)? == 0 {
            bail!("a client ended early: {}", self.child.wait()?);
        }
        Ok(serde_json::from_str(&line)?)
    }

    pub fn expect_ready(&mut self) -> anyhow::Result<()> {
        match self.hear()? {
            FromClient::Ready => Ok(()),
            other => bail!("a client said {other:?} before it was ready"),
        }
    }

    /// Waits for an end by itself.
    pub fn end(mut self) -> anyhow::Result<()> {
        let status = self.child.wait()?;
        if status.success() { Ok(()) } else { bail!("a client failed: {status}") }
    }
}

impl Drop for ClientProcess {
    fn drop(&mut self) {
        // It has ended already, in every case but an error.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
