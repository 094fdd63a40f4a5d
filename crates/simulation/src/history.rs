//! What happened in a run, as the world saw it: what was called and when, what clients were told and shown, what the store's disk holds.

use std::collections::{BTreeMap, BTreeSet};

use iolite_client::{CallStatus, PendingMutation, Ticket, View};
use iolite_engine::Position;
use iolite_machine::Now;
use iolite_replication::journal::JournalRecord;
use iolite_replication::node::{ReplicaId, ShardId};
use iolite_store::{Completion, Request};
use iolite_values::{ClientId, CoordinatorId, Counter, StoreIncarnation, Timestamp, TransactionId};

use crate::app::{Call, SchemaVersion, Watcher};
use crate::centres::{CentresTold, Named, OfCentres};
use crate::rights::RightsTold;
use crate::rows::RowsTold;
use crate::timeline::Timeline;
use crate::world::is_denial;

mod delivery;
mod store_calls;

pub use delivery::{Applied, AtFront, DeliveryLog, Life, Out, Said, Spell, Told, When};
pub use store_calls::{OpenCalls, StoreCalls};

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
    /// Somebody asked to take these back: they may be gone before anybody is told. (Also before anybody is told that they were adopted.)
    pub asked_back: BTreeSet<Issued>,
    pub identities: BTreeMap<ClientId, ClientIndex>,
    /// The calls of tabs that did not lead.
    pub tickets: BTreeMap<Ticket, TicketCall>,
    pub sightings: Vec<Sighting>,
    pub refusals: Vec<Refusal>,
    /// The histories of the store, in the order in which they began. The last one goes on. With several data centres each has one, and all go on.
    pub stores: BTreeMap<StoreIncarnation, StoreHistory>,
    /// Each replica is a store of its own, behind the gateway of the same number.
    pub has_several_centres: bool,
    /// Which version of the app each client was started with last.
    pub versions: BTreeMap<ClientIndex, SchemaVersion>,
    /// What gateways asked of the store that each history is of.
    pub calls_of_stores: BTreeMap<StoreIncarnation, StoreCalls>,
    /// The last mutation of each client that a store was given.
    pub last_given: BTreeMap<ClientId, Counter>,
    /// The telling of the table with the delivered view.
    pub delivery: DeliveryLog,
    /// The world of tables that sync.
    pub rows: RowsTold,
    /// The world of tables that merge.
    pub centres: CentresTold,
    /// The world of rights.
    pub rights: RightsTold,
    pub timeline: Timeline,
}

/// What a store had on its disks, from its first start until its data were lost.
#[derive(Debug, Default)]
pub struct StoreHistory {
    pub replicas: BTreeMap<ReplicaId, ReplicaHistory>,
    /// Of those whose disks are gone for good, what was durable.
    pub lost: Vec<ReplicaHistory>,
}

impl StoreHistory {
    pub fn of_disks(&self) -> impl Iterator<Item = &ReplicaHistory> {
        self.replicas.values().chain(&self.lost)
    }
}

/// What one replica had on its disk.
#[derive(Debug, Default)]
pub struct ReplicaHistory {
    pub shard: ShardId,
    /// Its journal, as far as it survived.
    pub journal: BTreeMap<Position, JournalRecord>,
    /// The last record that was reported durable.
    durable: Option<Position>,
    /// Likewise, before the last sync that made more durable.
    durable_before: Option<Position>,
}

/// What a replica would read from a disk on which a bit has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Noticed {
    Whole,
    /// The last synced batch is missing, or some of it: it looks like a torn end.
    TornEnd,
}

#[derive(Debug)]
pub struct Called {
    pub call: Call,
    pub called_as: CalledAs,
    pub at: Moment,
    /// The life of the client that queued it.
    pub life: u64,
    /// A client said that it will be sent.
    pub durable: bool,
    /// A client said that it will not take effect, as what it needs has no room in the cache.
    pub has_no_room: bool,
    /// The tab's name for it, if it came from one that did not lead.
    pub ticket: Option<Ticket>,
    /// One at most for each history of the store that the client knew; nothing is the one before the first.
    pub ends: BTreeMap<Option<StoreIncarnation>, End>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CalledAs {
    /// By a name, so that it survives a restart of its client.
    Named,
    /// As a closure that goes with the client's process.
    Closure,
}

impl Called {
    pub fn new(call: Call, called_as: CalledAs, at: Moment, life: u64) -> Called {
        let ends = BTreeMap::new();
        Called { call, called_as, at, life, durable: false, has_no_room: false, ticket: None, ends }
    }

