//! One machine, with what its host keeps for it, and what it told the outside.
//!
//! Invariant: a replica's records are durable as far as something that it said rests on them; the rest may be lost in a restart.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use iolite_machine::{Instant, Machine, Now};
use iolite_replication::node::{Ask, BetweenReplicas, Boot, FromReplica, ProposalId, ReplicaId, ToReplica};
use iolite_replication::{
    Coordinator, CoordinatorInput, CoordinatorOutput, Replica, ReplicaInput, ReplicaOutput, ReplicaSettings,
};
use iolite_store::{Event, Request, RequestId};
use iolite_values::{CoordinatorId, Timestamp, Transaction};

use crate::fingerprint::fingerprint;

/// Deadlines behind this one are those that only say again what the network keeps for ever.
pub const LAST_DEADLINE: Instant = Instant::from_nanos(500_000_000_000);

#[derive(Clone, Debug)]
pub enum Node {
    Replica(Box<ReplicaNode>),
    Coordinator(Box<CoordinatorNode>),
    /// It broke an invariant of its own.
    Panicked(String),
}

#[derive(Clone)]
pub struct ReplicaNode {
    pub machine: Replica,
    settings: ReplicaSettings,
    now: Now,
    /// The records and their places; none are kept where nothing restarts.
    journal: Option<Vec<(u64, Arc<[u8]>)>>,
    /// So far it is durable.
    durable: u64,
}

#[derive(Clone, Debug)]
pub struct CoordinatorNode {
    pub machine: Coordinator,
    pub events: Vec<Event>,
    now: Now,
    proposed: Vec<ProposalId>,
    /// The network loses later proposals of a transaction.
    proposals_max: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Payload {
    Asked(ToReplica),
    Answered(FromReplica),
    Peer(BetweenReplicas),
}

/// Who is to get a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Address {
    Replica(ReplicaId),
    Coordinator(CoordinatorId),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    pub to: Address,
    pub payload: Payload,
}

/// What is left of the records after a restart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kept {
    Durable,
    All,
}

impl Node {
    /// Lets something happen to it, and gives what it says; none if nothing of this kind can happen to it.
    pub fn after(&self, what: impl FnOnce(&mut Node) -> Option<Vec<Message>>) -> Option<(Node, Vec<Message>)> {
        let mut node = self.clone();
        match catch_unwind(AssertUnwindSafe(|| what(&mut node))) {
            Ok(said) => said.map(|said| (node, said)),
            Err(panic) => {
                let text = panic.downcast_ref::<String>().cloned();
                let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
                Some((Node::Panicked(text.unwrap_or_default()), Vec::new()))
            }
        }
    }

    pub fn take(&mut self, payload: &Payload) -> Option<Vec<Message>> {
        match (self, payload) {
            (Node::Replica(node), Payload::Asked(message)) => {
                node.machine.handle(node.now, ReplicaInput::FromCoordinator(message.clone()));
                Some(node.drain())
            }
            (Node::Replica(node), Payload::Peer(message)) => {
                node.machine.handle(node.now, ReplicaInput::FromPeer(message.clone()));
                Some(node.drain())
            }
            (Node::Coordinator(node), Payload::Answered(message)) => {
                node.machine.handle(node.now, CoordinatorInput::FromReplica(message.clone()));
                Some(node.drain())
            }
            _ => None,
        }
    }

    pub fn submit(&mut self, request: RequestId, transaction: &Transaction) -> Option<Vec<Message>> {
        let Node::Coordinator(node) = self else { return None };
        let request_of = Request::Commit { transaction: transaction.clone(), floor: Timestamp::ZERO, within: None };
        node.machine.handle(node.now, CoordinatorInput::Request(request, request_of));
        Some(node.drain())
    }

    pub fn reach_deadline(&mut self) -> Option<Vec<Message>> {
        match self {
            Node::Replica(node) => {
                node.now.instant = node.machine.deadline().filter(|at| *at < LAST_DEADLINE)?.max(node.now.instant);
                node.machine.on_deadline(node.now);
                Some(node.drain())
            }
            Node::Coordinator(node) => {
                node.now.instant = node.machine.deadline().filter(|at| *at < LAST_DEADLINE)?.max(node.now.instant);
                node.machine.on_deadline(node.now);
                Some(node.drain())
            }
            Node::Panicked(_) => None,
        }
    }

