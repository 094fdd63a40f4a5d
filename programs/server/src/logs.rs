//! What processes that serve say of themselves.

use std::io::{self, IsTerminal, Write};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::bail;
use iolite_host::{Shutdown, stop_on_signals};
use tracing::Level;

/// On standard error, in colours where people look.
pub fn to_stderr() {
    begin(Level::INFO);
}

/// Only what is wrong: for commands that end.
pub fn warnings_to_stderr() {
    begin(Level::WARN);
}

fn begin(level: Level) {
    let logs = tracing_subscriber::fmt().with_max_level(level).with_ansi(std::io::stderr().is_terminal());
    logs.with_writer(std::io::stderr).init();
}

/// So much is kept of warnings. What comes first says why.
const KEPT_BYTES: usize = 16 << 10;

/// What a command does until it is interrupted, which is an error like others: what it has kept is told.
///
/// # Errors
/// Those of the work, an interruption, and that nobody may listen for signals.
pub async fn unless_interrupted<T, E>(work: impl Future<Output = Result<T, E>>) -> anyhow::Result<T>
where
    anyhow::Error: From<E>,
{
    let shutdown = Shutdown::new();
    let mut stop = shutdown.listen();
    stop_on_signals(shutdown)?;
    tokio::select! {
        done = work => Ok(done?),
        () = stop.wait() => bail!("interrupted: if a change has begun, the same command goes on with it"),
    }
}

/// What was wrong while a command worked, to be told when it fails: that a node which starts does not answer yet is no news.
#[derive(Clone, Debug, Default)]
pub struct KeptWarnings(Arc<Mutex<Vec<u8>>>);

impl KeptWarnings {
    /// Keeps what this process warns of from now on.
    pub fn begin() -> KeptWarnings {
        let kept = KeptWarnings::default();
        let writer = kept.clone();
        let logs = tracing_subscriber::fmt().with_max_level(Level::WARN).with_ansi(false);
        logs.with_writer(move || writer.clone()).init();
        kept
    }

    /// On standard error.
    pub fn tell(&self) {
        let kept = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        if !kept.is_empty() {
            iolite_host::warn(String::from_utf8_lossy(&kept).trim_end());
        }
    }
}

impl Write for KeptWarnings {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let room = KEPT_BYTES.saturating_sub(kept.len());
        kept.extend_from_slice(&bytes[..bytes.len().min(room)]);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
