//! The clock of a process, and waiting on it.

use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use anyhow::{Result, bail};
use iolite_machine::Instant;

#[derive(Clone, Copy, Debug)]
pub struct RealClock {
    origin: std::time::Instant,
}

impl RealClock {
    pub fn start() -> RealClock {
        RealClock { origin: std::time::Instant::now() }
    }

    pub fn now(&self) -> Instant {
        Instant::default() + self.elapsed()
    }

    pub fn elapsed(&self) -> Duration {
        self.origin.elapsed()
    }

    /// The next input, or nothing when it is time for what is due.
    pub fn receive<T>(&self, inputs: &Receiver<T>, due: Option<Instant>) -> Result<Option<T>> {
        let wait = due.map_or(Duration::from_secs(3600), |due| due.since(self.now()));
        match inputs.recv_timeout(wait) {
            Ok(input) => Ok(Some(input)),
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(RecvTimeoutError::Disconnected) => bail!("nobody listens for messages any more"),
        }
    }
}
