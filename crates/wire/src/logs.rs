//! Entries of logs, and their states.
//!
//! Invariants: an entry is one value of a list, so it is within the limit of its own and stands alone; equal states have equal bytes.

use iolite_values::{Counter, Id, Row, RowKey, TableId};

use crate::encoding::{Reader, Writer, identity};
use crate::generated::{proto, shapes};
use crate::limits::{LOG_ENTRY, LOG_STATE, NAME};
use crate::message::RowSnapshot;
use crate::session::{read_rows, write_rows_of};
use crate::{DecodeError, EncodeError, frame};

/// One entry of a log: an operation that every member replays.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogEntry {
    /// The author, for all who read it. `None`: the gateway has not said so yet.
    pub origin: Option<Id>,
    /// The counter of the call at the client that made it, from 1.
    pub counter: Counter,
    /// Microseconds since 1970, at the call.
    pub called_at_micros: u64,
    /// The seed of the operation's randomness.
    pub seed: [u8; 16],
    pub operation: String,
    /// The version of the operation, as the app counts.
    pub version: u32,
    /// JSON.
    pub arguments: String,
    /// Whether it is the last entry of its page.
    pub turns: bool,
}

impl LogEntry {
    /// # Errors
    /// [`EncodeError::TooLarge`], past 64 KiB.
    pub fn encode(&self) -> Result<Vec<u8>, EncodeError> {
        let mut writer = Writer::default();
        let entry = proto::LogEntry {
            origin: self.origin.map(|origin| origin.to_bytes().to_vec()).unwrap_or_default(),
            counter: self.counter.0,
            called_at_micros: self.called_at_micros,
            seed: self.seed.to_vec(),
            operation: writer.text(&self.operation, NAME),
            version: self.version,
            arguments: self.arguments.clone(),
            turns: self.turns,
        };
        writer.check()?;
        frame::encode(&entry, shapes::LOG_ENTRY, LOG_ENTRY)
    }

    /// # Errors
    /// [`DecodeError`]: these bytes are no entry.
    pub fn decode(bytes: &[u8]) -> Result<LogEntry, DecodeError> {
        let entry: proto::LogEntry = frame::decode(bytes, shapes::LOG_ENTRY, LOG_ENTRY)?;
        if entry.counter == 0 || entry.operation.is_empty() {
            return Err(DecodeError::malformed("an entry of no call"));
        }
        Ok(LogEntry {
            origin: if entry.origin.is_empty() { None } else { Some(identity(&entry.origin)?) },
            counter: Counter(entry.counter),
            called_at_micros: entry.called_at_micros,
            seed: seed(&entry.seed)?,
            operation: Reader::default().text(entry.operation, NAME)?,
            version: entry.version,
            arguments: entry.arguments,
            turns: entry.turns,
        })
    }
}

/// The state of a log: all rows of its tables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogState {
    /// In the order of tables and keys.
    pub rows: Vec<RowSnapshot>,
}

impl LogState {
    /// Encodes rows that are only borrowed, in the order of tables and keys.
    ///
    /// # Errors
    /// [`EncodeError::TooLarge`], past 16 MiB.
    pub fn encode_of<'a>(rows: Vec<(TableId, &'a RowKey, &'a Row)>) -> Result<Vec<u8>, EncodeError> {
        let mut writer = Writer::default();
        let rows = write_rows_of(rows.into_iter(), &mut writer);
        writer.check()?;
        frame::encode(&proto::LogState { rows }, shapes::LOG_STATE, LOG_STATE)
    }

    /// # Errors
    /// As [`LogState::encode_of`].
    pub fn encode(&self) -> Result<Vec<u8>, EncodeError> {
        LogState::encode_of(self.rows.iter().map(|row| (row.table, &row.key, &row.row)).collect())
    }

    /// # Errors
    /// [`DecodeError`]: these bytes are no state.
    pub fn decode(bytes: &[u8]) -> Result<LogState, DecodeError> {
        let state: proto::LogState = frame::decode(bytes, shapes::LOG_STATE, LOG_STATE)?;
        Ok(LogState { rows: read_rows(state.rows, &Reader::default())? })
    }
}

pub(crate) fn seed(bytes: &[u8]) -> Result<[u8; 16], DecodeError> {
    bytes.try_into().map_err(|_| DecodeError::malformed("a seed is 16 bytes"))
}
