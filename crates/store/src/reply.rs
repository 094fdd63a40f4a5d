//! Replies of a store.

use iolite_values::{Attempt, Row, RowKey, TableId, Timestamp};

use crate::Commit;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    Commit(CommitReply),
    ReadAt(Result<ReadReply, TooOld>),
    Changes(Result<Vec<Commit>, TooOld>),
    Acknowledged,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommitReply {
    /// Decided for good, and recorded until it is acknowledged.
    Completed(Completion),
    /// Something that it read has changed since its snapshot, or the snapshot is too old to tell. Run it again on a snapshot at or above
    /// `at_least`.
    Conflict { at_least: Timestamp },
    /// Its outcome was acknowledged and forgotten.
    Forgotten,
}

/// The completion record of a transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Completion {
    /// The attempt that was decided.
    pub attempt: Attempt,
    pub at: Timestamp,
    pub decision: CompletionDecision,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompletionDecision {
    Committed,
    /// The app's own abort, whose reads were valid at `at`.
    Aborted,
}

/// The rows of an interest that hold anything, in key order. Of a cell interest: only that cell (and whether the row exists).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadReply {
    pub at: Timestamp,
    pub rows: Vec<RowAt>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowAt {
    pub table: TableId,
    pub key: RowKey,
    pub row: Row,
}

/// The store no longer holds versions that old.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooOld {
    /// The lowest timestamp that can be asked for.
    pub low_watermark: Timestamp,
}