    /// Whether it is a call under rights, of the world of tables that merge.
    pub fn is_of_guests(&self) -> bool {
        matches!(&self.call, Call::Centres(Named { what: OfCentres::Guests(_), .. }))
    }

    /// Whether it is kept on its device, and runs once.
    pub fn is_kept(&self) -> bool {
        matches!(&self.call, Call::Rows(call) if call.is_kept())
    }

    /// Ended, and was no closure.
    pub fn has_ended_by_name(&self) -> bool {
        self.called_as == CalledAs::Named && !self.ends.is_empty()
    }

    /// Its process ended before it did: whether it takes effect, and when, nobody promised.
    pub fn is_lost(&self) -> bool {
        self.called_as == CalledAs::Closure && self.ends.is_empty()
    }
}

/// A call of a tab that did not lead.
#[derive(Debug)]
pub struct TicketCall {
    pub client: ClientIndex,
    pub call: Call,
    pub at: Moment,
    /// The tab said that it will be sent.
    pub stored: bool,
    /// The tab asked to take it back.
    pub asked_back: bool,
    /// Under which counters it was in the queue. (More than one after a leader was lost before it had stored the first.)
    pub counters: BTreeSet<Counter>,
    /// What tabs were told of its end.
    pub told: Vec<CallStatus>,
}

impl TicketCall {
    pub fn new(client: ClientIndex, call: Call, at: Moment) -> TicketCall {
        TicketCall { client, call, at, stored: false, asked_back: false, counters: BTreeSet::new(), told: Vec::new() }
    }
}

/// The last words of a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct End {
    pub at: Moment,
    pub life: u64,
    pub how: EndedAs,
    /// The timestamp of the client's confirmed state when it said so.
    pub confirmed_through: Timestamp,
}

/// What a client says of an abort that an earlier life of the app sent.
const ABORTED_EARLIER: &str = "it was aborted before the app was started again";

