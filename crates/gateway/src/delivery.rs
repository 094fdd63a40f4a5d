//! Delivery: who has applied which commits, and what the clients that made these are told of it.
//!
//! Invariant: a client is told that its commits up to a timestamp are delivered only when everybody in the set of members has applied them. A client is in
//! the set while it owes nothing for longer than [`limits::DELIVERED_WITHIN`].
//!
//! A commit to a table with the delivered view is owed by every client to which the feed brings it, but for the one that made it. A client that has
//! applied an advance says so, and owes nothing up to there. A client that is gone goes on owing: it may come back.
//! Source: Hercules (Lebeck 2020, sections 3.4.5 and 3.4.6).

use std::collections::{BTreeMap, BTreeSet};

use iolite_machine::{Instant, Now};
use iolite_store::Commit;
use iolite_values::{ClientId, Timestamp};

use crate::following::load::News;
use crate::following::queries::Turnover;
use crate::interface::Broken;
use crate::sessions::farewell::Farewell;
use crate::sessions::session::Open;
use crate::{Gateway, SessionId, limits};

/// A commit, by its timestamp and the client that made it.
type Name = (Timestamp, ClientId);

#[derive(Debug, Default)]
pub struct Delivery {
    owed: BTreeMap<Name, Owed>,
    /// The same by the client that owes it. No set is empty.
    by_debtor: BTreeMap<ClientId, BTreeSet<Name>>,
    /// The same by the client that made it. No set is empty.
    by_author: BTreeMap<ClientId, BTreeSet<Name>>,
    /// The clients with a session that are out of the set, each with the position as of which it was taken out.
    out: BTreeMap<ClientId, Timestamp>,
    silence: Silence,
}

/// Whether clients that come back are told nothing yet: members may owe what an earlier life of the gateway told them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Silence {
    /// No session was there yet: the silence begins with the first one.
    #[default]
    Ahead,
    Until(Instant),
    Over,
}

/// A commit that is not delivered yet.
#[derive(Debug)]
struct Owed {
    since: Instant,
    /// Not empty.
    by: BTreeSet<ClientId>,
}

impl Delivery {
    /// When somebody has owed something for too long, or the silence of a gateway that has just begun is over.
    pub fn deadline(&self) -> Option<Instant> {
        let first = self.owed.values().next().map(|own| own.since + limits::DELIVERED_WITHIN);
        let silence = match self.silence {
            Silence::Until(end) => Some(end),
            Silence::Ahead | Silence::Over => None,
        };
        first.into_iter().chain(silence).min()
    }

    /// The commits of a client up to here are delivered, of those at or below the position.
    pub fn delivered(&self, author: ClientId, position: Timestamp) -> Timestamp {
        let first = self.by_author.get(&author).and_then(BTreeSet::first);
        first.map_or(position, |(at, _)| position.min(Timestamp::from_u64(at.as_u64().saturating_sub(1))))
    }

    /// Whether nobody waits for a client, though it has a session.
    pub fn is_out(&self, client: ClientId) -> bool {
        self.out.contains_key(&client)
    }

    /// Whether somebody waits until a client has applied what it is told up to here.
    pub fn is_awaited(&self, client: ClientId, to: Timestamp) -> bool {
        let first = self.by_debtor.get(&client).and_then(BTreeSet::first);
        first.is_some_and(|(at, _)| *at <= to) || self.out.contains_key(&client)
    }

    fn add(&mut self, name: Name, since: Instant, by: BTreeSet<ClientId>) {
        for client in &by {
            self.by_debtor.entry(*client).or_default().insert(name);
        }
        self.by_author.entry(name.1).or_default().insert(name);
        self.owed.insert(name, Owed { since, by });
    }

