//! Estimates of how many bytes messages and transactions take in memory and, before abbreviation, on the wire. Never exact: they bound
//! memory, they bill nobody.

use iolite_store::Commit;
use iolite_values::{Cell, CellState, Row, RowKey, Transaction, Write};
use iolite_wire::blobs::{BlobReply, BlobUnsealed, LeasedChunks};
use iolite_wire::message::{
    Advance, Declination, Declined, FromGateway, GoneRow, LogMembers, Outcome, RowSnapshot, Submit, Verdict,
};

const FIXED: usize = 16;
/// What a value takes besides its content. Frames are limited in how many values they hold, too.
const ELEMENT: usize = 16;

pub fn cell(cell: &Cell) -> usize {
    8 + cell.row.as_bytes().len()
}

pub fn write(write: &Write) -> usize {
    cell(&write.cell) + write.operation.size_bytes() + 2
}

pub fn commit(commit: &Commit) -> usize {
    FIXED + commit.writes.iter().map(write).sum::<usize>()
}

pub fn transaction(transaction: &Transaction) -> usize {
    Submit::bytes_of(&transaction.reads, &transaction.decision)
}

pub fn row(key: &RowKey, row: &Row) -> usize {
    // Elements may be small, and each takes its place in a message all the same.
    let elements: usize = row.cells().map(|(_, state)| ELEMENT * elements(state)).sum();
    8 + key.as_bytes().len() + row.size_bytes() + elements
}

fn elements(state: &CellState) -> usize {
    match state {
        CellState::Row(_) | CellState::Scalar(_) | CellState::Register(_) | CellState::Counter(_) => 1,
        CellState::Set(set) => set.len(),
        CellState::List(list) => list.len(),
        CellState::Map(map) => map.len(),
        CellState::Text(text) => text.parts(),
        CellState::Merged(merged) => merged.state().parts(),
    }
}

pub fn blob_reply(reply: &BlobReply) -> usize {
    FIXED
        + match reply {
            BlobReply::Chunk(_, content) => content.bytes.len(),
            BlobReply::HaveReply(LeasedChunks { chunks, .. })
            | BlobReply::Unsealed(BlobUnsealed { lacks: chunks, .. }) => ELEMENT * chunks.len(),
            BlobReply::Goodbye(goodbye) => goodbye.message.len(),
            BlobReply::Welcome(_)
            | BlobReply::Leased(_)
            | BlobReply::Refused(_)
            | BlobReply::Stored(_)
            | BlobReply::Sealed(_)
            | BlobReply::Gone(_)
            | BlobReply::Unavailable(_)
            | BlobReply::LeaseOver(_) => 0,
        }
}

pub fn row_snapshot(snapshot: &RowSnapshot) -> usize {
    row(&snapshot.key, &snapshot.row)
}

pub fn outcome(outcome: &Outcome) -> usize {
    use iolite_wire::message::Rejection;
    FIXED
        + match &outcome.verdict {
            Verdict::Committed(_) | Verdict::Aborted | Verdict::Conflict(_) => 0,
            Verdict::Rejected(Rejection::Invalid(text) | Rejection::Denied(text)) => text.len(),
            Verdict::Rejected(Rejection::Forgotten) => 0,
        }
}

pub fn declined(declined: &Declined) -> usize {
    FIXED
        + match &declined.why {
            Declination::Later => 0,
            Declination::TooLarge(text) | Declination::Denied(text) => text.len(),
        }
}

pub fn log_members(members: &LogMembers) -> usize {
    let origins = members.joined.len() + members.left.len();
    FIXED + members.log.name.len() + members.log.instance.as_bytes().len() + origins * FIXED
}

pub fn gone(row: &GoneRow) -> usize {
    8 + row.key.as_bytes().len()
}

pub fn advance(advance: &Advance) -> usize {
    let rows = advance.snapshots.iter().flat_map(|snapshot| &snapshot.rows);
    FIXED
        + advance.changes.iter().map(write).sum::<usize>()
        + advance.snapshots.len() * 8
        + rows.chain(&advance.entered).map(row_snapshot).sum::<usize>()
        + advance.outcomes.iter().map(outcome).sum::<usize>()
        + advance.declined.iter().map(declined).sum::<usize>()
        + advance.members.iter().map(log_members).sum::<usize>()
        + advance.gone.iter().map(gone).sum::<usize>()
}

pub fn message(message: &FromGateway) -> usize {
    match message {
        FromGateway::Welcome(_) => 3 * FIXED,
        FromGateway::SchemaWanted | FromGateway::Pong(_) | FromGateway::Stored(_) | FromGateway::Renewed(_) => FIXED,
        FromGateway::Advance(own) => advance(own),
        FromGateway::Goodbye(goodbye) => FIXED + goodbye.message.len(),
        FromGateway::LogWanted(_) | FromGateway::LogDiffers(_) => 3 * FIXED,
    }
}
