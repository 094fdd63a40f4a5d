//! The first version of the journal's format that has what a record or a chunk says.

use iolite_values::{Author, CellState, Element, Level, Operation, Read, Row, Value, Write};

use crate::node::RecordedEntry;

/// Of the level that a commit is logged with.
pub(super) fn of_commit(level: Level) -> u32 {
    match level {
        Level::Strict => 1,
        Level::Serializable | Level::Snapshot | Level::ReadCommitted => 3,
    }
}

pub(super) fn of_entry(entry: &RecordedEntry) -> u32 {
    let Some(proposal) = &entry.proposal else { return 2 };
    let level = match proposal.level {
        Level::Strict | Level::Serializable => 2,
        Level::Snapshot | Level::ReadCommitted => 3,
    };
    level.max(of_writes(proposal.writes())).max(of_reads(&proposal.reads))
}

pub(super) fn of_writes(writes: &[Write]) -> u32 {
    writes.iter().map(|write| of_operation(&write.operation)).max().unwrap_or(1)
}

pub(super) fn of_operation(operation: &Operation) -> u32 {
    match operation {
        Operation::Put(value) | Operation::Assign(value) => of_value(value),
        Operation::Create
        | Operation::Delete
        | Operation::Add(_)
        | Operation::Insert(_)
        | Operation::Remove(_)
        | Operation::Append { .. }
        | Operation::SetAt { .. }
        | Operation::PutEntry { .. }
        | Operation::RemoveEntry { .. } => 1,
        Operation::PutTotal(_) => 3,
        Operation::Merge(_) => MERGING,
        Operation::Edit(edit) => {
            if edit.authors().any(is_wide) {
                WIDE_AUTHORS
            } else {
                3
            }
        }
    }
}

/// The version that a row's state needs.
pub(super) fn of_state(row: &Row) -> u32 {
    let of_cell = |state: &CellState| match state {
        CellState::Text(text) => {
            if text.runs().keys().any(|author| is_wide(*author)) {
                WIDE_AUTHORS
            } else {
                3
            }
        }
        CellState::Scalar(value) | CellState::Register(value) => of_value(value),
        CellState::Merged(_) => MERGING,
        CellState::Row(_) | CellState::Counter(_) | CellState::Set(_) | CellState::List(_) | CellState::Map(_) => 1,
    };
    row.cells().map(|(_, state)| of_cell(state)).max().unwrap_or(1)
}

/// Blobs are in no set, list or map.
fn of_value(value: &Value) -> u32 {
    match value {
        Value::Null
        | Value::Bool(_)
        | Value::Int(_)
        | Value::Float(_)
        | Value::String(_)
        | Value::Bytes(_)
        | Value::Id(_) => 1,
        Value::Blob(_) => 5,
    }
}

/// The version since which tables merge.
const MERGING: u32 = 6;

/// The version since which authors have more than 32 bits.
const WIDE_AUTHORS: u32 = 4;

fn is_wide(author: Author) -> bool {
    author.0 > u32::MAX.into()
}

fn of_reads(reads: &[Read]) -> u32 {
    let of_read = |read: &Read| match read {
        Read::Range { .. } => 1,
        Read::Query(_) => 3,
        Read::Cell { cell: _, element } => match element {
            Element::Whole | Element::Member(_) | Element::Entry(_) | Element::Index(_) => 1,
            Element::UpTo(_) | Element::Slice { .. } => 3,
            Element::Author(author) => {
                if is_wide(*author) {
                    WIDE_AUTHORS
                } else {
                    3
                }
            }
        },
    };
    reads.iter().map(of_read).max().unwrap_or(1)
}
