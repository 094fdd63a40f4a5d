//! Requests to a store.

use std::sync::Arc;
use std::time::Duration;

use iolite_values::{Attempt, ClientId, Counter, Direction, Interest, Read, Timestamp, Transaction, TransactionId};

use crate::RowAt;

/// Chosen by the caller; not used again while its request is open.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct RequestId(pub u64);

/// How much is read at most. The row that passes it is read still, and nothing behind it; the reply says so ([`crate::ReadReply::is_cut`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadLimit {
    pub rows: usize,
    /// As [`iolite_values::Row::size_bytes`] counts them.
    pub bytes: usize,
    /// From which end of the interest.
    pub direction: Direction,
}

impl ReadLimit {
    pub const NONE: ReadLimit = ReadLimit { rows: usize::MAX, bytes: usize::MAX, direction: Direction::Ascending };

    /// What is left of it once these rows were read.
    #[must_use]
    pub fn behind(self, rows: &[RowAt]) -> ReadLimit {
        let bytes: usize = rows.iter().map(|row| row.row.size_bytes()).sum();
        let (rows, bytes) = (self.rows.saturating_sub(rows.len()), self.bytes.saturating_sub(bytes));
        ReadLimit { rows, bytes, direction: self.direction }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// Validates and commits an attempt, above everything that its client has seen (`floor`). Repeating it is harmless: the answer is that of
    /// the transaction's completion record once there is one. Who waits `within` a time only may be told
    /// [`crate::CommitReply::InDoubt`] when it is up; without one, the answer comes when it can be known.
    Commit { transaction: Transaction, floor: Timestamp, within: Option<Duration> },
    /// A transaction that only reads: whether everything that it read at `snapshot`, which has to be resolved, is true still. Answered with
    /// [`crate::Reply::Validated`], and nothing is remembered, so that it may be asked again at will. A store that cannot tell, because what would
    /// change it stays undecided, commits it under its name instead, above `floor`, and answers as to [`Request::Commit`]. Reads of one snapshot may be
    /// asked about in parts, each under a name of its own: if each part was valid after the transaction began, so is the whole.
    Validate { transaction: TransactionId, attempt: Attempt, snapshot: Timestamp, reads: Arc<[Read]>, floor: Timestamp },
    /// The rows of an interest as of `at`, which has to be resolved: in the order of their keys, and of a query in that of its index. In the direction of
    /// the limit, so that a reply that is cut reaches to its last row.
    ReadAt { interest: Interest, at: Timestamp, limit: ReadLimit },
    /// The commits in (after, through] that touch any of the interests: of a query, that write any row which may be an answer by its primary key. Which
    /// rows come and go takes more than the commits to tell. If they are more than `bytes_max`, as [`crate::Commit::size_bytes`] counts them, none is told
    /// ([`crate::ChangesError::TooMuch`]), and no more are put together than pass it.
    Changes { interests: Vec<Interest>, after: Timestamp, through: Timestamp, bytes_max: usize },
    /// What became of a client's transactions above a counter, as of `at`, which has to be resolved: the first `most` (1 and more) of those that
    /// completed at or below it and are not acknowledged, in the order of their counters.
    Completions { client: ClientId, after: Counter, at: Timestamp, most: usize },
    /// The highest counter of a client of which an outcome is known as of `at`, which has to be resolved: recorded, or acknowledged. 0: none is.
    LastOutcome { client: ClientId, at: Timestamp },
    /// The client needs no completion record up to this counter any more. Who asks sees to it that the store knows of an outcome that far: it takes none
    /// below the counter from then on, whoever named it.
    Acknowledge { client: ClientId, through: Counter },
}

impl Request {
    /// Whether nothing comes of it but the reply. Of a validation more does: it holds against commits that come later.
    pub fn only_reads(&self) -> bool {
        match self {
            Request::Commit { .. } | Request::Validate { .. } | Request::Acknowledge { .. } => false,
            Request::ReadAt { .. }
            | Request::Changes { .. }
            | Request::Completions { .. }
            | Request::LastOutcome { .. } => true,
        }
    }
}
