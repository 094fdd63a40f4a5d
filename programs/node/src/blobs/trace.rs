//! The trace of a store of chunks: a line of JSON for each thing that was done, with `time`, `op`, `key` and `bytes`.
//!
//! Invariant: a trace that cannot be written is given up, and the store goes on.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

/// The things that are done to objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Op {
    Put,
    Get,
    /// Whether an object is there.
    Head,
    Delete,
    /// All objects of a store's incarnation; the bytes are theirs.
    List,
}

impl Op {
    fn name(self) -> &'static str {
        match self {
            Op::Put => "put",
            Op::Get => "get",
            Op::Head => "head",
            Op::Delete => "delete",
            Op::List => "list",
        }
    }
}

/// A file to which lines are appended.
pub(crate) struct Trace(Mutex<Option<File>>);

impl Trace {
    pub fn open(file: &Path) -> std::io::Result<Trace> {
        let opened = OpenOptions::new().create(true).append(true).open(file)?;
        Ok(Trace(Mutex::new(Some(opened))))
    }

    pub fn note(&self, op: Op, key: &str, bytes: u64) {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let line = line(since.as_secs_f64(), op, key, bytes);
        let mut file = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(open) = file.as_mut() else { return };
        if let Err(error) = open.write_all(line.as_bytes()) {
            tracing::warn!(%error, "the trace of blobs cannot be written, and ends here: make room, and start again");
            *file = None;
        }
    }
}

/// `time` is in seconds since 1970. Keys are digits and slashes.
fn line(time: f64, op: Op, key: &str, bytes: u64) -> String {
    format!("{{\"time\":{time:.6},\"op\":\"{}\",\"key\":\"{key}\",\"bytes\":{bytes}}}\n", op.name())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_json_with_time_op_key_and_bytes() {
        let line = line(1_790_000_000.25, Op::Put, "0a/0b/0c", 65_536);
        assert_eq!(line, "{\"time\":1790000000.250000,\"op\":\"put\",\"key\":\"0a/0b/0c\",\"bytes\":65536}\n");
        let read: serde_json::Value = serde_json::from_str(&line).expect("it is JSON");
        assert_eq!((read["op"].as_str(), read["bytes"].as_u64()), (Some("put"), Some(65_536)));
    }
}
