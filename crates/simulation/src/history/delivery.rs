//! The log of delivery: who was told of which commits, who had applied them, and what was said to be delivered, as the world saw it happen.
//!
//! Invariant: entries are in the order in which they happened, also those of one moment.

use std::collections::{BTreeMap, BTreeSet};

use iolite_gateway::SessionId;
use iolite_values::{Cell, ClientId, Counter, StoreIncarnation, Timestamp};

use super::{ClientIndex, Moment};

/// When something happened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct When {
    pub order: u64,
    pub moment: Moment,
}

/// A life of a client that stands on a history of the store.
pub type Life = (ClientIndex, u64, Option<StoreIncarnation>);

/// A gateway before a history of the store.
pub type AtFront = (StoreIncarnation, usize);

#[derive(Debug, Default)]
pub struct DeliveryLog {
    last: u64,
    /// When the feed brought each commit to a gateway, in whichever of its lives.
    pub fed: BTreeMap<(StoreIncarnation, usize, Timestamp), When>,
    pub told: Vec<Told>,
    pub said: Vec<Said>,
    /// How far a client has run all that there is to run, each time that this moved.
    pub applied: BTreeMap<ClientIndex, Vec<Applied>>,
    pub out: Vec<Out>,
    pub sessions: BTreeMap<SessionId, Session>,
    /// The confirmed states that each life of a client went through.
    pub positions: BTreeMap<Life, BTreeSet<Timestamp>>,
    /// When a life of a client had an answer in the delivered view for the first time, as an order.
    pub shown: BTreeMap<Life, u64>,
    /// Own mutations that a client told its app to be delivered, each time.
    pub heard: Vec<(Life, Counter)>,
}

/// A gateway sent what changed since it last sent something.
#[derive(Clone, Debug)]
pub struct Told {
    pub store: StoreIncarnation,
    pub front: usize,
    pub session: SessionId,
    pub client: ClientId,
    /// Above the first and up to the second.
    pub from: Timestamp,
    pub to: Timestamp,
    pub cells: BTreeSet<Cell>,
}

/// A gateway told a client that its commits up to here are delivered.
#[derive(Clone, Debug)]
pub struct Said {
    pub when: When,
    pub store: StoreIncarnation,
    pub front: usize,
    pub client: ClientId,
    pub through: Timestamp,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Applied {
    pub when: When,
    pub life: u64,
    pub store: Option<StoreIncarnation>,
    pub at: Timestamp,
}

/// A gateway had a client out of the set.
#[derive(Clone, Debug)]
pub struct Out {
    pub store: StoreIncarnation,
    pub front: usize,
    pub client: ClientId,
    pub spell: Spell,
}

/// A session at a gateway, from its welcome on.
#[derive(Clone, Debug)]
pub struct Session {
    pub front: usize,
    pub client: ClientId,
    pub spell: Spell,
}

/// From a moment on, and until another one if it has ended.
#[derive(Clone, Copy, Debug)]
pub struct Spell {
    pub from: When,
    pub until: Option<When>,
}

impl Spell {
    pub fn meets(&self, from: When, until: When) -> bool {
        self.from <= until && self.until.is_none_or(|end| end >= from)
    }

    pub fn covers(&self, from: When, until: When) -> bool {
        self.from < from && self.until.is_none_or(|end| end > until)
    }
}

impl DeliveryLog {
    pub fn when(&mut self, moment: Moment) -> When {
        self.last += 1;
        When { order: self.last, moment }
    }

    pub fn note_fed(&mut self, moment: Moment, (store, front): AtFront, at: Timestamp) {
        let when = self.when(moment);
        self.fed.entry((store, front, at)).or_insert(when);
    }

    pub fn note_said(&mut self, moment: Moment, (store, front): AtFront, client: ClientId, through: Timestamp) {
        let when = self.when(moment);
        self.said.push(Said { when, store, front, client, through });
    }

    pub fn session_opened(&mut self, moment: Moment, front: usize, session: SessionId, client: ClientId) {
        let spell = Spell { from: self.when(moment), until: None };
        self.sessions.insert(session, Session { front, client, spell });
    }

    pub fn session_ended(&mut self, moment: Moment, session: SessionId) {
        let end = self.when(moment);
        if let Some(own) = self.sessions.get_mut(&session) {
            own.spell.until.get_or_insert(end);
        }
    }

    pub fn note_out(&mut self, moment: Moment, (store, front): AtFront, client: ClientId) {
        let spell = Spell { from: self.when(moment), until: None };
        self.out.push(Out { store, front, client, spell });
    }

    pub fn note_back(&mut self, moment: Moment, front: usize, client: ClientId) {
        let end = self.when(moment);
        let own = self.out.iter_mut().rev().find(|out| (out.front, out.client) == (front, client));
        if let Some(out) = own {
            out.spell.until.get_or_insert(end);
        }
    }

    /// A gateway's process has ended, and its sessions with it: nobody is out of its set any more.
    pub fn front_ended(&mut self, moment: Moment, front: usize) {
        let end = self.when(moment);
        for session in self.sessions.values_mut().filter(|session| session.front == front) {
            session.spell.until.get_or_insert(end);
        }
        for out in self.out.iter_mut().filter(|out| out.front == front) {
            out.spell.until.get_or_insert(end);
        }
    }

    /// A client has nothing left to run on a state.
    pub fn note_applied(&mut self, moment: Moment, (client, life, store): Life, at: Timestamp) {
        let when = self.when(moment);
        let own = self.applied.entry(client).or_default();
        if own.last().is_none_or(|last| (last.life, last.store, last.at) != (life, store, at)) {
            own.push(Applied { when, life, store, at });
        }
    }

    pub fn note_position(&mut self, life: Life, at: Timestamp) {
        self.positions.entry(life).or_default().insert(at);
    }

    pub fn note_shown(&mut self, life: Life) {
        let order = self.last;
        self.shown.entry(life).or_insert(order);
    }

    /// The state that a life of a client began with.
    pub fn began(&self, life: Life) -> Option<Timestamp> {
        self.positions.get(&life)?.first().copied()
    }

    /// The state that a life of a client had before the one that brought this timestamp.
    pub fn before(&self, life: Life, at: Timestamp) -> Option<Timestamp> {
        self.positions.get(&life)?.range(..at).next_back().copied()
    }
}
