//! Recovery: from a checkpoint and the records since its beginning.
//!
//! Invariant: the recovered state is that of the replica that wrote the records, but for what it knew only in memory: the barrier (which becomes the
//! ceiling) and the attempts that it had seen.

use iolite_store::{Completion, CompletionDecision};
use iolite_values::{Timestamp, TypeMismatch};

use super::{Replica, ReplicaSettings};
use crate::broken::Broken;
use crate::journal::{CheckpointChunk, CheckpointMeta, Completed, CompletedDecision, JournalRecord};
use crate::node::{Outcome, ProposalId, Registered};
use crate::versions::Logged;
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
    #[error(
        "the journal is of a replica that was made in another group ({known}), not in the one that it is started with ({given}): start it with its own. \
         Who keeps a shard is changed by a configuration, which a transaction chooses, never at a start"
    )]
    OtherGroup { known: String, given: String },
    #[error(
        "the journal is of a replica that goes on with a part of another shard, and it is not started so (or the other way round): start it as it was made"
    )]
    OtherOrigin,
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
        replica.check_first_group()?;
        // A state of which the last parts are missing never came.
        replica.catch_up.taking = None;
        replica.versions.collect_through(low_watermark);
        replica.barrier = replica.ceiling;
        replica.readers.remove_through(replica.barrier);
        replica.forget_settled(replica.complete());
        replica.look_for_configuration();
        Ok(replica)
    }

    /// Takes the checkpoint, and returns its low watermark.
    fn load(&mut self, chunks: impl IntoIterator<Item = impl AsRef<[u8]>>) -> Result<Timestamp, RecoverError> {
        let mut commits = Vec::new();
        let mut records = Vec::new();
        let mut end = None;
        let mut empty = true;
        for chunk in chunks {
            empty = false;
            match CheckpointChunk::decode(chunk.as_ref())? {
                CheckpointChunk::Records(some) => records.extend(some),
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
            // Like a record, it does not say whether it read anything.
            self.reads_through = self.reads_through.max(commit.at);
            self.replay_commit(Logged::from_checkpoint(commit))?;
        }
        for record in records {
            self.replay(record)?;
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
            JournalRecord::Completed(completed) => {
                // The record does not say whether it read anything; taking it that it did costs a retry at worst.
                self.reads_through = self.reads_through.max(completed.at);
                self.replay_completion(&completed);
                self.replay_commit(Logged::from_record(completed))?;
            }
            JournalRecord::Entry(entry) => {
                let committed = entry.outcome == Some(Outcome::Committed);
                let known = self.record.get(entry.id).and_then(|known| known.proposal.clone());
                if let Some(proposal) = entry.proposal.clone().or(known).filter(|_| committed) {
                    self.reads_through = self.reads_through.max(entry.id.at);
                    self.replay_completion(&Logged::of(&proposal).to_record());
                    self.replay_commit(Logged::of(&proposal))?;
                }
                self.set_recorded(entry);
            }
            JournalRecord::Term(Registered { coordinator, term, life }) => {
                self.terms.insert(coordinator, (term, life));
            }
            JournalRecord::Configured(configuration) => self.replay_configuration(configuration),
            JournalRecord::Split(split) => self.replay_split(split),
            JournalRecord::Joined(view) => self.standing = self.standing.joined(view),
            JournalRecord::Master(part) => self.replay_master(part),
            JournalRecord::Superseded => {}
            JournalRecord::Complete(through) => self.complete_through(through),
            JournalRecord::Snapshot(part) => self.replay_snapshot(part)?,
        }
        Ok(())
    }

    fn replay_completion(&mut self, completed: &Completed) {
        if completed.is_home && self.settings.broken != Broken::NoCompletionRecords {
            let decision = match completed.decision {
                CompletedDecision::Committed(_) => CompletionDecision::Committed,
                CompletedDecision::Aborted => CompletionDecision::Aborted,
            };
            let completion = Completion { attempt: completed.attempt, at: completed.at, decision };
            self.clients.complete(completed.transaction, completion);
        }
    }

    fn replay_commit(&mut self, logged: Logged) -> Result<(), RecoverError> {
        let at = logged.commit.at;
        let id = ProposalId { at, transaction: logged.commit.transaction, attempt: logged.attempt };
        self.versions.apply(logged).map_err(|mismatch| RecoverError::Inconsistent { at, mismatch })?;
        self.close_applied(id);
        Ok(())
    }
}
