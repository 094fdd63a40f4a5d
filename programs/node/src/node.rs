//! A node: a gateway, a coordinator and a replica, which speak to each other by messages only.
//!
//! Invariant: what the replica says leaves it only when the records that it rests on are durable.

use std::collections::VecDeque;

use iolite_gateway::{Gateway, Input, Output, SessionId};
use iolite_machine::{Gate, Instant, Machine, Now, PersistId};
use iolite_replication::node::FromReplica;
use iolite_replication::{Coordinator, CoordinatorInput, CoordinatorOutput, Replica, ReplicaInput, ReplicaOutput};
use iolite_wire::message::FromGateway;

use crate::checkpoints::{Checkpoints, Step};

/// The composition. Its work is done when it is polled, so that inputs that come together are treated together.
#[derive(Debug)]
pub struct Node {
    now: Now,
    gateway: Gateway,
    coordinator: Coordinator,
    replica: Replica,
    gate: Gate<FromReplica>,
    checkpoints: Checkpoints,
    outputs: VecDeque<NodeOutput>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NodeInput {
    Gateway(Input),
    /// Every record up to this one is durable; so many bytes would be replayed by a restart.
    Synced {
        through: PersistId,
        bytes_since_checkpoint: u64,
    },
    /// The journal wants the next chunk.
    ChunkTaken,
    CheckpointFinished {
        bytes_since_checkpoint: u64,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NodeOutput {
    Message(SessionId, FromGateway),
    /// Close the connection once its messages are sent.
    Close(SessionId),
    /// Append this record, in this order.
    Append(Vec<u8>),
    BeginCheckpoint,
    CheckpointChunk(Vec<u8>),
    FinishCheckpoint,
}

impl Node {
    /// A journal of fewer bytes than `checkpoint_bytes_min` is left without a checkpoint.
    pub fn new(
        now: Now,
        gateway: Gateway,
        coordinator: Coordinator,
        replica: Replica,
        checkpoint_bytes_min: u64,
    ) -> Node {
        Node {
            now,
            gateway,
            coordinator,
            replica,
            gate: Gate::new(),
            checkpoints: Checkpoints::new(checkpoint_bytes_min),
            outputs: VecDeque::new(),
        }
    }

    /// Whether sessions are served.
    pub fn is_ready(&self) -> bool {
        self.gateway.is_ready()
    }

    /// Carries messages between the parts until none has anything to say.
    fn settle(&mut self) {
        loop {
            let mut quiet = true;
            while let Some(output) = self.gateway.poll() {
                quiet = false;
                self.on_gateway(output);
            }
            while let Some(output) = self.coordinator.poll() {
                quiet = false;
                match output {
                    CoordinatorOutput::Event(event) => {
                        self.gateway.handle(self.now, Input::Store(event));
                    }
                    CoordinatorOutput::ToReplica { to: _, message } => {
                        self.replica.handle(self.now, ReplicaInput::FromCoordinator(message));
                    }
                    CoordinatorOutput::Superseded { term } => {
                        unreachable!("the only coordinator of this data directory met another one, of {term:?}")
                    }
                }
            }
            while let Some(output) = self.replica.poll() {
                quiet = false;
                match output {
                    ReplicaOutput::Persist { id: _, record } => self.outputs.push_back(NodeOutput::Append(record)),
                    ReplicaOutput::Reply { after, message } => self.gate.hold(after, message),
                    ReplicaOutput::ToPeer { after: _, message } => unreachable!("it is alone: {message:?}"),
                }
            }
            while let Some(message) = self.gate.release() {
                quiet = false;
                self.coordinator.handle(self.now, CoordinatorInput::FromReplica(message));
            }
            if quiet {
                return;
            }
        }
    }

    fn on_gateway(&mut self, output: Output) {
        match output {
            Output::Message(session, message) => self.outputs.push_back(NodeOutput::Message(session, message)),
            Output::Close(session) => self.outputs.push_back(NodeOutput::Close(session)),
            Output::Store(id, request) => {
                self.coordinator.handle(self.now, CoordinatorInput::Request(id, request));
            }
        }
    }

    fn on_checkpoint(&mut self, step: Step) {
        match step {
            Step::Nothing => {}
            Step::Begin => {
                // The records that were handed out so far go into the journal before the checkpoint's beginning.
                self.settle();
                self.replica.begin_checkpoint();
                self.outputs.push_back(NodeOutput::BeginCheckpoint);
            }
            Step::NextChunk => match self.replica.next_chunk(Checkpoints::CHUNK_BYTES) {
                Some(chunk) => {
                    self.checkpoints.wrote(chunk.len());
                    self.outputs.push_back(NodeOutput::CheckpointChunk(chunk));
                }
                None => self.outputs.push_back(NodeOutput::FinishCheckpoint),
            },
        }
    }
}

impl Machine for Node {
    type Input = NodeInput;
    type Output = NodeOutput;

    fn handle(&mut self, now: Now, input: NodeInput) {
        self.now = now;
        match input {
            NodeInput::Gateway(input) => self.gateway.handle(now, input),
            NodeInput::Synced { through, bytes_since_checkpoint } => {
                self.gate.advance(through);
                let step = self.checkpoints.on_synced(bytes_since_checkpoint);
                self.on_checkpoint(step);
            }
            NodeInput::ChunkTaken => self.on_checkpoint(Step::NextChunk),
            NodeInput::CheckpointFinished { bytes_since_checkpoint } => {
                let step = self.checkpoints.on_finished(bytes_since_checkpoint);
                self.on_checkpoint(step);
            }
        }
    }

    fn poll(&mut self) -> Option<NodeOutput> {
        if self.outputs.is_empty() {
            self.settle();
        }
        self.outputs.pop_front()
    }

    fn deadline(&self) -> Option<Instant> {
        [self.gateway.deadline(), self.coordinator.deadline(), self.replica.deadline()].into_iter().flatten().min()
    }

    fn on_deadline(&mut self, now: Now) {
        self.now = now;
        self.gateway.on_deadline(now);
        self.coordinator.on_deadline(now);
        self.replica.on_deadline(now);
    }

    fn validate(&self) {
        self.gateway.validate();
        self.coordinator.validate();
        self.replica.validate();
    }
}

#[cfg(test)]
mod tests;
