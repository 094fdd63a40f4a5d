//! A transaction as it is submitted: what it read, and what it decided.

use crate::{Attempt, Cell, Operation, Read, Timestamp, TransactionId};

/// One operation on one cell.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Write {
    pub cell: Cell,
    pub operation: Operation,
}

/// What a run of the transaction came to. Both outcomes rest on the read set, so both are validated.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Decision {
    /// These operations, in this order, all at one commit timestamp.
    Commit(Vec<Write>),
    /// The app gave up, for this reason.
    Abort(String),
}

/// Where a transaction may stand among others.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum Level {
    /// After everything that was reported before it was submitted.
    #[default]
    Strict,
    /// It may have read a past that others have changed since, also if that was reported before it was submitted: it stands where that was true.
    /// Nothing of this can be told from the transaction's own reads and writes, and timestamps are an order of everything at both levels.
    Serializable,
}

/// One attempt of one transaction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Transaction {
    pub id: TransactionId,
    pub attempt: Attempt,
    /// Everything in `reads` was read at this timestamp. (One snapshot a transaction, so one version for all its reads.)
    pub snapshot: Timestamp,
    pub reads: Vec<Read>,
    pub level: Level,
    pub decision: Decision,
}

impl Transaction {
    /// What it writes if it commits.
    pub fn writes(&self) -> &[Write] {
        match &self.decision {
            Decision::Commit(writes) => writes,
            Decision::Abort(_) => &[],
        }
    }
}
