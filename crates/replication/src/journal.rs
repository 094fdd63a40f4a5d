//! What a replica makes durable: a record for each change, and checkpoints in chunks. The shapes and bytes are iolite-wire's.
//!
//! Invariant: applying a record to a state that already reflects it, or that reflects later ones, changes nothing. (Checkpoints are
//! written while the replica works, and recovery replays every record since the checkpoint's beginning.)
//! Invariant: everything that a replica accepts can be written: it is refused before it is decided otherwise.

use iolite_store::{Commit, Completion, CompletionDecision};
use iolite_values::Write;
use iolite_wire::journal as wire;
use iolite_wire::node::Proposal;

/// A record is far below what journals take; a row fits into a chunk, and into a frame of a gateway.
pub use iolite_store::size::{RECORD_BYTES_MAX, ROW_BYTES_MAX, growth_bytes, row_bytes};

pub use wire::{
    CheckpointChunk, CheckpointClient, CheckpointCommit, CheckpointMeta, CheckpointRow, Completed, CompletedDecision,
    JournalRecord, SnapshotPart,
};

/// The largest part of a checkpoint, unless a single row or commit is larger.
pub const CHUNK_BYTES_MAX: usize = 4 << 20;

/// What an operation takes beside its content and its row's key, at most.
const WRITE_BYTES: usize = 64;

/// About what a completion takes, with its share of the client's id.
pub const COMPLETION_BYTES: usize = 32;

/// About what a commit takes in a checkpoint.
pub fn commit_bytes(commit: &Commit) -> usize {
    let write_bytes = |write: &Write| write.cell.row.as_bytes().len() + write.operation.size_bytes() + WRITE_BYTES;
    WRITE_BYTES + commit.writes.iter().map(write_bytes).sum::<usize>()
}

/// About what a proposal takes.
pub fn proposal_bytes(proposal: &Proposal) -> usize {
    let write_bytes = |write: &Write| write.cell.row.as_bytes().len() + write.operation.size_bytes() + WRITE_BYTES;
    let reads = proposal.reads.iter().map(|read| read.size_bytes() + WRITE_BYTES);
    2 * WRITE_BYTES + proposal.writes().iter().map(write_bytes).sum::<usize>() + reads.sum::<usize>()
}

pub fn completion_to_wire(completion: &Completion) -> wire::Completion {
    let settled = match completion.decision {
        CompletionDecision::Committed => wire::Settled::Committed,
        CompletionDecision::Aborted => wire::Settled::Aborted,
    };
    wire::Completion { attempt: completion.attempt, at: completion.at, settled }
}

pub fn completion_from_wire(completion: wire::Completion) -> Completion {
    let decision = match completion.settled {
        wire::Settled::Committed => CompletionDecision::Committed,
        wire::Settled::Aborted => CompletionDecision::Aborted,
    };
    Completion { attempt: completion.attempt, at: completion.at, decision }
}
