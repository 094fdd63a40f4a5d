//! A transaction as it is submitted: what it read, and what it decided.

use crate::{Attempt, Cell, Level, Operation, Read, Timestamp, TransactionId};

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

/// One attempt of one transaction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Transaction {
    pub id: TransactionId,
    pub attempt: Attempt,
    /// Everything in `reads` was read at this timestamp. (One snapshot a transaction, so one version for all its reads.)
    pub snapshot: Timestamp,
    /// What its level guards of what was read.
    pub reads: Vec<Read>,
    pub level: Level,
    pub decision: Decision,
}

impl Transaction {
    /// What it writes if it commits.
    pub fn writes(&self) -> &[Write] {
        self.decision.writes()
    }
}

impl Decision {
    /// The writes of a transaction that is decided so.
    pub fn writes(&self) -> &[Write] {
        match self {
            Decision::Commit(writes) => writes,
            Decision::Abort(_) => &[],
        }
    }
}
