//! A player's process as its parent sees it: killed, and started again on the same disk.

use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::Instant;

use anyhow::Context;
use rustix::process::Signal;
use tokio::sync::mpsc::UnboundedSender;

use super::survivor::{FromSurvivor, ToSurvivor};

/// What a player told, and when the parent knew.
#[derive(Debug)]
pub struct Heard {
    pub at: Instant,
    pub told: FromSurvivor,
}

/// Killed when it is dropped.
pub struct Seat {
    pub player: &'static str,
    directory: PathBuf,
    /// Of all gateways, separated by commas.
    urls: String,
    token: String,
    heard: UnboundedSender<Heard>,
    lives: u32,
    running: Option<(Child, ChildStdin)>,
}

impl Seat {
    /// One whose player was not started yet.
    pub fn new(
        player: &'static str,
        directory: PathBuf,
        urls: &[String],
        token: &str,
        heard: UnboundedSender<Heard>,
    ) -> Seat {
        Seat { player, directory, urls: urls.join(","), token: token.to_owned(), heard, lives: 0, running: None }
    }

    pub fn start(&mut self) -> anyhow::Result<()> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["bench-part", "survivor", "--urls", &self.urls, "--token", &self.token]);
        command.args(["--name", self.player, "--life", &self.lives.to_string(), "--directory"]).arg(&self.directory);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let input = child.stdin.take().expect("its input is a pipe");
        let output = BufReader::new(child.stdout.take().expect("its output is a pipe"));
        let heard = self.heard.clone();
        // It ends with the process.
        std::thread::spawn(move || {
            for line in output.lines() {
                // Who is killed may not come to the end of a line.
                let Some(told) = line.ok().and_then(|line| serde_json::from_str(&line).ok()) else { return };
                if heard.send(Heard { at: Instant::now(), told }).is_err() {
                    return;
                }
            }
        });
        self.lives += 1;
        self.running = Some((child, input));
        Ok(())
    }

    /// SIGKILL, and it is gone when this returns.
    pub fn kill(&mut self) -> anyhow::Result<()> {
        let (mut child, _) = self.running.take().context("a player was started")?;
        child.kill()?;
        child.wait()?;
        Ok(())
    }

    /// SIGSTOP or SIGCONT.
    pub fn signal(&self, signal: Signal) -> anyhow::Result<()> {
        let (child, _) = self.running.as_ref().context("a player was started")?;
        rustix::process::kill_process(rustix::process::Pid::from_child(child), signal)?;
        Ok(())
    }

    pub fn tell(&mut self, message: ToSurvivor) -> anyhow::Result<()> {
        let (_, input) = self.running.as_mut().context("a player was started")?;
        let line = serde_json::to_string(&message)? + "\n";
        input.write_all(line.as_bytes()).with_context(|| format!("{} ended early", self.player))
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        if self.running.is_some() {
            let _ = self.kill();
        }
    }
}
