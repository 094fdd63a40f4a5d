//! The record of a process: a file with a line for each thing that happens, written as it happens.
//!
//! Invariant: a line is in the file before the process goes on. A process that is killed in the middle of one leaves it without its end.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::Mutex;

use anyhow::Context;

use serde::{Deserialize, Serialize};

use super::kind::Place;
use crate::moment::moment;

/// A call of a process, by the order in which it began them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct CallNumber(pub u64);

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Record {
    /// A host has all its objects. Its name is that which objects are moved to.
    Ready { node: String },
    /// A call is about to be sent. It appends this number, or reads.
    Begins { call: CallNumber, at: u64, place: Place, number: Option<u64> },
    /// A call has come to an end.
    Ends { call: CallNumber, at: u64, end: End },
    /// A move has come to an end.
    Moved { has_moved: bool },
    /// There was no such object, says the store.
    Missing { at: u64, place: Place },
}

/// How a call ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum End {
    /// The number was appended, to the object that began with this number.
    Appended {
        birth: u64,
    },
    Read {
        birth: u64,
        list: Vec<u64>,
    },
    /// The call did not run.
    NotRun {
        why: String,
    },
    /// The call may have run.
    Unknown {
        why: String,
    },
    /// The call did not run, because there is no such object.
    Gone,
    /// The call ran, and has no result.
    Broke {
        how: String,
    },
}

/// Writes records.
#[derive(Debug)]
pub struct Recorder(Mutex<Written>);

#[derive(Debug)]
struct Written {
    file: File,
    last: u64,
}

impl Recorder {
    /// # Errors
    /// When the file cannot be made.
    pub fn create(file: &Path) -> anyhow::Result<Recorder> {
        let file = File::create(file).with_context(|| format!("cannot write {}", file.display()))?;
        Ok(Recorder(Mutex::new(Written { file, last: 0 })))
    }

    /// # Errors
    /// When the file cannot be written.
    pub fn say(&self, record: &Record) -> anyhow::Result<()> {
        self.0.lock().expect("nobody panics who holds it").say(record)
    }

    /// # Errors
    /// When the file cannot be written.
    pub fn begins(&self, place: Place, number: Option<u64>) -> anyhow::Result<CallNumber> {
        let mut written = self.0.lock().expect("nobody panics who holds it");
        written.last += 1;
        let call = CallNumber(written.last);
        written.say(&Record::Begins { call, at: moment().0, place, number })?;
        Ok(call)
    }

    /// # Errors
    /// When the file cannot be written.
    pub fn ends(&self, call: CallNumber, end: End) -> anyhow::Result<()> {
        self.say(&Record::Ends { call, at: moment().0, end })
    }
}

impl Written {
    fn say(&mut self, record: &Record) -> anyhow::Result<()> {
        let line = serde_json::to_string(record).expect("texts and numbers");
        Ok(self.file.write_all(format!("{line}\n").as_bytes())?)
    }
}

/// The records of a process, as far as it has written them.
///
/// # Errors
/// When the file cannot be read, or has something else in it.
pub fn read(file: &Path) -> anyhow::Result<Vec<Record>> {
    let text = std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
    let parsed = whole.lines().map(serde_json::from_str).collect::<Result<Vec<Record>, _>>();
    parsed.with_context(|| format!("{} has something else in it", file.display()))
}
