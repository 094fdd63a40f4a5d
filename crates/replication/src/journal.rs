//! What a replica makes durable: a record for each change, and checkpoints in chunks.
//!
//! Invariant: applying a record to a state that already reflects it, or that reflects later ones, changes nothing. (Checkpoints are
//! written while the replica works, and recovery replays every record since the checkpoint's beginning.)

use std::sync::Arc;

use iolite_store::{Commit, Completion};
use iolite_values::{Attempt, ClientId, Counter, Row, RowKey, TableId, Timestamp, TransactionId, Write};

/// One change of a replica.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JournalRecord {
    /// A transaction took effect, or its abort is final.
    Completed { transaction: TransactionId, attempt: Attempt, at: Timestamp, decision: CompletedDecision },
    /// A client knows its outcomes up to this counter.
    Acknowledged { client: ClientId, through: Counter },
    /// The barrier may rise to here without another record.
    Ceiling(Timestamp),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CompletedDecision {
    Committed(Arc<[Write]>),
    Aborted,
}

/// A part of a checkpoint. They are written in the order commits, rows, clients, meta; docs/protocols/replica.md says why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CheckpointChunk {
    Commits(Vec<Commit>),
    Rows(Vec<CheckpointRow>),
    Clients(Vec<CheckpointClient>),
    Meta { low_watermark: Timestamp, ceiling: Timestamp, reads_through: Timestamp },
}

/// A row without its history, which the recent commits tell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckpointRow {
    pub table: TableId,
    pub key: RowKey,
    pub base: Row,
    /// The last commit that `base` reflects.
    pub base_at: Timestamp,
}

/// What is kept of one client. A client with many completions is spread over several.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckpointClient {
    pub client: ClientId,
    pub acknowledged: Counter,
    pub completions: Vec<(Counter, Completion)>,
}
