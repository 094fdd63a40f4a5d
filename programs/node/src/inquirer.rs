//! Asks replicas where they stand, beside a coordinator or without one: for operators' tools.
//!
//! Invariants:
//! - a report is asked for once, and may get lost. Who waits for one asks again;
//! - without a coordinator nothing else is asked, so nobody who has the same number is ended.

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
    coordinator: Option<Coordinator>,
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
    pub fn new(id: CoordinatorId, life: Life, coordinator: Option<Coordinator>) -> Inquirer {
        Inquirer { id, life, coordinator, outputs: VecDeque::new() }
    }

    pub fn tally(&self) -> Tally {
        self.coordinator.as_ref().map(Coordinator::tally).unwrap_or_default()
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

    fn coordinate(&mut self, now: Now, input: CoordinatorInput) {
        if let Some(coordinator) = &mut self.coordinator {
            coordinator.handle(now, input);
        }
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
            InquirerInput::FromReplica(message) => self.coordinate(now, CoordinatorInput::FromReplica(message)),
            InquirerInput::Request(id, request) => self.coordinate(now, CoordinatorInput::Request(id, request)),
            InquirerInput::Hold(at) => self.coordinate(now, CoordinatorInput::Hold(at)),
            InquirerInput::Ended(split) => self.coordinate(now, CoordinatorInput::Ended(split)),
            InquirerInput::Configured(group) => self.coordinate(now, CoordinatorInput::Configured(group)),
        }
    }

    fn poll(&mut self) -> Option<InquirerOutput> {
        let coordinator = self.coordinator.as_mut();
        self.outputs.pop_front().or_else(|| coordinator?.poll().map(InquirerOutput::Coordinator))
    }

    fn deadline(&self) -> Option<Instant> {
        self.coordinator.as_ref()?.deadline()
    }

    fn on_deadline(&mut self, now: Now) {
        if let Some(coordinator) = &mut self.coordinator {
            coordinator.on_deadline(now);
        }
    }

    fn validate(&self) {
        if let Some(coordinator) = &self.coordinator {
            coordinator.validate();
        }
    }
}
