//! How commands reach the daemon that runs.

use std::io::{self, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;

use iolite_memory::message::{FromDaemon, ToDaemon, line_of, read_line};

/// A connection to the daemon, for commands.
#[derive(Debug)]
pub struct Ask {
    stream: BufReader<UnixStream>,
}

/// Why there is no answer.
#[derive(Debug)]
#[non_exhaustive]
pub enum AskError {
    /// There is no daemon.
    NoDaemon(io::Error),
    /// The daemon did not answer as it should.
    Broken(io::Error),
    /// The daemon said no, and why.
    Refused(String),
}

impl std::fmt::Display for AskError {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            AskError::NoDaemon(error) => write!(to, "no memoryd answers: start one with `memoryd run` ({error})"),
            AskError::Broken(error) => write!(to, "memoryd ended, or is of another version: look at it ({error})"),
            AskError::Refused(reason) => to.write_str(reason),
        }
    }
}

impl std::error::Error for AskError {}

impl Ask {
    /// # Errors
    /// When no daemon listens there.
    pub fn connect(socket: &Path) -> Result<Ask, AskError> {
        let stream = UnixStream::connect(socket).map_err(AskError::NoDaemon)?;
        Ok(Ask { stream: BufReader::new(stream) })
    }

    /// Sends a command, and returns its answers but the last line of a list.
    ///
    /// # Errors
    /// When the daemon refuses, or is gone.
    pub fn ask(&mut self, message: &ToDaemon) -> Result<Vec<FromDaemon>, AskError> {
        let line = line_of(message).map_err(AskError::Broken)?;
        self.stream.get_mut().write_all(&line).map_err(AskError::Broken)?;
        let mut answers = Vec::new();
        loop {
            let answer = read_line(&mut self.stream).map_err(AskError::Broken)?;
            match answer.ok_or_else(|| AskError::Broken(io::ErrorKind::UnexpectedEof.into()))? {
                FromDaemon::Refused { reason } => return Err(AskError::Refused(reason)),
                FromDaemon::Done => return Ok(answers),
                answer @ FromDaemon::Program(_) => answers.push(answer),
                answer @ (FromDaemon::Reclaimed { .. } | FromDaemon::Welcome { .. }) => return Ok(vec![answer]),
            }
        }
    }
}
