//! Recovery: from a checkpoint and the records since its beginning.
//!
//! Invariant: the recovered state is that of the replica that wrote the records, but for what it knew only in memory: the barrier (which becomes the
//! ceiling) and the attempts that it had seen.

use iolite_machine::PersistId;
use iolite_store::{Commit, Completion, CompletionDecision};
use iolite_values::{Timestamp, TransactionId, TypeMismatch};

use super::{Replica, ReplicaSettings};
use crate::broken::Broken;
use crate::journal::{CheckpointChunk, CheckpointMeta, Completed, CompletedDecision, JournalRecord, commit_from_wire};
use iolite_wire::DecodeError;

/// Why records are not those of a replica.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RecoverError {
    #[error("a record of the journal cannot be read: {0}")]
    Decode(#[from] DecodeError),
    #[error(
        "the journal holds a commit at {at:?} that does not fit what was before it ({mismatch}): restore the store from a backup"
    )]
    Inconsistent { at: Timestamp, mismatch: TypeMismatch },
    #[error("the checkpoint has no end, or one that contradicts it: restore the store from a backup")]
    IncompleteCheckpoint,
}

impl Replica {
    /// Rebuilds a replica from what its journal holds: the newest complete checkpoint, if there is one, and the records since it was begun.
    ///
    /// # Errors
    /// [`RecoverError`], when these are not a replica's.
    pub fn recover(
        settings: ReplicaSettings,
        chunks: impl IntoIterator<Item = impl AsRef<[u8]>>,
        records: impl IntoIterator<Item = impl AsRef<[u8]>>,
    ) -> Result<Replica, RecoverError> {
        let mut replica = Replica::new(settings);
        let low_watermark = replica.load(chunks)?;
        for record in records {
            replica.replay(JournalRecord::decode(record.as_ref())?)?;
        }
        replica.versions.collect_through(low_watermark);
        replica.barrier = replica.ceiling;
        let open = replica.versions.commits(replica.barrier, Timestamp::MAX);
        let open = open.map_err(|_| RecoverError::IncompleteCheckpoint)?;
        replica.open_commits = open.map(|commit| (commit.at, PersistId::START)).collect();
        Ok(replica)
    }

    /// Takes the checkpoint, and returns its low watermark.
    fn load(&mut self, chunks: impl IntoIterator<Item = impl AsRef<[u8]>>) -> Result<Timestamp, RecoverError> {
        let mut commits = Vec::new();
        let mut end = None;
        let mut empty = true;
        for chunk in chunks {
            empty = false;
            match CheckpointChunk::decode(chunk.as_ref())? {
                CheckpointChunk::Commits(some) => commits.extend(some),
                CheckpointChunk::Rows(rows) => rows.into_iter().for_each(|row| self.versions.restore(row)),
                CheckpointChunk::Clients(parts) => parts.into_iter().for_each(|part| self.clients.restore(part)),
                CheckpointChunk::Meta(CheckpointMeta { low_watermark, ceiling, reads_through }) => {
                    self.ceiling = ceiling;
                    self.reads_through = reads_through;
                    end = Some(low_watermark);
                }
            }
        }
        for commit in commits {
            self.replay_commit(commit_from_wire(commit))?;
        }
        match end {
            Some(low_watermark) => Ok(low_watermark),
            None if empty => Ok(Timestamp::ZERO),
            None => Err(RecoverError::IncompleteCheckpoint),
        }
    }

    fn replay(&mut self, record: JournalRecord) -> Result<(), RecoverError> {
        match record {
            JournalRecord::Ceiling(ceiling) => self.ceiling = self.ceiling.max(ceiling),
            JournalRecord::Acknowledged { client, through } => {
                self.clients.acknowledge(client, through);
            }
            JournalRecord::Completed(Completed { transaction, attempt, at, decision }) => {
                // The record does not say whether it read anything; taking it that it did costs a retry at worst.
                self.reads_through = self.reads_through.max(at);
                self.replay_completion(transaction, Completion { attempt, at, decision: outcome(&decision) });
                if let CompletedDecision::Committed(writes) = decision {
                    self.replay_commit(Commit { at, transaction, writes: writes.into() })?;
                }
            }
        }
        Ok(())
    }

    fn replay_completion(&mut self, transaction: TransactionId, completion: Completion) {
        if self.settings.broken != Broken::NoCompletionRecords {
            self.clients.complete(transaction, completion);
        }
    }

    fn replay_commit(&mut self, commit: Commit) -> Result<(), RecoverError> {
        let at = commit.at;
        self.versions.apply(commit).map_err(|mismatch| RecoverError::Inconsistent { at, mismatch })
    }
}

fn outcome(decision: &CompletedDecision) -> CompletionDecision {
    match decision {
        CompletedDecision::Committed(_) => CompletionDecision::Committed,
        CompletedDecision::Aborted => CompletionDecision::Aborted,
    }
}