    /// A client owes no commit up to here any more. Returns those who made a commit that nobody owes now.
    fn settle(&mut self, client: ClientId, to: Timestamp) -> BTreeSet<ClientId> {
        let mut moved = BTreeSet::new();
        let mut debts = self.by_debtor.remove(&client).unwrap_or_default();
        while let Some(name) = debts.pop_first() {
            if name.0 > to {
                debts.insert(name);
                break;
            }
            let Some(owed) = self.owed.get_mut(&name) else { continue };
            owed.by.remove(&client);
            if owed.by.is_empty() {
                self.owed.remove(&name);
                self.forget_author(name);
                moved.insert(name.1);
            }
        }
        if !debts.is_empty() {
            self.by_debtor.insert(client, debts);
        }
        moved
    }

    fn forget_author(&mut self, name: Name) {
        let Some(own) = self.by_author.get_mut(&name.1) else { return };
        own.remove(&name);
        if own.is_empty() {
            self.by_author.remove(&name.1);
        }
    }

    /// The clients that have owed a commit for too long.
    fn late(&self, now: Instant) -> BTreeSet<ClientId> {
        let late = self.owed.values().take_while(|own| own.since + limits::DELIVERED_WITHIN <= now);
        late.flat_map(|own| own.by.iter().copied()).collect()
    }

    /// A client has no session any more. It is no member of what is committed from now on, whatever it was before.
    pub fn session_ended(&mut self, client: ClientId) {
        self.out.remove(&client);
    }

    pub fn validate(&self, has_session: impl Fn(ClientId) -> bool) {
        assert!(self.out.keys().all(|client| has_session(*client)), "nothing is kept of who is gone for good");
        let mut debts = 0;
        for (name, own) in &self.owed {
            assert!(!own.by.is_empty(), "a commit that nobody owes is delivered");
            assert!(own.by.iter().all(|client| !self.out.contains_key(client)), "who is out of the set owes nothing");
            assert!(own.by.iter().all(|client| self.by_debtor[client].contains(name)), "who owes it is known to");
            assert!(self.by_author[&name.1].contains(name), "its author waits for it");
            debts += own.by.len();
        }
        assert_eq!(self.by_debtor.values().map(BTreeSet::len).sum::<usize>(), debts, "nobody owes anything else");
        assert_eq!(self.by_author.values().map(BTreeSet::len).sum::<usize>(), self.owed.len(), "nobody waits else");
    }
}

impl Gateway {
    /// The clients with a session that are out of the set: nobody waits until they have applied anything.
    pub fn left_out(&self) -> impl Iterator<Item = ClientId> {
        self.delivery.out.keys().copied()
    }

    /// Notes who owes the commits of a segment, before it is told to anybody.
    pub(crate) fn note_owed(&mut self, now: Now, commits: &[Commit], turnover: &Turnover) {
        let mut moved = BTreeSet::new();
        for commit in commits {
            let schema = self.catalog.schema();
            if !commit.writes.iter().any(|write| schema.is_delivered(write.cell.table)) {
                continue;
            }
            let mut by = self.who_owes(commit, turnover);
            if self.settings.broken == Broken::DeliverToMost {
                by.pop_last();
            }
            let author = commit.transaction.client;
            if by.is_empty() {
                moved.insert(author);
            } else {
                self.delivery.add((commit.at, author), now.instant, by);
            }
        }
        // The advance that brings the segment, or its outcome, tells it.
        for author in moved {
            self.note_delivered(author);
        }
    }

    /// The clients to which a commit is told, or is to be told once they can be: but for who made it, and who is out of the set.
    fn who_owes(&self, commit: &Commit, turnover: &Turnover) -> BTreeSet<ClientId> {
        let schema = self.catalog.schema();
        let mut sessions: BTreeSet<SessionId> = self.told_later().collect();
        for write in commit.writes.iter().filter(|write| schema.is_delivered(write.cell.table)) {
            let place = (write.cell.table, write.cell.row.clone());
            sessions
                .extend(self.concerned(write, turnover.changed.get(&place)).into_iter().map(|(session, _)| session));
            let entered = turnover.entered.get(&place).into_iter().flat_map(|(_, targets)| targets);
            sessions.extend(entered.map(|target| target.session));
        }
        let clients = sessions.into_iter().filter_map(|id| self.open(id).map(|open| open.client));
        clients.filter(|own| *own != commit.transaction.client && !self.delivery.out.contains_key(own)).collect()
    }

