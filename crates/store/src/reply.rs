//! Replies of a store.

use iolite_values::{Attempt, Cell, Counter, Row, RowKey, TableId, Timestamp, TransactionId, TypeMismatch};

use crate::{Commit, ReadLimit};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    Commit(CommitReply),
    Validated(Validity),
    ReadAt(Result<ReadReply, TooOld>),
    Changes(Result<Vec<Commit>, ChangesError>),
    Completions(Result<Vec<(Counter, Completion)>, TooOld>),
    LastOutcome(Result<Counter, TooOld>),
    Acknowledged,
    /// In place of the reply to any request that no store can serve. Nothing was changed.
    Refused(Refusal),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommitReply {
    /// Decided for good, and recorded until it is acknowledged.
    Completed(Completion),
    /// Something that it read has changed since its snapshot, or the snapshot is too old to tell. Run it again on a snapshot at or above
    /// `at_least`. It is also the answer to an attempt that a later one of the same transaction has overtaken.
    Conflict { at_least: Timestamp },
    /// Its outcome was acknowledged and forgotten.
    Forgotten,
    /// The time that the request gave is up, and the outcome is not known: the transaction has taken effect, or it may yet, or never will. Ask again, here
    /// or at another gateway, with the same attempt to see it through, or with a later one that aborts to give it up. Whoever asks, and however
    /// often, gets the one outcome that there is.
    InDoubt { transaction: TransactionId, attempt: Attempt },
}

/// Whether what was read is true still.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Validity {
    /// At a moment between the request and this reply all of it was as it had been read. A transaction that only reads takes place there.
    Valid,
    /// Some of it has changed, or nobody can tell any more. Read again on a snapshot at or above `at_least`.
    Changed { at_least: Timestamp },
}

/// Why a request makes no sense. Whoever sent it has to change it, or is broken: asking again gives the same answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error(
        "{asked:?} was asked for, and the store has resolved only what is at or below {resolved:?}: wait for the feed to reach it"
    )]
    NotResolved { asked: Timestamp, resolved: Timestamp },
    #[error(
        "{asked:?} is further ahead than the store follows a clock, which is to {limit:?}: correct the clock that it came from"
    )]
    TooFarAhead { asked: Timestamp, limit: Timestamp },
    #[error("an operation on {cell:?} does not fit: {mismatch}")]
    Type { cell: Cell, mismatch: TypeMismatch },
    #[error("the transaction takes more than {bytes_max} bytes: split it")]
    TransactionTooLarge { bytes_max: usize },
    #[error("the row {key:?} of table {table:?} would take more than {bytes_max} bytes: spread it over several rows")]
    RowTooLarge { table: TableId, key: RowKey, bytes_max: usize },
    #[error("{0}")]
    Configuration(ConfigurationFault),
    #[error(
        "rows of table {table:?} were asked of a shard that others keep: the gateway's description of the cluster is not the one that its replicas have"
    )]
    OtherShard { table: TableId },
}

/// Why what was written as a shard's next configuration cannot be one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigurationFault {
    #[error(
        "this is no configuration of this shard: it is to be one, in the shard's own row, of an odd number of replicas, in the epoch after that of the group before"
    )]
    Unfit,
    #[error(
        "the place at which the shard is to be split lies outside of it, or where it begins: take one between its rows"
    )]
    Outside,
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

/// The rows of an interest that hold anything, in the order that was asked for. Of a cell interest: only that cell (and whether the row exists).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadReply {
    pub at: Timestamp,
    pub rows: Vec<RowAt>,
    /// The limit was passed, so there may be more behind the last row. Who reads has this from the store, and need not count as it does.
    pub is_cut: bool,
}

impl ReadReply {
    /// Of these rows, those through the one that passes the limit.
    pub fn through_limit(at: Timestamp, rows: impl IntoIterator<Item = RowAt>, limit: ReadLimit) -> ReadReply {
        let mut rows = rows.into_iter();
        ReadReply::taking(at, limit, || rows.next())
    }

    /// The same of rows that come one by one.
    pub fn taking(at: Timestamp, limit: ReadLimit, mut next: impl FnMut() -> Option<RowAt>) -> ReadReply {
        let (mut reply, mut bytes) = (ReadReply { at, rows: Vec::new(), is_cut: false }, 0);
        while !reply.is_cut
            && let Some(row) = next()
        {
            bytes += row.row.size_bytes();
            reply.rows.push(row);
            reply.is_cut = reply.rows.len() > limit.rows || bytes > limit.bytes;
        }
        reply
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowAt {
    pub table: TableId,
    pub key: RowKey,
    pub row: Row,
}

/// Why the commits of a stretch are not told. What they have changed is read instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChangesError {
    #[error("some of the stretch is forgotten: read as of {:?} or later", .0.low_watermark)]
    TooOld(TooOld),
    #[error("they take more bytes than was asked for: read as of the end of the stretch")]
    TooMuch,
}

impl From<TooOld> for ChangesError {
    fn from(too_old: TooOld) -> ChangesError {
        ChangesError::TooOld(too_old)
    }
}

/// The store no longer holds versions that old.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooOld {
    /// The lowest timestamp that can be asked for.
    pub low_watermark: Timestamp,
}
