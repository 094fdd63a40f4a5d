//! Requests to a store.

use iolite_values::{ClientId, Counter, Interest, Timestamp, Transaction};

/// Chosen by the caller; not used again while its request is open.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct RequestId(pub u64);

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// Validates and commits an attempt, above everything that its client has seen (`floor`). Repeating it is harmless: the answer is that of
    /// the transaction's completion record once there is one.
    Commit { transaction: Transaction, floor: Timestamp },
    /// All rows of an interest as of `at`, which has to be resolved.
    ReadAt { interest: Interest, at: Timestamp },
    /// The commits in (after, through] that touch any of the interests.
    Changes { interests: Vec<Interest>, after: Timestamp, through: Timestamp },
    /// The client needs no completion record up to this counter any more.
    Acknowledge { client: ClientId, through: Counter },
}
