//! Records of a replica's journal, and chunks of its checkpoints: what they say, and how they are encoded.
//!
//! Invariant: each record stands alone, and begins with the version of the format, so that an unknown one is refused untouched.
//! Checksums and lengths around records are the engine's.

mod checkpoint;
mod checkpoint_encoding;
mod record;
mod since;

pub use checkpoint::{
    CheckpointChunk, CheckpointClient, CheckpointCommit, CheckpointMeta, CheckpointRow, Completion, HistoryEntry,
    Settled,
};
pub use record::{Completed, CompletedDecision, JournalRecord, SnapshotPart};

use crate::DecodeError;

/// The newest version of the format. All versions from 1 to this one are read; what a record or chunk is written in is the first that has it.
pub const JOURNAL_VERSION: u32 = 6;

fn check_version(version: u32) -> Result<(), DecodeError> {
    match version {
        1..=JOURNAL_VERSION => Ok(()),
        0 => Err(DecodeError::malformed("a record without a version")),
        _ => Err(DecodeError::UnknownVersion { version }),
    }
}
