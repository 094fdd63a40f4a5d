//! The table of logs' checkpoints: how its keys and cells are made.
//!
//! A checkpoint is the state of a log in front of a block of pages. Its parts are the bytes of that state; its head says how many there are, and what they
//! hash to.
//!
//! Invariant: the heads of a log lie beside each other, and so do the parts of one checkpoint, so that each can be followed by itself.

use std::sync::OnceLock;

use crate::{
    Cell, CellState, Column, ColumnId, ColumnType, Interest, KeyError, KeyRange, LogId, Operation, Row, RowKey, Scalar,
    Table, TableId, Value, Write,
};

/// The table that holds the checkpoints of all logs. Apps do not name it, and only servers write it.
pub const LOG_CHECKPOINTS_TABLE: &str = "_log_checkpoints";

/// The number under which the heads of a log stand. Checkpoints are numbered from 1, by the block that they stand in front of.
const HEADS: u64 = 0;

/// A checkpoint, as its head says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogCheckpoint {
    /// The block of pages that it stands in front of, from 1.
    pub block: u64,
    /// Entries that are in its state, the one that the log begins with among them.
    pub index: u64,
    /// SHA-256 of its state's bytes.
    pub hash: [u8; 32],
    /// Into how many parts these bytes are cut.
    pub parts: u64,
    /// The pages of the log from here on are kept. Those before are gone.
    pub pages_from: u64,
}

impl LogCheckpoint {
    pub fn table() -> TableId {
        static TABLE: OnceLock<TableId> = OnceLock::new();
        *TABLE.get_or_init(|| TableId::of(LOG_CHECKPOINTS_TABLE))
    }

    /// The heads of a log's checkpoints.
    ///
    /// # Errors
    /// [`KeyError::TooLong`]: the name and the instance are too long for a key.
    pub fn heads(log: &LogId) -> Result<Interest, KeyError> {
        Self::numbered(log, HEADS)
    }

    /// The parts of the checkpoint in front of a block.
    ///
    /// # Errors
    /// As [`LogCheckpoint::heads`].
    pub fn parts_of(log: &LogId, block: u64) -> Result<Interest, KeyError> {
        Self::numbered(log, block)
    }

    fn numbered(log: &LogId, number: u64) -> Result<Interest, KeyError> {
        let range = KeyRange::prefix(&key_values(log, number, None))?;
        Ok(Interest::Range { table: Self::table(), range })
    }

    /// The key of a head.
    ///
    /// # Errors
    /// As [`LogCheckpoint::heads`].
    pub fn head_key(log: &LogId, block: u64) -> Result<RowKey, KeyError> {
        RowKey::new(&key_values(log, HEADS, Some(block)))
    }

    /// The key of a part.
    ///
    /// # Errors
    /// As [`LogCheckpoint::heads`].
    pub fn part_key(log: &LogId, block: u64, part: u64) -> Result<RowKey, KeyError> {
        RowKey::new(&key_values(log, block, Some(part)))
    }

    /// The writes of its head.
    pub fn write_head(&self, key: &RowKey) -> Vec<Write> {
        let count = |number: u64| Value::Int(number as i64);
        let columns = [
            ("hash", Value::Bytes(self.hash.as_slice().into())),
            ("index", count(self.index)),
            ("pages_from", count(self.pages_from)),
            ("parts", count(self.parts)),
        ];
        write_row(key, columns)
    }

    /// The writes of a part.
    pub fn write_part(key: &RowKey, bytes: &[u8]) -> Vec<Write> {
        write_row(key, [("state", Value::Bytes(bytes.into()))])
    }

    /// The write that takes a head or a part away.
    pub fn remove(key: RowKey) -> Write {
        Write { cell: Cell::row(Self::table(), key), operation: Operation::Delete }
    }

    /// The checkpoint of a head's row; none if the row is no head.
    pub fn read_head(key: &RowKey, row: &Row) -> Option<LogCheckpoint> {
        let values: [Value; 4] = key.values().ok()?.try_into().ok()?;
        let [_, _, Value::Int(0), Value::Int(block)] = values else { return None };
        let count = |column: &str| match scalar(row, column)? {
            Value::Int(number) => u64::try_from(*number).ok(),
            _ => None,
        };
        let Value::Bytes(hash) = scalar(row, "hash")? else { return None };
        Some(LogCheckpoint {
            block: u64::try_from(block).ok()?,
            index: count("index")?,
            hash: hash.as_ref().try_into().ok()?,
            parts: count("parts")?,
            pages_from: count("pages_from")?,
        })
    }

