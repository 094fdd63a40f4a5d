//! What a checkpoint holds: everything that the journal before it said, in chunks.

use iolite_values::{
    Attempt, ClientId, ColumnId, Counter, Operation, Row, RowKey, TableId, Timestamp, TransactionId, Write,
};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CheckpointChunk {
    Rows(Vec<CheckpointRow>),
    Commits(Vec<CheckpointCommit>),
    Clients(Vec<CheckpointClient>),
    Meta(CheckpointMeta),
}

/// One row: its state at a timestamp, and what happened after it, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckpointRow {
    pub table: TableId,
    pub key: RowKey,
    pub base: Row,
    pub base_at: Timestamp,
    pub history: Vec<HistoryEntry>,
}

/// One operation on one cell of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HistoryEntry {
    pub at: Timestamp,
    pub column: ColumnId,
    pub operation: Operation,
}

/// A commit that the feed may still be asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckpointCommit {
    pub at: Timestamp,
    pub transaction: TransactionId,
    pub writes: Vec<Write>,
}

/// What is remembered of one client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckpointClient {
    pub client: ClientId,
    pub acknowledged: Counter,
    /// What became of its transactions, in the order of their counters, each once: a decoder refuses others.
    pub completions: Vec<Completion>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    pub counter: Counter,
    pub attempt: Attempt,
    pub at: Timestamp,
    pub settled: Settled,
}

/// How a transaction ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Settled {
    Committed,
    Aborted,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CheckpointMeta {
    pub low_watermark: Timestamp,
    pub ceiling: Timestamp,
    pub reads_through: Timestamp,
}
