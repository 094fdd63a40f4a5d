//! A replica with what its process needs beside it: answers wait for the journal, and checkpoints keep the journal short.
//!
//! Invariant: what the replica says leaves only when the records that it rests on are durable; and a sync is asked for when something waits for it. How a
//! transaction ended, which others know too, waits for the next.

use std::collections::VecDeque;

use iolite_machine::{Gate, Instant, Machine, Now, PersistId};
use iolite_replication::node::{BetweenReplicas, FromReplica, ReplicaId, ToReplica};
use iolite_replication::{Figures, Replica, ReplicaInput, ReplicaOutput};
use iolite_values::Timestamp;

use crate::checkpoints::{Checkpoints, Step};

/// A replica's process as a machine. Its work is done when it is polled, so that inputs that come together are treated together.
#[derive(Debug)]
pub struct Store {
    replica: Replica,
    /// How far it was complete when it was started.
    complete_at_start: Timestamp,
    gate: Gate<Said>,
    /// So far a sync was asked for.
    synced_for: PersistId,
    checkpoints: Checkpoints,
    outputs: VecDeque<StoreOutput>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoreInput {
    FromCoordinator(ToReplica),
    FromPeer(BetweenReplicas),
    Journal(JournalInput),
}

/// What the journal tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JournalInput {
    /// Every record up to this one is durable; so many bytes would be replayed by a restart.
    Synced {
        through: PersistId,
        bytes_since_checkpoint: u64,
    },
    /// It wants the next chunk.
    ChunkTaken,
    CheckpointFinished {
        bytes_since_checkpoint: u64,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoreOutput {
    ToCoordinator(FromReplica),
    ToPeer(BetweenReplicas),
    Journal(JournalOutput),
}

/// What the journal is to do, in this order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JournalOutput {
    Append(Vec<u8>),
    /// Something waits until what was appended is durable. The rest has time.
    Sync,
    BeginCheckpoint,
    CheckpointChunk(Vec<u8>),
    FinishCheckpoint,
}

#[derive(Debug)]
enum Said {
    ToCoordinator(FromReplica),
    ToPeer(BetweenReplicas),
}

impl Store {
    /// A journal of fewer bytes than `checkpoint_bytes_min` is left without a checkpoint.
    pub fn new(replica: Replica, checkpoint_bytes_min: u64) -> Store {
        let checkpoints = Checkpoints::new(checkpoint_bytes_min);
        let complete_at_start = replica.complete();
        Store {
            replica,
            complete_at_start,
            gate: Gate::new(),
            synced_for: PersistId::START,
            checkpoints,
            outputs: VecDeque::new(),
        }
    }

    /// Whether it has what others of its group have, as far as it was told: after a restart that is so once a gateway has closed the feed past
    /// where it stood. A replica that is ready can be counted on when the next one is taken down.
    pub fn is_ready(&self) -> bool {
        let is_told = self.replica.complete() > self.complete_at_start || self.complete_at_start == Timestamp::ZERO;
        self.replica.is_keeping_up() && (is_told || self.replica.group().members().len() == 1)
    }

    pub fn id(&self) -> ReplicaId {
        self.replica.id()
    }

    pub fn figures(&self) -> Figures {
        self.replica.figures()
    }

    /// Takes what the replica has to say, and what may leave.
    fn drain(&mut self) {
        while let Some(output) = self.replica.poll() {
            match output {
                ReplicaOutput::Persist { id: _, record } => self.journal(JournalOutput::Append(record)),
                ReplicaOutput::Reply { after, message } => self.gate.hold(after, Said::ToCoordinator(message)),
                ReplicaOutput::ToPeer { after, message } => self.gate.hold(after, Said::ToPeer(message)),
            }
        }
        if self.gate.awaited() > self.synced_for.max(self.gate.persisted()) {
            self.synced_for = self.gate.awaited();
            self.journal(JournalOutput::Sync);
        }
        while let Some(said) = self.gate.release() {
            self.outputs.push_back(match said {
                Said::ToCoordinator(message) => StoreOutput::ToCoordinator(message),
                Said::ToPeer(message) => StoreOutput::ToPeer(message),
            });
        }
    }

    fn journal(&mut self, output: JournalOutput) {
        self.outputs.push_back(StoreOutput::Journal(output));
    }

    fn on_journal(&mut self, input: JournalInput) {
        let step = match input {
            JournalInput::Synced { through, bytes_since_checkpoint } => {
                self.gate.advance(through);
                self.checkpoints.on_synced(bytes_since_checkpoint)
            }
            JournalInput::ChunkTaken => Step::NextChunk,
            JournalInput::CheckpointFinished { bytes_since_checkpoint } => {
                self.checkpoints.on_finished(bytes_since_checkpoint)
            }
        };
        match step {
            Step::Nothing => {}
            Step::Begin => {
                // The records that were handed out so far go into the journal before the checkpoint's beginning.
                self.drain();
                self.replica.begin_checkpoint();
                self.journal(JournalOutput::BeginCheckpoint);
            }
            Step::NextChunk => match self.replica.next_chunk(Checkpoints::CHUNK_BYTES) {
                Some(chunk) => {
                    self.checkpoints.wrote(chunk.len());
                    self.journal(JournalOutput::CheckpointChunk(chunk));
                }
                None => self.journal(JournalOutput::FinishCheckpoint),
            },
        }
    }
}

impl Machine for Store {
    type Input = StoreInput;
    type Output = StoreOutput;

    fn handle(&mut self, now: Now, input: StoreInput) {
        match input {
            StoreInput::FromCoordinator(message) => {
                self.replica.handle(now, ReplicaInput::FromCoordinator(message));
            }
            StoreInput::FromPeer(message) => self.replica.handle(now, ReplicaInput::FromPeer(message)),
            StoreInput::Journal(input) => self.on_journal(input),
        }
    }

    fn poll(&mut self) -> Option<StoreOutput> {
        if self.outputs.is_empty() {
            self.drain();
        }
        self.outputs.pop_front()
    }

    fn deadline(&self) -> Option<Instant> {
        self.replica.deadline()
    }

    fn on_deadline(&mut self, now: Now) {
        self.replica.on_deadline(now);
    }

    fn validate(&self) {
        self.replica.validate();
    }
}

#[cfg(test)]
mod tests;
