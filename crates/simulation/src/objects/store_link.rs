//! Between tracking and the store: requests that come late, commits in doubt, a feed that stops, a store that begins anew.
//!
//! Invariants: what is in doubt takes effect or not, once; the feed of a server is told in order, from where the last `Ready` began.

use iolite_store::{CommitReply, Event as StoreEvent, Reply, Request, RequestId, Segment};
use iolite_tracking::{Input, OBJECTS_TABLE};
use iolite_values::{CoordinatorId, Id, StoreIncarnation, TableId, Timestamp, Transaction};

use super::happened::ObjectEvent;
use super::names::At;
use super::queue::{Event, NodeEvent};
use super::roughness::{MILLISECOND, SECOND};
use super::world::World;
use crate::history::Moment;

/// A store that cannot tell commits a confirmation: so many of 1,000.
const RECORDED_CONFIRMATIONS: u64 = 50;

impl World {
    fn micros(&self) -> u64 {
        self.moment / 1_000
    }

    /// The oldest timestamp that the store can read at.
    fn oldest(&self) -> Timestamp {
        Timestamp::new(self.moment.saturating_sub(self.rough.kept_for) / 1_000, CoordinatorId::default())
    }

    /// When something arrives that goes between a server and the store.
    fn store_arrival(&mut self, server: usize) -> Moment {
        let late = self.servers[server].store_late_until;
        self.moment.max(late) + self.delay()
    }

    pub fn ask_store(&mut self, server: usize, id: RequestId, request: Request) {
        let Some(store) = self.servers[server].process.as_ref().and_then(|own| own.store) else { return };
        let (at, life) = (self.store_arrival(server), self.servers[server].host.life);
        self.queue.add(at, Event::Asked(server, life, store, id, request));
    }

    pub fn on_asked(&mut self, server: usize, life: u64, store: StoreIncarnation, id: RequestId, request: Request) {
        // The store that was asked is there no more.
        if store != self.store.id {
            return;
        }
        let reply = self.reply(request);
        self.watch_rows();
        let at = self.store_arrival(server);
        let event = NodeEvent::Tracking(Input::Store(StoreEvent::Reply(id, reply)));
        self.queue.add(at, Event::Node(At::Server(server), life, event));
    }

    fn reply(&mut self, request: Request) -> Reply {
        let oldest = self.oldest();
        match request {
            Request::ReadAt { interest, at, limit } => self.store.read(&interest, at, limit, oldest),
            Request::Validate { transaction, attempt, snapshot, reads, floor: _ } => {
                if !self.healing && self.random.chance(RECORDED_CONFIRMATIONS) {
                    let (level, decision) = (iolite_values::Level::Strict, iolite_values::Decision::Commit(Vec::new()));
                    let reads = reads.to_vec();
                    let commit = Transaction { id: transaction, attempt, snapshot, reads, level, decision };
                    return Reply::Commit(self.commit(commit));
                }
                Reply::Validated(self.store.validate(&reads, snapshot, oldest))
            }
            Request::Commit { transaction, floor: _, within: _ } => Reply::Commit(self.commit(transaction)),
            Request::Acknowledge { client, through } => {
                self.store.acknowledge(client, through);
                Reply::Acknowledged
            }
            Request::Changes { .. } | Request::Completions { .. } | Request::LastOutcome { .. } => {
                panic!("tracking asks for nothing of the kind")
            }
        }
    }

    fn commit(&mut self, transaction: Transaction) -> CommitReply {
        let (micros, oldest) = (self.micros(), self.oldest());
        let is_open = !self.healing && !self.store.is_decided(transaction.id);
        if is_open && self.random.chance(self.rough.conflicts) {
            return self.store.refuse(transaction.id);
        }
        if !is_open || !self.random.chance(self.rough.doubts) {
            return self.store.commit(&transaction, micros, oldest);
        }
        self.happened(ObjectEvent::CommitInDoubt);
        let in_doubt = CommitReply::InDoubt { transaction: transaction.id, attempt: transaction.attempt };
        if self.random.chance(500) {
            self.store.commit(&transaction, micros, oldest);
        } else {
            let at = self.moment + self.random.below(3 * SECOND);
            self.queue.add(at, Event::Late(self.store.id, transaction));
        }
        in_doubt
    }

    pub fn on_late(&mut self, store: StoreIncarnation, transaction: &Transaction) {
        if store == self.store.id {
            let (micros, oldest) = (self.micros(), self.oldest());
            self.store.commit(transaction, micros, oldest);
            self.watch_rows();
        }
    }

    /// Something of the feed, in its order.
    fn feed(&mut self, server: usize, event: StoreEvent) {
        let at = self.store_arrival(server);
        let Some(own) = &mut self.servers[server].process else { return };
        own.fed_at = own.fed_at.max(at) + 1;
        let after = own.fed_at - self.moment;
        self.later(At::Server(server), after, NodeEvent::Tracking(Input::Store(event)));
    }

    /// The store is there, perhaps with another history than before.
    pub fn store_ready(&mut self, server: usize) {
        let resolved = self.store.resolve(self.micros());
        if let Some(own) = &mut self.servers[server].process {
            own.position = Some(resolved);
        }
        self.feed(server, StoreEvent::Ready { store: self.store.id, resolved });
    }

    pub fn on_feed(&mut self, server: usize) {
        let most = if self.healing { 60 } else { 150 };
        let again = self.moment + self.random.between(20, most) * MILLISECOND;
        self.queue.add(again, Event::Feed(server));
        let from = self.servers[server].process.as_ref().and_then(|own| own.position);
        let Some(from) = from.filter(|_| self.servers[server].store_late_until <= self.moment) else { return };
        let (commits, to) = (self.store.commits_after(from), self.store.resolve(self.micros()));
        if let Some(own) = &mut self.servers[server].process {
            own.position = Some(to);
        }
        self.feed(server, StoreEvent::Feed(Segment { from, to, commits }));
    }

    /// Another store takes the place of this one: it has the rows of objects as they were a while ago, and no nodes.
    pub fn restore(&mut self) {
        let back = self.random.between(0, 10) * SECOND;
        let at = Timestamp::end_of(self.moment.saturating_sub(back) / 1_000);
        let id = StoreIncarnation(Id::from_u128(self.random.id()));
        self.store.resolve(self.micros());
        self.store = self.store.restored(id, &[TableId::of(OBJECTS_TABLE)], at);
        self.watch_rows();
        self.happened(ObjectEvent::Restored);
        self.restored = self.moment;
        for server in 0..self.servers.len() {
            self.store_ready(server);
        }
    }
}
