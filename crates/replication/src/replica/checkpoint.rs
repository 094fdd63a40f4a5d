//! Checkpoints: the state in chunks, written while the replica goes on working.
//!
//! Invariant: loading the chunks and replaying every record since the beginning gives the state, whatever happened between the chunks.

use iolite_values::{ClientId, Counter, RowKey, TableId, Timestamp};

use super::Replica;
use crate::journal::{CHUNK_BYTES_MAX, COMPLETION_BYTES, CheckpointChunk, CheckpointMeta};

/// How far a checkpoint is.
#[derive(Clone, Debug)]
pub(super) enum Checkpoint {
    Commits { after: Timestamp },
    Rows { after: Option<(TableId, RowKey)> },
    Clients { after: Option<(ClientId, Counter)> },
    Meta,
}

impl Replica {
    /// Starts a checkpoint, at the place in the journal behind every record that was handed out. The host has appended these, and begins
    /// its own at that place, before it hands in another input. A checkpoint that was under way is given up.
    pub fn begin_checkpoint(&mut self) {
        self.checkpoint = Some(Checkpoint::Commits { after: Timestamp::ZERO });
    }

    /// The next part (a [`CheckpointChunk`], encoded), of about `bytes_max` bytes; a single row or commit may be more. After the last there is
    /// none, and the checkpoint is complete.
    pub fn next_chunk(&mut self, bytes_max: usize) -> Option<Vec<u8>> {
        let bytes_max = bytes_max.min(CHUNK_BYTES_MAX);
        loop {
            let (chunk, next) = match self.checkpoint.take()? {
                Checkpoint::Commits { after } => self.chunk_of_commits(after, bytes_max),
                Checkpoint::Rows { after } => self.chunk_of_rows(after, bytes_max),
                Checkpoint::Clients { after } => self.chunk_of_clients(after, bytes_max),
                Checkpoint::Meta => (Some(self.chunk_of_meta()), None),
            };
            self.checkpoint = next;
            if let Some(chunk) = chunk {
                return Some(chunk.encode().expect("rows and commits that would not fit are refused before"));
            }
        }
    }

    /// Nothing is collected meanwhile: were a commit written and a later one of the same row collected, and with it perhaps the row, before it is
    /// written too, then recovery would find the first without the second.
    pub(super) fn is_writing_commits(&self) -> bool {
        matches!(self.checkpoint, Some(Checkpoint::Commits { .. }))
    }

    fn chunk_of_commits(&self, after: Timestamp, bytes_max: usize) -> (Option<CheckpointChunk>, Option<Checkpoint>) {
        let commits = self.versions.checkpoint_commits(after, bytes_max);
        match commits.last() {
            Some(last) => {
                let next = Checkpoint::Commits { after: last.at };
                (Some(CheckpointChunk::Commits(commits)), Some(next))
            }
            None => (None, Some(Checkpoint::Rows { after: None })),
        }
    }

    fn chunk_of_rows(
        &self,
        after: Option<(TableId, RowKey)>,
        bytes_max: usize,
    ) -> (Option<CheckpointChunk>, Option<Checkpoint>) {
        let rows = self.versions.checkpoint_rows(after.as_ref(), bytes_max);
        match rows.last() {
            Some(last) => {
                let next = Checkpoint::Rows { after: Some((last.table, last.key.clone())) };
                (Some(CheckpointChunk::Rows(rows)), Some(next))
            }
            None => (None, Some(Checkpoint::Clients { after: None })),
        }
    }

    fn chunk_of_clients(
        &self,
        after: Option<(ClientId, Counter)>,
        bytes_max: usize,
    ) -> (Option<CheckpointChunk>, Option<Checkpoint>) {
        let parts = self.clients.checkpoint(after, bytes_max / COMPLETION_BYTES);
        match parts.last() {
            Some(last) => {
                let counter = last.completions.last_key_value().map_or(Counter(0), |(counter, _)| *counter);
                let next = Checkpoint::Clients { after: Some((last.client, counter)) };
                (Some(CheckpointChunk::Clients(parts)), Some(next))
            }
            None => (None, Some(Checkpoint::Meta)),
        }
    }

    fn chunk_of_meta(&self) -> CheckpointChunk {
        CheckpointChunk::Meta(CheckpointMeta {
            low_watermark: self.versions.low_watermark(),
            ceiling: self.ceiling,
            reads_through: self.reads_through,
        })
    }
}
