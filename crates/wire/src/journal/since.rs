//! The first version of the journal's format that has what a record or a chunk says.

use iolite_values::{Element, Level, Operation, Read, Write};

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
        Operation::Create
        | Operation::Delete
        | Operation::Put(_)
        | Operation::Assign(_)
        | Operation::Add(_)
        | Operation::Insert(_)
        | Operation::Remove(_)
        | Operation::Append { .. }
        | Operation::SetAt { .. }
        | Operation::PutEntry { .. }
        | Operation::RemoveEntry { .. } => 1,
        Operation::PutTotal(_) | Operation::Edit(_) => 3,
    }
}

fn of_reads(reads: &[Read]) -> u32 {
    let of_read = |read: &Read| match read {
        Read::Range { .. } => 1,
        Read::Query(_) => 3,
        Read::Cell { cell: _, element } => match element {
            Element::Whole | Element::Member(_) | Element::Entry(_) | Element::Index(_) => 1,
            Element::UpTo(_) | Element::Slice { .. } | Element::Author(_) => 3,
        },
    };
    reads.iter().map(of_read).max().unwrap_or(1)
}