    /// The bytes of a part's row.
    pub fn read_part(row: &Row) -> Option<&[u8]> {
        match scalar(row, "state")? {
            Value::Bytes(bytes) => Some(bytes),
            _ => None,
        }
    }

    pub(crate) fn definition() -> &'static Table {
        static TABLE: OnceLock<Table> = OnceLock::new();
        TABLE.get_or_init(|| {
            let scalar = |scalar| Column::of(ColumnType::Scalar(scalar));
            let optional = |kind| Column { optional: true, ..scalar(kind) };
            let columns = [
                ("log", scalar(Scalar::String)),
                ("instance", scalar(Scalar::Bytes)),
                ("number", scalar(Scalar::Int)),
                ("part", scalar(Scalar::Int)),
                ("hash", optional(Scalar::Bytes)),
                ("index", optional(Scalar::Int)),
                ("pages_from", optional(Scalar::Int)),
                ("parts", optional(Scalar::Int)),
                ("state", optional(Scalar::Bytes)),
            ];
            let columns = columns.map(|(name, column)| (name.to_owned(), column)).into();
            let key = ["log", "instance", "number", "part"].map(str::to_owned).into();
            Table::new(LOG_CHECKPOINTS_TABLE, key, columns).expect("its definition is right")
        })
    }
}

fn key_values(log: &LogId, number: u64, part: Option<u64>) -> Vec<Value> {
    let own = [Value::from(&*log.name), Value::Bytes(log.instance.as_bytes().into()), Value::Int(number as i64)];
    own.into_iter().chain(part.map(|part| Value::Int(part as i64))).collect()
}

fn write_row<const N: usize>(key: &RowKey, columns: [(&str, Value); N]) -> Vec<Write> {
    let life = Write { cell: Cell::row(LogCheckpoint::table(), key.clone()), operation: Operation::Create };
    let put = |(column, value): (&str, Value)| {
        let cell = Cell { table: LogCheckpoint::table(), row: key.clone(), column: ColumnId::of(column) };
        Write { cell, operation: Operation::Put(value) }
    };
    [life].into_iter().chain(columns.into_iter().map(put)).collect()
}

fn scalar<'a>(row: &'a Row, column: &str) -> Option<&'a Value> {
    match row.cell(ColumnId::of(column))? {
        CellState::Scalar(value) => Some(value),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_and_parts_are_written_read_and_found_in_their_ranges() {
        let log = LogId::new("sheet", &Value::from("budget")).expect("short");
        let head = LogCheckpoint { block: 3, index: 3072, hash: [7; 32], parts: 2, pages_from: 8 };
        let key = LogCheckpoint::head_key(&log, 3).expect("short");
        let mut row = Row::default();
        for write in head.write_head(&key) {
            row.apply(write.cell.column, &write.operation).expect("it fits");
            assert!(
                LogCheckpoint::definition().column(write.cell.column).is_some() || write.cell.column == ColumnId::ROW
            );
        }
        assert_eq!(LogCheckpoint::read_head(&key, &row), Some(head));
        let part = LogCheckpoint::part_key(&log, 3, 1).expect("short");
        assert_eq!(LogCheckpoint::read_head(&part, &row), None, "a part is no head");
        let includes = |interest: Result<Interest, KeyError>, key: &RowKey| match interest {
            Ok(Interest::Range { range, .. }) => range.contains(key),
            other => panic!("{other:?}"),
        };
        assert!(includes(LogCheckpoint::heads(&log), &key) && !includes(LogCheckpoint::heads(&log), &part));
        assert!(
            includes(LogCheckpoint::parts_of(&log, 3), &part) && !includes(LogCheckpoint::parts_of(&log, 2), &part)
        );
        let mut row = Row::default();
        for write in LogCheckpoint::write_part(&part, b"state") {
            row.apply(write.cell.column, &write.operation).expect("it fits");
        }
        assert_eq!(LogCheckpoint::read_part(&row), Some(b"state".as_slice()));
    }
}
