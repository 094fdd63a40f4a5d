//! Commands of operators, which a running server answers: about users, about schema and rights, about blobs, and about objects.
//!
//! Invariants: an answer is lines of JSON, of which the last has the key `done` or `error`; an answer without such a line was cut off. Who has the
//! server's own token may ask, and no user.

use iolite_access::DevelopmentToken;
use iolite_host::{Commands, Stop};
use percent_encoding::percent_decode_str;
use serde_json::Value;
use tokio::sync::mpsc;

use crate::access_commands::AccessCommands;
use crate::blobs::commands::BlobCommands;
use crate::object_commands::ObjectCommands;
use crate::schema_commands::SchemaCommands;

const NO_OPERATOR: &str = "this is not the operator's token: pass the one that the server printed at start, or that stands in the file `token` of the gateway";

/// Lines that wait for whoever asked.
const LINES_AHEAD: usize = 64;

/// Answers the commands of operators.
pub(crate) struct OperatorCommands {
    token: DevelopmentToken,
    access: AccessCommands,
    schema: SchemaCommands,
    blobs: BlobCommands,
    objects: ObjectCommands,
    stop: Stop,
}

impl OperatorCommands {
    pub fn new(
        token: &str,
        access: AccessCommands,
        blobs: BlobCommands,
        objects: ObjectCommands,
        stop: Stop,
    ) -> OperatorCommands {
        OperatorCommands { token: DevelopmentToken::new(token), schema: access.schema(), access, blobs, objects, stop }
    }
}

impl Commands for OperatorCommands {
    fn check(&self, token: &str) -> Result<(), String> {
        if self.token.equals(token) { Ok(()) } else { Err(NO_OPERATOR.to_owned()) }
    }

    fn run(&self, command: &str, options: &str, text: String) -> Option<mpsc::Receiver<String>> {
        let (lines, answer) = mpsc::channel(LINES_AHEAD);
        let answering = Answering { lines: Lines(lines), stop: self.stop.clone() };
        let is_known = match command.split_once('/') {
            Some(("access", name)) => self.access.run(name, options, text, answering),
            Some(("blobs", name)) => self.blobs.run(name, options, answering),
            Some(("schema", name)) => self.schema.run(name, text, answering),
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
