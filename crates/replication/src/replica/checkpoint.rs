//! Checkpoints: the state in chunks, written while the replica goes on working.
//!
//! Invariant: loading the chunks and replaying every record since the beginning gives the state, whatever happened between the chunks.

use std::ops::Bound;

use iolite_values::{ClientId, Counter, RowKey, TableId, Timestamp};

use super::Replica;
use super::part::Part;
use crate::journal::{
    CHUNK_BYTES_MAX, COMPLETION_BYTES, CheckpointChunk, CheckpointMeta, JournalRecord, proposal_bytes,
};
use crate::node::RecordPart;

/// How far a checkpoint is.
#[derive(Clone, Debug)]
pub(super) enum Checkpoint {
    /// What the protocol stood at in the beginning.
    Records(Vec<JournalRecord>),
    Commits {
        after: Timestamp,
    },
    Rows {
        after: Option<(TableId, RowKey)>,
    },
    Clients {
        after: Option<(ClientId, Counter)>,
    },
    Meta,
}

impl Replica {
    /// Starts a checkpoint, at the place in the journal behind every record that was handed out. The host has appended these, and begins
    /// its own at that place, before it hands in another input. A checkpoint that was under way is given up.
    pub fn begin_checkpoint(&mut self) {
        self.checkpoint = Some(Checkpoint::Records(self.standing_records()));
    }

    /// The next part (a [`CheckpointChunk`], encoded), of about `bytes_max` bytes; a single row or commit may be more. After the last there is
    /// none, and the checkpoint is complete.
    pub fn next_chunk(&mut self, bytes_max: usize) -> Option<Vec<u8>> {
        let bytes_max = bytes_max.min(CHUNK_BYTES_MAX);
        let step = self.checkpoint.take()?;
        let (chunk, next) = self.chunk_from(step, bytes_max, None)?;
        self.checkpoint = next;
        chunk.map(|chunk| chunk.encode().expect("rows and commits that would not fit are refused before"))
    }

    /// The next chunk from a place on, of all that is here or of a part of it, and where the one after it is from. Steps that have nothing left are passed over.
    pub(super) fn chunk_from(
        &self,
        step: Checkpoint,
        bytes_max: usize,
        part: Option<&Part>,
    ) -> Option<(Option<CheckpointChunk>, Option<Checkpoint>)> {
        let mut step = Some(step);
        loop {
            let (chunk, next) = match step? {
                Checkpoint::Records(records) => chunk_of_records(records, bytes_max),
                Checkpoint::Commits { after } => self.chunk_of_commits(after, bytes_max),
                Checkpoint::Rows { after } => self.chunk_of_rows(after.as_ref(), bytes_max, part),
                Checkpoint::Clients { after } => self.chunk_of_clients(after, bytes_max),
                Checkpoint::Meta => (Some(self.chunk_of_meta()), None),
            };
            let (chunk, next) = match part {
                Some(part) => part.of_chunk(chunk, next),
                None => (chunk, next),
            };
            if chunk.is_some() {
                return Some((chunk, next));
            }
            step = next;
        }
    }

    /// Nothing is collected meanwhile: were a commit written and a later one of the same row collected, and with it perhaps the row, before it is
    /// written too, then recovery would find the first without the second.
    pub(super) fn is_writing_commits(&self) -> bool {
        matches!(self.checkpoint, Some(Checkpoint::Records(_) | Checkpoint::Commits { .. }))
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
        after: Option<&(TableId, RowKey)>,
        bytes_max: usize,
        part: Option<&Part>,
    ) -> (Option<CheckpointChunk>, Option<Checkpoint>) {
        let beginning = part.and_then(|part| part.beginning_above(after));
        let first = match (&beginning, after) {
            (Some(beginning), _) => Bound::Included(beginning),
            (None, Some(after)) => Bound::Excluded(after),
            (None, None) => Bound::Unbounded,
        };
        let rows = self.versions.checkpoint_rows(first, bytes_max);
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
                let counter = last.completions.last_key_value().map_or(last.acknowledged, |(counter, _)| *counter);
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

    /// The records that lead from nothing to where the protocol stands. Rows and completion records are not among it.
    fn standing_records(&self) -> Vec<JournalRecord> {
        let is_first = self.configuration.previous().is_none();
        let configured = || self.says_first_group.then(|| JournalRecord::Configured(self.configuration.clone()));
        let origin = self.origin_record().filter(|_| self.says_first_group);
        if self.awaiting.is_some() {
            let complete = (self.complete > Timestamp::ZERO).then_some(JournalRecord::Complete(self.complete));
            return configured().into_iter().chain(origin).chain(complete).collect();
        }
        let is_as_made = self.settings.origin.is_none() && self.division.is_none() && is_first;
        if self.is_alone() && is_as_made && self.record.len() == 0 && self.terms.is_empty() {
            return configured().into_iter().chain(origin).collect();
        }
        let last_normal = self.standing.last_normal();
        let terms = self.terms_in_order().into_iter().map(JournalRecord::Term);
        let master = RecordPart {
            complete: self.complete,
            barrier: self.closed(),
            split: self.last_view_split(),
            ..RecordPart::empty(last_normal)
        };
        let entries = self.record.iter().map(|(id, entry)| JournalRecord::Entry(entry.recorded(id)));
        let joined = (!self.standing.is_normal()).then(|| JournalRecord::Joined(self.standing.view()));
        // Of the epoch of the record, or of one that has not begun here.
        let (before, behind) =
            if last_normal.epoch == self.epoch() { (configured(), None) } else { (None, configured()) };
        let standing = before.into_iter().chain(terms).chain([JournalRecord::Master(master)]).chain(entries);
        standing.chain(behind).chain(joined).chain(origin).chain(self.division_records()).collect()
    }
}

fn chunk_of_records(records: Vec<JournalRecord>, bytes_max: usize) -> (Option<CheckpointChunk>, Option<Checkpoint>) {
    let mut records = records.into_iter();
    let mut some = Vec::new();
    let mut bytes = 0;
    for record in records.by_ref() {
        bytes += match &record {
            JournalRecord::Entry(entry) => entry.proposal.as_ref().map_or(0, |proposal| proposal_bytes(proposal)),
            _ => 0,
        } + COMPLETION_BYTES;
        some.push(record);
        if bytes >= bytes_max {
            break;
        }
    }
    if some.is_empty() {
        return (None, Some(Checkpoint::Commits { after: Timestamp::ZERO }));
    }
    (Some(CheckpointChunk::Records(some)), Some(Checkpoint::Records(records.collect())))
}
