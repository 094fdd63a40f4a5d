//! What a journal's caller can be told went wrong, an enum an operation.

use std::fmt;
use std::io;
use std::sync::Arc;

use crate::RECORD_BYTES_MAX;
use crate::header::FORMAT_VERSION;

/// A call to the disk that failed.
#[derive(Clone, Debug, thiserror::Error)]
#[error("cannot {operation} {file}: {cause}")]
pub struct DiskFailure {
    pub operation: DiskOperation,
    pub file: String,
    pub cause: Arc<io::Error>,
}

/// The failure that ended a journal, and what to do.
fn last_words(failure: &DiskFailure) -> String {
    match failure.operation {
        DiskOperation::Find => format!(
            "{}: a restart would not find what is written now, so nothing more is acknowledged. Put the data directory back and restart the process",
            failure.cause
        ),
        DiskOperation::List
        | DiskOperation::Read
        | DiskOperation::Append
        | DiskOperation::Truncate
        | DiskOperation::Sync
        | DiskOperation::Remove => {
            format!("the journal has failed and takes no more calls ({failure}); mend the disk and restart the process")
        }
    }
}

/// What was asked of the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiskOperation {
    List,
    Read,
    Append,
    Truncate,
    Sync,
    Remove,
    /// Whether it is where it was.
    Find,
}

impl fmt::Display for DiskOperation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            DiskOperation::List => "list the files of",
            DiskOperation::Read => "read",
            DiskOperation::Append => "write to",
            DiskOperation::Truncate => "cut",
            DiskOperation::Sync => "sync",
            DiskOperation::Remove => "remove",
            DiskOperation::Find => "find",
        })
    }
}

/// Why a journal could not be opened. In every case but `Disk` nothing in the directory was changed.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error("the journal cannot be opened: {0}")]
    Disk(#[from] DiskFailure),
    #[error(
        "{file} is in on-disk format {version}; this version reads format {FORMAT_VERSION}. \
         Use the version that wrote it; nothing was changed"
    )]
    UnknownVersion { file: String, version: u32 },
    #[error(
        "{file} is damaged at byte {offset}: {damage}. Bytes there were durable once, so records may be lost; nothing was \
         changed. Restore the directory from a backup"
    )]
    Damaged { file: String, offset: u64, damage: Damage },
    #[error("{file} is missing, and other files need it; nothing was changed. Restore the directory from a backup")]
    Missing { file: String },
}

/// How a file is known to be damaged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Damage {
    /// The file's header does not match its checksum or its name.
    Header,
    /// The file belongs to another store, or does not begin where the one before it ends.
    Foreign,
    /// No valid frame where one was synced.
    Frame,
    /// A valid frame that does not belong there.
    UnexpectedFrame,
    /// It ends before records that the checkpoint reflects.
    Short,
}

impl fmt::Display for Damage {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Damage::Header => "its header is wrong",
            Damage::Foreign => "it does not belong to the files around it",
            Damage::Frame => "what was written there does not match its checksum",
            Damage::UnexpectedFrame => "what was written there does not belong there",
            Damage::Short => "it ends there, but the checkpoint reflects later records",
        })
    }
}

/// Why a record was not taken.
#[derive(Clone, Debug, thiserror::Error)]
pub enum AppendError {
    #[error("a record of {bytes} bytes is over the limit of {RECORD_BYTES_MAX}; split it")]
    RecordTooLarge { bytes: usize },
    #[error("{}", last_words(.0))]
    Failed(#[from] DiskFailure),
}

/// Why records could not be written or made durable.
#[derive(Clone, Debug, thiserror::Error)]
pub enum SyncError {
    #[error("{}", last_words(.0))]
    Failed(#[from] DiskFailure),
}

/// Why a step of a checkpoint was not taken.
#[derive(Clone, Debug, thiserror::Error)]
pub enum CheckpointError {
    #[error("a checkpoint is already being written; finish it first")]
    AlreadyBegun,
    #[error("no checkpoint is being written; begin one first")]
    NotBegun,
    #[error("a chunk of {bytes} bytes is over the limit of {RECORD_BYTES_MAX}; split it")]
    ChunkTooLarge { bytes: usize },
    #[error("{}", last_words(.0))]
    Failed(#[from] DiskFailure),
}
