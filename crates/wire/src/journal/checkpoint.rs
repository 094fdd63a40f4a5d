//! What a checkpoint holds: everything that the journal before it said, in chunks.

use std::collections::BTreeMap;

use iolite_values::{
    Attempt, ClientId, ColumnId, Counter, Level, Operation, Row, RowKey, TableId, Timestamp, TransactionId, Write,
};

use super::JournalRecord;

/// A checkpoint is a sequence of these, as large as its writer likes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CheckpointChunk {
    Rows(Vec<CheckpointRow>),
    Commits(Vec<CheckpointCommit>),
    Clients(Vec<CheckpointClient>),
    Meta(CheckpointMeta),
    /// What the protocol of the group stood at when the checkpoint was begun, as the records that lead there.
    Records(Vec<JournalRecord>),
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
    pub attempt: Attempt,
    pub level: Level,
    /// None: the app's own abort.
    pub writes: Option<Vec<Write>>,
    /// Whether the completion record is kept here.
    pub is_home: bool,
}

/// What is remembered of one client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckpointClient {
    pub client: ClientId,
    pub acknowledged: Counter,
    /// What became of its transactions after `acknowledged`.
    pub completions: BTreeMap<Counter, Completion>,
}

/// What became of one transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
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

/// Where the checkpoint stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CheckpointMeta {
    /// Nothing can be read below it any more.
    pub low_watermark: Timestamp,
    /// After a restart, nothing is proposed at or below it.
    pub ceiling: Timestamp,
    /// Nothing commits at or below it any more, because it may have been read.
    pub reads_through: Timestamp,
}
