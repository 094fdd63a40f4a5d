//! Commands of operators, which a running server answers: about blobs, and about objects.
//!
//! Invariants: an answer is lines of JSON, of which the last has the key `done` or `error`; an answer without such a line was cut off. Who has the token
//! of the server may ask.

use iolite_access::{Access, DevelopmentToken};
use iolite_host::{Commands, Stop};
use percent_encoding::percent_decode_str;
use serde_json::Value;
use tokio::sync::mpsc;

use crate::blobs::commands::BlobCommands;
use crate::object_commands::ObjectCommands;

/// Lines that wait for whoever asked.
const LINES_AHEAD: usize = 64;

/// Answers the commands of operators.
pub(crate) struct OperatorCommands {
    access: Access,
    blobs: BlobCommands,
    objects: ObjectCommands,
    stop: Stop,
}

impl OperatorCommands {
    pub fn new(token: &str, blobs: BlobCommands, objects: ObjectCommands, stop: Stop) -> OperatorCommands {
        OperatorCommands { access: Access::Development(DevelopmentToken::new(token)), blobs, objects, stop }
    }
}

impl Commands for OperatorCommands {
    fn check(&self, token: &str) -> Result<(), String> {
        self.access.check(token).map(drop).map_err(|error| error.to_string())
    }

    fn run(&self, command: &str, options: &str) -> Option<mpsc::Receiver<String>> {
        let (lines, answer) = mpsc::channel(LINES_AHEAD);
        let answering = Answering { lines: Lines(lines), stop: self.stop.clone() };
        let is_known = match command.split_once('/') {
            Some(("blobs", name)) => self.blobs.run(name, options, answering),
            Some(("objects", name)) => self.objects.run(name, options, answering),
            Some(_) | None => false,
        };
        is_known.then_some(answer)
    }
}

/// One command that is to be answered.
pub(crate) struct Answering {
    pub lines: Lines,
    stop: Stop,
}

impl Answering {
    /// Works until the answer is whole, or the server stops.
    pub fn spawn(self, work: impl Future<Output = ()> + Send + 'static) {
        let mut stop = self.stop;
        tokio::spawn(async move {
            tokio::select! {
                () = stop.wait() => {}
                () = work => {}
            }
        });
    }
}

/// The answer to one command.
#[derive(Clone)]
pub(crate) struct Lines(mpsc::Sender<String>);

impl Lines {
    /// The first line, for which there is room.
    pub fn begin(&self, line: Value) {
        let _ = self.0.try_send(line.to_string());
    }

    /// A later one. Who has left does not mind.
    pub async fn say(&self, line: Value) {
        let _ = self.0.send(line.to_string()).await;
    }

    /// Ends when nobody listens any more.
    pub async fn closed(&self) {
        self.0.closed().await;
    }
}

/// The value of an option behind the question mark.
pub(crate) fn option(options: &str, name: &str) -> Option<String> {
    let mut values = options.split('&').filter_map(|option| option.split_once('=')).filter(|(own, _)| *own == name);
    values.next().map(|(_, value)| percent_decode_str(value).decode_utf8_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_option_has_any_text() {
        assert_eq!(option("to=device-1%231&object=Note%2Fa%26b%20%C3%A9", "object"), Some("Note/a&b é".to_owned()));
        assert_eq!(option("to=device-1%231", "to"), Some("device-1#1".to_owned()));
        assert_eq!(option("to", "to"), None);
    }
}
