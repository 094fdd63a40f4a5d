//! A coordinator that also asks replicas where they stand: for operators' tools.
//!
//! Invariant: a report is asked for once, and may get lost. Who waits for one asks again.

use std::collections::VecDeque;

use iolite_machine::{Instant, Machine, Now};
use iolite_replication::node::{
    Answer, Ask, FromReplica, Group, Life, MessageId, ReplicaId, Report, ShardId, Split, Term, ToReplica, View,
};
use iolite_replication::{Coordinator, CoordinatorInput, CoordinatorOutput, Tally};
use iolite_store::{Request, RequestId};
use iolite_values::{CoordinatorId, Timestamp};

#[derive(Debug)]
pub(crate) struct Inquirer {
    id: CoordinatorId,
    life: Life,
    coordinator: Coordinator,
    outputs: VecDeque<InquirerOutput>,
}

#[derive(Debug)]
pub(crate) enum InquirerInput {
    Request(RequestId, Request),
    /// The store is being copied.
    Hold(Timestamp),
    FromReplica(FromReplica),
    /// The directory tells of the group of a shard.
    Configured(Group),
    /// The directory tells that a shard was split.
    Ended(Split),
    Inquire(ReplicaId),
}

#[derive(Debug)]
pub(crate) enum InquirerOutput {
    Coordinator(CoordinatorOutput),
    Reported(ReplicaId, Report),
}

impl Inquirer {
    pub fn new(id: CoordinatorId, life: Life, coordinator: Coordinator) -> Inquirer {
        Inquirer { id, life, coordinator, outputs: VecDeque::new() }
    }

    pub fn tally(&self) -> Tally {
        self.coordinator.tally()
    }

    /// Of whichever shard and history the replica is.
    fn inquire(&mut self, replica: ReplicaId) {
        let message = ToReplica {
            from: self.id,
            term: Term::default(),
            id: MessageId { life: self.life, number: 0 },
            store: None,
            shard: ShardId::default(),
            view: View::default(),
            ask: Ask::Report,
        };
        let output = CoordinatorOutput::ToReplica { to: replica, message };
        self.outputs.push_back(InquirerOutput::Coordinator(output));
    }
}

impl Machine for Inquirer {
    type Input = InquirerInput;
    type Output = InquirerOutput;

    fn handle(&mut self, now: Now, input: InquirerInput) {
        match input {
            InquirerInput::Inquire(replica) => self.inquire(replica),
            InquirerInput::FromReplica(FromReplica { from, answer: Answer::Reported(report), .. }) => {
                self.outputs.push_back(InquirerOutput::Reported(from, report));
            }
            InquirerInput::FromReplica(message) => {
                self.coordinator.handle(now, CoordinatorInput::FromReplica(message));
            }
            InquirerInput::Request(id, request) => self.coordinator.handle(now, CoordinatorInput::Request(id, request)),
            InquirerInput::Hold(at) => self.coordinator.handle(now, CoordinatorInput::Hold(at)),
            InquirerInput::Ended(split) => self.coordinator.handle(now, CoordinatorInput::Ended(split)),
            InquirerInput::Configured(group) => self.coordinator.handle(now, CoordinatorInput::Configured(group)),
        }
    }

    fn poll(&mut self) -> Option<InquirerOutput> {
        self.outputs.pop_front().or_else(|| self.coordinator.poll().map(InquirerOutput::Coordinator))
    }

    fn deadline(&self) -> Option<Instant> {
        self.coordinator.deadline()
    }

    fn on_deadline(&mut self, now: Now) {
        self.coordinator.on_deadline(now);
    }

    fn validate(&self) {
        self.coordinator.validate();
    }
}
