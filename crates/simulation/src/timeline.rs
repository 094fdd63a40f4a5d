//! What became of some transactions, step by step, for people: who was given what, who proposed it when, who voted how, who was told.
//!
//! A run is the same every time, so a first run finds which transactions are worth it, and a second one writes them down.

mod words;

use std::collections::BTreeSet;

use iolite_replication::journal::JournalRecord;
use iolite_replication::node::{Ask, ProposalId, RecordedEntry, ReplicaId, ToReplica};
use iolite_store::Completion;
use iolite_values::{CoordinatorId, Timestamp, Transaction, TransactionId};

use crate::history::Moment;

pub use words::tell;

#[derive(Debug, Default)]
pub struct Timeline {
    watched: BTreeSet<TransactionId>,
    now: Moment,
    events: Vec<(Moment, Event)>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Event {
    /// A client's mutation reached a gateway.
    Given { gateway: CoordinatorId, transaction: Transaction, clock: Timestamp },
    /// The first `Prepare` of a proposal to each of these.
    Proposed { gateway: CoordinatorId, id: ProposalId, to: Vec<ReplicaId> },
    /// A replica wrote down where it stands.
    Recorded { replica: ReplicaId, entry: RecordedEntry },
    /// A replica that decides alone wrote down what it decided.
    Decided { replica: ReplicaId, transaction: TransactionId, at: Timestamp },
    /// A gateway was told the outcome by its coordinator.
    Told { gateway: CoordinatorId, transaction: TransactionId, completion: Completion },
}

impl Timeline {
    /// Of these transactions.
    pub fn of(watched: BTreeSet<TransactionId>) -> Timeline {
        Timeline { watched, ..Timeline::default() }
    }

    pub fn set_now(&mut self, now: Moment) {
        self.now = now;
    }

    pub fn note_submission(&mut self, gateway: CoordinatorId, transaction: &Transaction, clock: Timestamp) {
        if self.watched.contains(&transaction.id) {
            self.note(Event::Given { gateway, transaction: transaction.clone(), clock });
        }
    }

    pub fn note_report(&mut self, gateway: CoordinatorId, transaction: TransactionId, completion: &Completion) {
        if self.watched.contains(&transaction) {
            self.note(Event::Told { gateway, transaction, completion: completion.clone() });
        }
    }

    pub fn note_message(&mut self, to: ReplicaId, message: &ToReplica) {
        let Ask::Prepare { proposal, .. } = &message.ask else { return };
        if !self.watched.contains(&proposal.id.transaction) {
            return;
        }
        let proposed = self.events.iter_mut().rev().find_map(|(_, event)| match event {
            Event::Proposed { id, to, .. } if *id == proposal.id => Some(to),
            _ => None,
        });
        match proposed {
            Some(known) if known.contains(&to) => {}
            Some(known) => known.push(to),
            None => self.note(Event::Proposed { gateway: message.from, id: proposal.id, to: vec![to] }),
        }
    }

    pub fn note_record(&mut self, replica: ReplicaId, record: &JournalRecord) {
        match record {
            JournalRecord::Entry(entry) => self.note_entry(replica, entry),
            JournalRecord::Master(part) => part.entries.iter().for_each(|entry| self.note_entry(replica, entry)),
            JournalRecord::Completed(own) if self.watched.contains(&own.transaction) => {
                self.note(Event::Decided { replica, transaction: own.transaction, at: own.at });
            }
            JournalRecord::Completed(_)
            | JournalRecord::Acknowledged { .. }
            | JournalRecord::Ceiling(_)
            | JournalRecord::Term { .. }
            | JournalRecord::Joined(_)
            | JournalRecord::Superseded
            | JournalRecord::Complete(_)
            | JournalRecord::Snapshot(_)
            | JournalRecord::Configured(_)
            | JournalRecord::Split(_) => {}
        }
    }

    fn note_entry(&mut self, replica: ReplicaId, entry: &RecordedEntry) {
        if self.watched.contains(&entry.id.transaction) {
            self.note(Event::Recorded { replica, entry: entry.clone() });
        }
    }

    fn note(&mut self, event: Event) {
        self.events.push((self.now, event));
    }
}
