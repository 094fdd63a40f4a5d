//! Where a shard says who keeps it next.
//!
//! It is a row of the shard itself, so a configuration is chosen once, by a transaction like any other, and comes with the shard's rows.
//! Replicas take only a write of the configuration after their own, and end the epoch with it (`replica/configuration.rs`).

use iolite_values::{Cell, CellState, ColumnId, Operation, RowKey, TableId, Value, Write};

use crate::journal::JournalRecord;
use crate::node::{Configuration, ShardId, Split};

/// The table of these rows. Apps have no names that begin so.
pub fn configurations_table() -> TableId {
    TableId::of("$configurations")
}

/// The key of a shard's row.
pub fn configuration_key(shard: ShardId) -> RowKey {
    RowKey::new(&[Value::Int(shard.0.into())]).expect("a number is a key")
}

/// The only cell of a shard's row. Nothing is in it before the first change.
pub fn configuration_cell(shard: ShardId) -> Cell {
    Cell { table: configurations_table(), row: configuration_key(shard), column: ColumnId::of("configuration") }
}

/// The write of a transaction that makes this the shard's next configuration.
pub fn configuration_write(configuration: &Configuration) -> Write {
    let record = JournalRecord::Configured(configuration.clone());
    let bytes = record.encode().expect("a configuration is small");
    Write {
        cell: configuration_cell(configuration.group().shard),
        operation: Operation::Put(Value::Bytes(bytes.into())),
    }
}

/// The write of a transaction that ends the shard so.
pub fn split_write(split: &Split) -> Write {
    let bytes = JournalRecord::Split(split.clone()).encode().expect("three groups and a key are small");
    Write { cell: configuration_cell(split.parent().shard), operation: Operation::Put(Value::Bytes(bytes.into())) }
}

/// How a write of that cell ends the shard.
pub(crate) fn written_split(write: &Write) -> Option<Split> {
    match &write.operation {
        Operation::Put(Value::Bytes(bytes)) => decode_split(bytes),
        _ => None,
    }
}

/// How that cell says that the shard ends.
pub(crate) fn said_split(state: &CellState) -> Option<Split> {
    match state {
        CellState::Scalar(Value::Bytes(bytes)) => decode_split(bytes),
        _ => None,
    }
}

fn decode_split(bytes: &[u8]) -> Option<Split> {
    match JournalRecord::decode(bytes) {
        Ok(JournalRecord::Split(split)) => Some(split),
        Ok(_) | Err(_) => None,
    }
}

/// What a write of that cell says.
pub(crate) fn written(write: &Write) -> Option<Configuration> {
    match &write.operation {
        Operation::Put(Value::Bytes(bytes)) => decode(bytes),
        _ => None,
    }
}

/// What that cell says.
pub(crate) fn said(state: &CellState) -> Option<Configuration> {
    match state {
        CellState::Scalar(Value::Bytes(bytes)) => decode(bytes),
        _ => None,
    }
}

fn decode(bytes: &[u8]) -> Option<Configuration> {
    match JournalRecord::decode(bytes) {
        Ok(JournalRecord::Configured(configuration)) => Some(configuration),
        Ok(_) | Err(_) => None,
    }
}