impl End {
    /// Whether a later report says the same. A client that was started again may not know any more who aborted it, and why.
    pub fn is_as(&self, how: &EndedAs, life: u64) -> bool {
        match (&self.how, how) {
            (EndedAs::Rejected(_), EndedAs::Rejected(_)) if life != self.life => true,
            (EndedAs::Quarantined(_), EndedAs::Rejected(reason)) if life != self.life => reason == ABORTED_EARLIER,
            (EndedAs::Quarantined(first), EndedAs::Quarantined(later)) if life != self.life => {
                first == later || (is_denial(first) && is_denial(later))
            }
            (first, later) => first == later,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EndedAs {
    Confirmed(Timestamp),
    Rejected(String),
    Quarantined(String),
    Cancelled(String),
    /// A person did not keep what it wrote.
    Overruled,
}

/// A reactive transaction ran, and this is what it saw.
#[derive(Clone, Debug)]
pub struct Sighting {
    pub client: ClientIndex,
    /// Which life of the client.
    pub life: u64,
    /// The history of the store that its state was of.
    pub store: Option<StoreIncarnation>,
    /// The version of the app that ran.
    pub version: SchemaVersion,
    pub watcher: Watcher,
    pub view: View,
    /// The timestamp of the confirmed state that it stood on.
    pub at: Timestamp,
    /// The mutations that were pending, in order.
    pub pending: Vec<PendingThen>,
    pub text: String,
    /// The mutations of this client that had been called and had not ended without effect.
    pub alive: BTreeSet<Counter>,
    /// The mutations that this life of the client had been told to be delivered.
    pub heard: BTreeSet<Counter>,
}

/// A reactive transaction failed, because what it needs had no room in its client's cache.
#[derive(Clone, Debug)]
pub struct Refusal {
    pub client: ClientIndex,
    pub store: Option<StoreIncarnation>,
    /// The timestamp of the confirmed state.
    pub at: Timestamp,
    /// All that needed something of the cache: of clients with pending mutations or with tabs nobody else knows it.
    pub needed_by: Option<Vec<Watcher>>,
    pub cache_bytes_max: usize,
}

#[derive(Clone, Debug)]
pub struct PendingThen {
    pub counter: Counter,
    pub durable: bool,
    /// No view shows anything of it: it waits for data, or its client gives it up for want of room.
    pub is_hidden: bool,
}

impl PendingThen {
    pub fn of(pending: &PendingMutation) -> PendingThen {
        let status = &pending.status;
        let has_no_room = status.would_reject.as_deref().is_some_and(is_for_want_of_room);
        let is_hidden = status.waits_for_data || has_no_room;
        PendingThen { counter: pending.counter, durable: status.durable, is_hidden }
    }
}

/// Whether this is why something failed: all that its client's cache is to hold at once does not fit in.
pub fn is_for_want_of_room(reason: &str) -> bool {
    reason.starts_with("what is needed at once takes ")
}

impl History {
    /// A client has drawn its id, or goes on under it. Where users have names, the store knows it by another one.
    pub fn note_device(&mut self, device: ClientId, client: ClientIndex) {
        self.identities.insert(device, client);
        if self.versions.get(&client).is_some_and(|own| own.has_users()) && !self.rights.bound.contains_key(&device) {
            let bound = self.rights.note_device(device, client);
            self.identities.insert(bound, client);
        }
    }

    /// Whether a client was told that a mutation took effect in a history of the store.
    pub fn was_confirmed(&self, mutation: Issued, store: Option<StoreIncarnation>) -> bool {
        let end = self.calls.get(&mutation).and_then(|called| called.ends.get(&store));
        end.is_some_and(|end| matches!(end.how, EndedAs::Confirmed(_)))
    }

    /// Whether its client shows a mutation after a restart, in a history of the store, although it is pending no more. A closure that took effect
    /// is shown again once the confirmed state is there: the storage may be behind, and does not have it.
    pub fn outlives_its_process(&self, mutation: Issued, store: Option<StoreIncarnation>) -> bool {
        self.calls.get(&mutation).is_some_and(Called::has_ended_by_name) && self.was_confirmed(mutation, store)
    }

    /// Whether somebody asked to take a mutation back.
    pub fn was_asked_back(&self, mutation: Issued) -> bool {
        let Some(called) = self.calls.get(&mutation) else { return false };
        self.asked_back.contains(&mutation) || called.ticket.is_some_and(|ticket| self.tickets[&ticket].asked_back)
    }

    /// Whether a mutation is an edit that names units of another one, which somebody asked to take back.
    pub fn stands_on_what_was_taken_back(&self, mutation: Issued) -> bool {
        let Some(Call::Edit(own)) = self.calls.get(&mutation).map(|called| &called.call) else { return false };
        let of_client = self.calls.range((mutation.0, Counter(0))..mutation);
        of_client.into_iter().any(|(other, called)| match &called.call {
            Call::Edit(below) => self.was_asked_back(*other) && own.stands_on(below),
            _ => false,
        })
    }

    /// A replica of a store started: again, with what its disk still holds, or as a new one.
    pub fn recovered(
        &mut self,
        store: StoreIncarnation,
        (replica, shard): (ReplicaId, ShardId),
        next: Position,
        records: &[iolite_engine::RecoveredRecord],
    ) {
        let own = self.stores.entry(store).or_default().replicas.entry(replica).or_default();
        own.shard = shard;
        own.recovered(next, records);
        assert_eq!(self.store_of(replica), store, "an earlier history goes on");
    }

    /// A gateway gave its coordinator something to do.
    ///
    /// # Panics
    /// When it acknowledges for a client what no store can have an outcome of.
    pub fn note_request(&mut self, now: Now, gateway: CoordinatorId, request: &Request) {
        match request {
            Request::Commit { transaction, .. } => {
                let last = self.last_given.entry(transaction.id.client).or_default();
                *last = transaction.id.counter.max(*last);
                self.calls_of(gateway).note_submission(now.instant.as_nanos(), transaction);
                self.timeline.note_submission(gateway, transaction, Timestamp::new(now.wall.as_micros(), gateway));
            }
            Request::Acknowledge { client, through } => {
                let last = self.last_given.get(client).copied().unwrap_or_default();
                assert!(*through <= last, "{through:?} is acknowledged for {client:?}, who has come to {last:?}");
            }
            Request::Validate { .. }
            | Request::ReadAt { .. }
            | Request::Changes { .. }
            | Request::Completions { .. }
            | Request::LastOutcome { .. } => {}
        }
    }

    /// A coordinator told its gateway what became of something.
    pub fn note_report(&mut self, now: Now, gateway: CoordinatorId, own: TransactionId, completion: &Completion) {
        self.calls_of(gateway).note_report(now.instant.as_nanos(), own, completion);
        self.timeline.note_report(gateway, own, completion);
    }

    /// A replica's journal is read from a disk on which a bit has changed; it would go on at `next`.
    ///
    /// # Panics
    /// When something durable is missing from before the last synced batch, or any record reads otherwise than it was written.
    pub fn check_journal(
        &self,
        replica: ReplicaId,
        next: Position,
        records: &[iolite_engine::RecoveredRecord],
    ) -> Noticed {
        let Some(own) = self.stores[&self.store_of(replica)].replicas.get(&replica) else { return Noticed::Whole };
        own.check_records(records);
        if own.durable.is_none_or(|durable| next > durable) {
            return Noticed::Whole;
        }
        let before = own.durable_before;
        assert!(before.is_none_or(|durable| next > durable), "a bit of {before:?} changed, and nobody noticed");
        Noticed::TornEnd
    }

    /// A replica of the store that goes on has lost its disk for good: what was not durable, nobody was told.
    pub fn disk_lost(&mut self, replica: ReplicaId) {
        let store = self.stores.values_mut().next_back().expect("a store was started");
        let Some(mut own) = store.replicas.remove(&replica) else { return };
        match own.durable {
            Some(durable) => own.journal.retain(|position, _| *position <= durable),
            None => own.journal.clear(),
        }
        store.lost.push(own);
    }

    /// The history of the store that goes on.
    pub fn store_going_on(&self) -> StoreIncarnation {
        *self.stores.keys().next_back().expect("a store was started")
    }

    pub fn store_calls(&self, store: StoreIncarnation) -> &StoreCalls {
        static NONE: StoreCalls = StoreCalls::NONE;
        self.calls_of_stores.get(&store).unwrap_or(&NONE)
    }

    /// The history that a replica is of.
    fn store_of(&self, replica: ReplicaId) -> StoreIncarnation {
        let own = self.stores.iter().find(|(_, store)| store.replicas.contains_key(&replica));
        let own = own.filter(|_| self.has_several_centres);
        own.map_or_else(|| self.store_going_on(), |(store, _)| *store)
    }

    /// The history that a gateway stands in front of.
    pub fn store_behind(&self, gateway: usize) -> StoreIncarnation {
        self.store_of(ReplicaId(gateway as u64))
    }

    fn calls_of(&mut self, gateway: CoordinatorId) -> &mut StoreCalls {
        let store = self.store_behind(usize::from(gateway.number()));
        self.calls_of_stores.entry(store).or_default()
    }

    /// A replica of the store that goes on wrote a record.
    pub fn note_record(&mut self, replica: ReplicaId, position: Position, record: JournalRecord) {
        self.timeline.note_record(replica, &record);
        self.going_on(replica).journal.insert(position, record);
    }

    /// A replica of the store that goes on said that its records are durable up to here.
    pub fn note_durable(&mut self, replica: ReplicaId, position: Position) {
        let own = self.going_on(replica);
        if own.durable.is_none_or(|durable| durable < position) {
            own.durable_before = own.durable.replace(position);
        }
    }

    fn going_on(&mut self, replica: ReplicaId) -> &mut ReplicaHistory {
        let store = self.store_of(replica);
        self.stores.entry(store).or_default().replicas.entry(replica).or_default()
    }
}

impl ReplicaHistory {
    /// The replica started again, and goes on at `next`: what was written there before is lost.
    fn recovered(&mut self, next: Position, records: &[iolite_engine::RecoveredRecord]) {
        let lost = self.journal.split_off(&next);
        if let (Some(durable), Some((first, record))) = (self.durable, lost.first_key_value()) {
            assert!(*first > durable, "a durable record is lost: {record:?} at {first:?}");
        }
        if let Some(durable) = self.durable {
            assert!(next > durable, "the journal goes on at {next:?}, but {durable:?} was durable");
        }
        self.check_records(records);
    }

    fn check_records(&self, records: &[iolite_engine::RecoveredRecord]) {
        for record in records {
            let own = self.journal.get(&record.position).map(|own| own.encode());
            assert_eq!(own, Some(Ok(record.bytes.clone())), "a record changed on the disk");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_later_life_may_not_know_who_aborted() {
        let end = |how| End { at: 0, life: 1, how, confirmed_through: Timestamp::ZERO };
        let (by_client, by_app) = (EndedAs::Quarantined("no room".into()), EndedAs::Rejected("too late".into()));
        let unknown = EndedAs::Rejected(ABORTED_EARLIER.into());
        for first in [&by_client, &by_app] {
            assert!(end(first.clone()).is_as(&unknown, 2));
            assert!(!end(first.clone()).is_as(&unknown, 1), "the same life knows it");
            assert!(end(first.clone()).is_as(first, 1));
        }
        assert!(!end(by_client).is_as(&by_app, 2), "somebody else gave it up, and says why");
        assert!(!end(by_app).is_as(&EndedAs::Cancelled("gone".into()), 2));
    }
}
