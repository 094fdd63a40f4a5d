//! What happened in a run, as the world saw it: what was called and when, what clients were told and shown, what the store's disk holds.

use std::collections::{BTreeMap, BTreeSet};

use iolite_client::{CallStatus, Ticket, View};
use iolite_engine::Position;
use iolite_replication::journal::JournalRecord;
use iolite_values::{ClientId, Counter, Timestamp};

use crate::app::{Call, Watcher};

/// A client of the run.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct ClientIndex(pub usize);

/// A mutation of a run.
pub type Issued = (ClientIndex, Counter);

/// Virtual nanoseconds since the run's beginning.
pub type Moment = u64;

#[derive(Debug, Default)]
pub struct History {
    pub calls: BTreeMap<Issued, Called>,
    pub identities: BTreeMap<ClientId, ClientIndex>,
    /// The calls of tabs that did not lead.
    pub tickets: BTreeMap<Ticket, TicketCall>,
    pub sightings: Vec<Sighting>,
    /// The store's journal, as far as it survived.
    pub journal: BTreeMap<Position, JournalRecord>,
    /// The last record that was reported durable.
    pub durable: Option<Position>,
}

#[derive(Debug)]
pub struct Called {
    pub call: Call,
    pub at: Moment,
    /// The life of the client that queued it.
    pub life: u64,
    /// A client said that it will be sent.
    pub durable: bool,
    pub end: Option<End>,
}

/// A call of a tab that did not lead.
#[derive(Debug)]
pub struct TicketCall {
    pub client: ClientIndex,
    pub call: Call,
    pub at: Moment,
    /// The tab said that it will be sent.
    pub stored: bool,
    /// Under which counters it was in the queue. (More than one after a leader was lost before it had stored the first.)
    pub counters: BTreeSet<Counter>,
    /// What tabs were told of its end.
    pub told: Vec<CallStatus>,
}

impl TicketCall {
    pub fn new(client: ClientIndex, call: Call, at: Moment) -> TicketCall {
        TicketCall { client, call, at, stored: false, counters: BTreeSet::new(), told: Vec::new() }
    }
}

/// What a client said at last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct End {
    pub at: Moment,
    pub life: u64,
    pub how: EndedAs,
    /// The timestamp of the client's confirmed state when it said so.
    pub confirmed_through: Timestamp,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EndedAs {
    Confirmed(Timestamp),
    Rejected(String),
    Quarantined(String),
    Cancelled(String),
}

/// A reactive transaction ran, and this is what it saw.
#[derive(Clone, Debug)]
pub struct Sighting {
    pub client: ClientIndex,
    /// Which life of the client.
    pub life: u64,
    pub watcher: Watcher,
    pub view: View,
    /// The timestamp of the confirmed state that it stood on.
    pub at: Timestamp,
    /// The mutations that were pending, in order.
    pub pending: Vec<PendingThen>,
    pub text: String,
    /// The mutations of this client that had been called and had not ended without effect.
    pub alive: BTreeSet<Counter>,
}

#[derive(Clone, Debug)]
pub struct PendingThen {
    pub counter: Counter,
    pub durable: bool,
    pub waits_for_data: bool,
}

impl History {
    /// The store started again, and goes on at `next`: what was written there before is lost.
    pub fn recovered(&mut self, next: Position, records: &[iolite_engine::RecoveredRecord]) {
        let lost = self.journal.split_off(&next);
        if let (Some(durable), Some((first, record))) = (self.durable, lost.first_key_value()) {
            assert!(*first > durable, "a durable record is lost: {record:?} at {first:?}");
        }
        if let Some(durable) = self.durable {
            assert!(next > durable, "the journal goes on at {next:?}, but {durable:?} was durable");
        }
        for record in records {
            let own = self.journal.get(&record.position).map(|own| own.encode());
            assert_eq!(own, Some(Ok(record.bytes.clone())), "a record changed on the disk");
        }
    }
}