    /// Sessions that owe whatever is committed: nothing is built for them now, or they have come back and not said yet what they hold.
    fn told_later(&self) -> impl Iterator<Item = SessionId> {
        let is_told_later = |open: &Open| open.is_behind() || open.is_resuming();
        self.sessions.keys().copied().filter(move |id| self.open(*id).is_some_and(is_told_later))
    }

    /// A client has applied all that it was told up to a timestamp.
    pub(crate) fn on_applied(&mut self, now: Now, id: SessionId, to: Timestamp) {
        let Some(open) = self.open(id) else { return };
        if to > open.seen {
            let problem = "it says that it has applied what it was not sent".to_owned();
            return self.end(id, &Farewell::Protocol(problem));
        }
        let client = open.client;
        self.has_applied(now, client, to);
    }

    /// The same, also of a client that comes back with nothing.
    pub(crate) fn has_applied(&mut self, now: Now, client: ClientId, to: Timestamp) {
        if self.delivery.out.get(&client).is_some_and(|since| *since <= to) {
            self.delivery.out.remove(&client);
            self.note_member(client, true);
        }
        let moved = self.delivery.settle(client, to);
        self.tell_delivered(now, moved);
    }

    /// A session has begun: its client hears how far its commits are delivered, and owes nothing that it did not get.
    pub(crate) fn welcome_member(&mut self, now: Now, id: SessionId) {
        let has_delivered = self.catalog.schema().follows_delivery();
        let Some(open) = self.open(id).filter(|_| has_delivered) else { return };
        let client = open.client;
        let holds_nothing = open.seen == Timestamp::ZERO;
        if self.delivery.silence == Silence::Ahead {
            self.delivery.silence = Silence::Until(now.instant + limits::DELIVERED_WITHIN);
        }
        // Who holds nothing gets it as of the position, or later. Who holds something may not have run on it: it says so when it has.
        if holds_nothing {
            self.has_applied(now, client, self.position());
        }
        self.note_delivered(client);
    }

    /// Takes those out of the set who have owed something for too long.
    pub(crate) fn on_delivery_due(&mut self, now: Now) {
        if let Silence::Until(end) = self.delivery.silence
            && end <= now.instant
        {
            self.delivery.silence = Silence::Over;
            let clients: BTreeSet<ClientId> = self.clients.keys().copied().collect();
            self.tell_delivered(now, clients);
        }
        let mut moved = BTreeSet::new();
        for client in self.delivery.late(now.instant) {
            if self.clients.contains_key(&client) {
                self.delivery.out.insert(client, self.position());
                self.note_member(client, false);
            }
            moved.extend(self.delivery.settle(client, Timestamp::MAX));
        }
        self.tell_delivered(now, moved);
    }

    /// Tells clients how far their commits are delivered.
    fn tell_delivered(&mut self, now: Now, clients: BTreeSet<ClientId>) {
        for client in clients {
            let Some(id) = self.note_delivered(client) else { continue };
            if self.open(id).is_some_and(Open::is_live) {
                self.send_advance(now, id, News::default());
            }
        }
    }

    /// The next advance of a client tells how far its commits are delivered. Returns its session.
    fn note_delivered(&mut self, client: ClientId) -> Option<SessionId> {
        let (id, silence) = (*self.clients.get(&client)?, self.delivery.silence);
        let open = self.open_mut(id)?;
        if open.has_past && silence != Silence::Over {
            return None;
        }
        open.delivered_due = true;
        Some(id)
    }
}
