//! How commands reach the daemon that runs.

use std::io::{self, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;

use iolite_memory::message::{FromDaemon, ToDaemon, is_closed_by_peer, line_of, read_line};

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
    /// A daemon may refuse a connection and close it before the command is written. Its reason is read then, too.
    ///
    /// # Errors
    /// When the daemon refuses, or is gone.
    pub fn ask(&mut self, message: &ToDaemon) -> Result<Vec<FromDaemon>, AskError> {
        let line = line_of(message).map_err(AskError::Broken)?;
        match self.stream.get_mut().write_all(&line) {
            Ok(()) => self.answers(),
            Err(closed) if is_closed_by_peer(&closed) => match self.answers() {
                Err(AskError::Broken(_)) => Err(AskError::Broken(closed)),
                answers => answers,
            },
            Err(error) => Err(AskError::Broken(error)),
        }
    }

    fn answers(&mut self) -> Result<Vec<FromDaemon>, AskError> {
        let mut answers = Vec::new();
        loop {
            let answer = read_line(&mut self.stream).map_err(AskError::Broken)?;
            match answer.ok_or_else(|| AskError::Broken(io::ErrorKind::UnexpectedEof.into()))? {
                FromDaemon::Refused { reason } => return Err(AskError::Refused(reason)),
                FromDaemon::Done => return Ok(answers),
                answer @ (FromDaemon::Program(_) | FromDaemon::Memory(_) | FromDaemon::Choice(_)) => {
                    answers.push(answer);
                }
                answer @ (FromDaemon::Reclaimed { .. } | FromDaemon::Agent(_) | FromDaemon::Welcome { .. }) => {
                    return Ok(vec![answer]);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A question to a daemon that has said this, and closed its side, before the question was written.
    fn asked_after_the_end(said: &[u8]) -> Result<Vec<FromDaemon>, AskError> {
        let (ours, mut daemon) = UnixStream::pair().expect("sockets may be made");
        daemon.write_all(said).expect("the buffer has room");
        drop(daemon);
        Ask { stream: BufReader::new(ours) }.ask(&ToDaemon::Status)
    }

    #[test]
    fn a_refusal_that_came_before_the_question_is_heard() {
        let refused = line_of(&FromDaemon::Refused { reason: "not you".to_owned() }).expect("it is short");
        let answer = asked_after_the_end(&refused);
        assert!(matches!(&answer, Err(AskError::Refused(reason)) if reason == "not you"), "{answer:?}");
    }

    #[test]
    fn a_daemon_that_closed_without_a_word_is_told_as_closed() {
        for said in [b"".as_slice(), b"{\"refused\":"] {
            let answer = asked_after_the_end(said);
            assert!(matches!(&answer, Err(AskError::Broken(error)) if is_closed_by_peer(error)), "{answer:?}");
        }
    }
}