    pub fn begin_view_change(&mut self) -> Option<Vec<Message>> {
        let Node::Replica(node) = self else { return None };
        node.machine.begin_view_change(node.now);
        Some(node.drain())
    }

    pub fn restart(&mut self, kept: Kept) -> Option<Vec<Message>> {
        let Node::Replica(node) = self else { return None };
        let mut journal = node.journal.take()?;
        journal.retain(|(place, _)| kept == Kept::All || *place <= node.durable);
        // Places begin anew.
        journal.iter_mut().for_each(|(place, _)| *place = 0);
        let settings = ReplicaSettings { boot: Boot(node.settings.boot.0 + 1), ..node.settings.clone() };
        let machine = recovered(&settings, &journal);
        **node = ReplicaNode { machine, settings, now: node.now, journal: Some(journal), durable: 0 };
        Some(node.drain())
    }
}

impl ReplicaNode {
    pub fn new(settings: ReplicaSettings, now: Now, journal: Option<Vec<(u64, Arc<[u8]>)>>) -> ReplicaNode {
        let machine = Replica::new(settings.clone());
        ReplicaNode { machine, settings, now, journal, durable: 0 }
    }

    fn drain(&mut self) -> Vec<Message> {
        let mut said = Vec::new();
        while let Some(output) = self.machine.poll() {
            match output {
                ReplicaOutput::Persist { id, record } => self.write(id.0, record.into()),
                ReplicaOutput::Reply { after, message } => {
                    self.durable = self.durable.max(after.0);
                    said.push(Message { to: Address::Coordinator(message.to), payload: Payload::Answered(message) });
                }
                ReplicaOutput::ToPeer { after, message } => {
                    self.durable = self.durable.max(after.0);
                    said.push(Message { to: Address::Replica(message.to), payload: Payload::Peer(message) });
                }
            }
        }
        self.machine.validate();
        said
    }

    /// A record that is there already, and changes nothing of what a restart gives, is not written again: a message that comes again and again
    /// would make a new state each time.
    fn write(&mut self, place: u64, record: Arc<[u8]>) {
        let Some(journal) = &mut self.journal else { return };
        let is_known = journal.iter().any(|(_, known)| *known == record);
        let before = is_known.then(|| fingerprint(&recovered(&self.settings, journal)));
        journal.push((place, record));
        if before.is_some_and(|before| fingerprint(&recovered(&self.settings, journal)) == before) {
            journal.pop();
        }
    }
}

fn recovered(settings: &ReplicaSettings, journal: &[(u64, Arc<[u8]>)]) -> Replica {
    let records = journal.iter().map(|(_, record)| record);
    Replica::recover(settings.clone(), Vec::<Vec<u8>>::new(), records).expect("they are its own")
}

/// Without the places of records: a machine counts them, and never looks at the count.
impl fmt::Debug for ReplicaNode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let journal = self.journal.iter().flatten().map(|(place, record)| (*place <= self.durable, record));
        let journal: Vec<(bool, &Arc<[u8]>)> = journal.collect();
        f.debug_struct("ReplicaNode")
            .field("machine", &self.machine)
            .field("boot", &self.settings.boot)
            .field("now", &self.now)
            .field("journal", &journal)
            .finish()
    }
}

impl CoordinatorNode {
    pub fn new(machine: Coordinator, now: Now, proposals_max: usize) -> CoordinatorNode {
        CoordinatorNode { machine, events: Vec::new(), now, proposed: Vec::new(), proposals_max }
    }

    pub fn drain(&mut self) -> Vec<Message> {
        let mut said = Vec::new();
        while let Some(output) = self.machine.poll() {
            match output {
                CoordinatorOutput::Event(event) => self.events.push(event),
                CoordinatorOutput::ToReplica { to, message } => {
                    if self.may_say(&message.ask) {
                        said.push(Message { to: Address::Replica(to), payload: Payload::Asked(message) });
                    }
                }
                CoordinatorOutput::Superseded { term } => panic!("nobody else has its id: {term:?}"),
            }
        }
        self.machine.validate();
        said
    }

    fn may_say(&mut self, ask: &Ask) -> bool {
        let Ask::Prepare { proposal, .. } = ask else { return true };
        let id = proposal.id;
        if self.proposed.contains(&id) {
            return true;
        }
        let before = self.proposed.iter().filter(|other| other.transaction == id.transaction).count();
        if before < self.proposals_max {
            self.proposed.push(id);
        }
        before < self.proposals_max
    }
}
