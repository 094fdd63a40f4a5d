//! Connections to `/blobs`: let in as those to `/sync` are, and then served by a session of `crates/blobs` each.
//!
//! Invariants: a connection is served once the store is there and its leases are read. A client has one connection: the newest.
//! A connection on which nothing is said is closed, and its client makes another one when there is work.

use std::collections::{BTreeMap, BTreeSet};

use iolite_access::{AccessError, Identity};
use iolite_blobs::{Around, CheckedPut, Effect, Session, SessionInput, Ticket};
use iolite_machine::{Instant, Now};
use iolite_store::RequestId;
use iolite_values::{ClientId, Counter, Timestamp};
use iolite_wire::blobs::{BLOB_PROTOCOL_VERSION, BlobHello, BlobRefusal, BlobReply, BlobRequest};

use crate::Gateway;
use crate::blobs::leases::KnownLeases;
use crate::blobs::quotas::Quotas;
use crate::blobs::revoking::Revoking;
use crate::blobs::rows::CellRead;
use crate::interface::{BlobInput, BlobLink, BlobOutput, BlobRoom, Output};
use crate::limits;
use crate::sessions::farewell::Farewell;
use crate::sessions::greeting::{Greeted, ends_at};
use crate::sessions::revoked::Revocation;
use crate::sessions::session::Outbound;
use crate::sessions::timers::Timers;
use crate::size;

const NOT_OPEN: &str = "say hello, and wait for the welcome before anything else";

/// All that a gateway keeps for blobs.
#[derive(Debug, Default)]
pub struct Blobs {
    pub leases: KnownLeases,
    pub links: BTreeMap<BlobLink, Link>,
    /// The connection of each client that was let in.
    pub of_clients: BTreeMap<ClientId, BlobLink>,
    pub timers: Timers<BlobLink>,
    /// Rows of leases and seals that are being committed, and who is told.
    pub commits: BTreeMap<Counter, (BlobLink, Ticket)>,
    /// Rows that are committed, and are told when the feed contains them.
    pub committed: BTreeSet<(Timestamp, BlobLink, Ticket)>,
    pub reads: BTreeMap<RequestId, CellRead>,
    /// Whether the store of chunks has room.
    pub room: BlobRoom,
    pub revoking: Revoking,
    pub quotas: Quotas,
}

/// A connection to `/blobs`.
#[derive(Debug)]
pub struct Link {
    phase: Phase,
    /// When something was last heard of it.
    heard: Instant,
    /// The session's random bytes.
    seed: [u8; 16],
    outbound: Outbound,
}

#[derive(Debug)]
enum Phase {
    Greeting,
    /// The client is let in, and waits for the store.
    Held(Client),
    Open(Client, Box<Session>),
}

#[derive(Clone, Debug)]
struct Client {
    name: ClientId,
    identity: Identity,
    /// When it has to go, if its token runs out.
    ends: Option<Instant>,
}

impl Link {
    fn deadline(&self, silence: std::time::Duration) -> Instant {
        let due = match self.phase {
            Phase::Greeting | Phase::Held(_) => self.heard + limits::GREETING_TIME_MAX,
            Phase::Open(..) => self.heard + silence,
        };
        self.client().and_then(|client| client.ends).map_or(due, |ends| due.min(ends))
    }

    fn client(&self) -> Option<&Client> {
        match &self.phase {
            Phase::Greeting => None,
            Phase::Held(client) | Phase::Open(client, _) => Some(client),
        }
    }

    fn has_ended(&self, now: Now) -> bool {
        self.client().and_then(|client| client.ends).is_some_and(|ends| ends <= now.instant)
    }

    /// The identity that it speaks for, once it has said so.
    pub fn identity(&self) -> Option<&Identity> {
        self.client().map(|client| &client.identity)
    }
}

impl Gateway {
    pub(crate) fn on_blobs(&mut self, now: Now, link: BlobLink, input: BlobInput) {
        match input {
            BlobInput::Opened(seed) => {
                let own = Link { phase: Phase::Greeting, heard: now.instant, seed, outbound: Outbound::default() };
                self.blobs.timers.set(link, own.deadline(self.settings.limits.silence_max));
                let earlier = self.blobs.links.insert(link, own);
                assert!(earlier.is_none(), "the host used blob link {link:?} twice");
            }
            BlobInput::Message(request) => self.on_blob_request(now, link, request),
            BlobInput::Put(put) => self.on_blob_put(now, link, put),
            BlobInput::Garbled(problem) => self.end_link(link, &Farewell::Protocol(problem)),
            BlobInput::Drained(messages) => {
                if let Some(own) = self.blobs.links.get_mut(&link) {
                    own.outbound.drained(messages);
                }
            }
            BlobInput::Closed => self.forget_link(link),
            BlobInput::Done(ticket, done) => self.tell_link(now, link, SessionInput::Done(ticket, done)),
        }
    }

    fn on_blob_request(&mut self, now: Now, link: BlobLink, request: BlobRequest) {
        let Some(own) = self.blobs.links.get_mut(&link) else { return };
        own.heard = now.instant;
        match (&own.phase, request) {
            (Phase::Greeting, BlobRequest::Hello(hello)) => self.on_blob_hello(now, link, hello),
            (Phase::Greeting | Phase::Held(_), _) => {
                self.end_link(link, &Farewell::Protocol(NOT_OPEN.into()));
            }
            // Its client asks again in a while.
            (Phase::Open(..), BlobRequest::Lease) if self.blobs.room == BlobRoom::Counting => {
                self.say_blob(link, BlobReply::Refused(BlobRefusal::Unavailable));
            }
            (Phase::Open(..), request) => self.tell_link(now, link, SessionInput::Request(request)),
        }
    }

    fn on_blob_put(&mut self, now: Now, link: BlobLink, put: CheckedPut) {
        let Some(own) = self.blobs.links.get_mut(&link) else { return };
        own.heard = now.instant;
        match own.phase {
            Phase::Greeting | Phase::Held(_) => self.end_link(link, &Farewell::Protocol(NOT_OPEN.into())),
            Phase::Open(..) => self.tell_link(now, link, SessionInput::Put(put)),
        }
    }

    fn on_blob_hello(&mut self, now: Now, link: BlobLink, hello: BlobHello) {
        let BlobHello { oldest_version, newest_version, token, client } = hello;
        let said = Greeted { oldest_version, newest_version, token: &token };
        match self.check_hello(now, &said, "blob", BLOB_PROTOCOL_VERSION..=BLOB_PROTOCOL_VERSION) {
            Err(farewell) => self.end_link(link, &farewell),
            Ok(_) if !self.settings.has_blob_store => {
                let problem = "this gateway has no store for blobs: its operator names one by `store`, under [blobs]";
                self.end_link(link, &Farewell::Unavailable(problem.into()));
            }
            Ok(identity) => {
                let Some(own) = self.blobs.links.get_mut(&link) else { return };
                let (name, ends) = (identity.client(client), ends_at(&identity, now));
                own.phase = Phase::Held(Client { name, identity, ends });
                self.blobs.timers.set(link, own.deadline(self.settings.limits.silence_max));
                self.read_leases();
                self.open_link(now, link);
            }
        }
    }

    /// Looks again at all that wait for the store and its leases.
    pub(crate) fn retry_held_links(&mut self, now: Now) {
        let held = |(link, own): (&BlobLink, &Link)| matches!(own.phase, Phase::Held(_)).then_some(*link);
        for link in self.blobs.links.iter().filter_map(held).collect::<Vec<_>>() {
            self.open_link(now, link);
        }
    }

    fn open_link(&mut self, now: Now, link: BlobLink) {
        let (Some(store), Some(_)) = (self.home.serving(), self.blobs.leases.known()) else { return };
        let Some(own) = self.blobs.links.get_mut(&link) else { return };
        let Phase::Held(client) = &own.phase else { return };
        match self.revoked.judge(&client.identity) {
            Revocation::None => {}
            Revocation::Unknown => return self.read_access(),
            Revocation::Revoked => {
                let error = client.identity.revoked();
                return self.end_link(link, &Farewell::Unauthorized(error));
            }
        }
        let (name, client) = (client.name, client.clone());
        own.phase = Phase::Open(client, Box::new(Session::new(name, store, own.seed)));
        if let Some(earlier) = self.blobs.of_clients.insert(name, link) {
            self.end_link(earlier, &Farewell::Replaced);
        }
        self.carry_out(now, link);
    }

    /// Hands something to the session of a connection, if it is still there.
    pub(crate) fn tell_link(&mut self, now: Now, link: BlobLink, input: SessionInput) {
        let Some(Link { phase: Phase::Open(client, session), .. }) = self.blobs.links.get_mut(&link) else { return };
        let Some(leases) = self.blobs.leases.known() else { return };
        let is_ruled = client.identity.user().is_some() && self.catalog.rights().is_some();
        session.handle(now, input, Around { leases, is_full: self.blobs.room == BlobRoom::Full, is_ruled });
        self.carry_out(now, link);
        self.end_if_slow(link);
    }

    fn carry_out(&mut self, now: Now, link: BlobLink) {
        while let Some(Link { phase: Phase::Open(client, session), .. }) = self.blobs.links.get_mut(&link) {
            let Some(effect) = session.poll() else { return };
            match effect {
                Effect::Send(reply) => self.say_blob(link, reply),
                Effect::Store(ticket, object, content) => {
                    self.store_chunk(now, link, ticket, object, content);
                }
                Effect::Load(ticket, object) => self.output(Output::Blobs(link, BlobOutput::Load(ticket, object))),
                Effect::Look(ticket, object) => self.output(Output::Blobs(link, BlobOutput::Look(ticket, object))),
                Effect::Commit(ticket, commit) => self.commit_row(link, ticket, commit),
                Effect::ReadCell(ticket, cell) => {
                    let identity = client.identity.clone();
                    self.read_cell(now, &identity, link, ticket, cell);
                }
                Effect::End => {
                    self.output(Output::Blobs(link, BlobOutput::Close));
                    self.forget_link(link);
                }
            }
        }
    }

    /// Looks after a connection whose timer has come.
    pub(crate) fn on_link_timer(&mut self, now: Now, link: BlobLink) {
        let Some(own) = self.blobs.links.get(&link) else { return };
        let deadline = own.deadline(self.settings.limits.silence_max);
        if deadline > now.instant {
            return self.blobs.timers.set(link, deadline);
        }
        let farewell = match own.phase {
            _ if own.has_ended(now) => Farewell::Unauthorized(AccessError::Expired),
            Phase::Greeting => Farewell::GreetingTooLong,
            Phase::Held(_) => Farewell::Unavailable("the store is not there yet".into()),
            Phase::Open(..) => Farewell::Unavailable("nothing was asked for: come back when there is work".into()),
        };
        self.end_link(link, &farewell);
    }

    /// The store has started again: its leases may be others.
    pub(crate) fn end_links(&mut self) {
        for link in self.blobs.links.keys().copied().collect::<Vec<_>>() {
            let has_begun = !matches!(self.blobs.links.get(&link).map(|own| &own.phase), Some(Phase::Greeting) | None);
            if has_begun {
                self.end_link(link, &Farewell::Unavailable("the store has started again: come back".into()));
            }
        }
        self.blobs.leases = KnownLeases::Unread;
        self.blobs.commits.clear();
        self.blobs.committed.clear();
        self.blobs.revoking = Revoking::default();
        self.blobs.reads.clear();
        self.blobs.quotas.clear();
    }

    pub(crate) fn end_link(&mut self, link: BlobLink, farewell: &Farewell) {
        if self.blobs.links.contains_key(&link) {
            self.say_blob(link, BlobReply::Goodbye(farewell.goodbye()));
            self.output(Output::Blobs(link, BlobOutput::Close));
            self.forget_link(link);
        }
    }

    /// Forgets a connection. Its commits go on, and nobody is told.
    fn forget_link(&mut self, link: BlobLink) {
        self.blobs.timers.clear(link);
        let Some(own) = self.blobs.links.remove(&link) else { return };
        if let Phase::Open(client, _) = own.phase
            && self.blobs.of_clients.get(&client.name) == Some(&link)
        {
            self.blobs.of_clients.remove(&client.name);
        }
        let of_link = self.blobs.reads.iter().filter(|(_, read)| read.link == link).map(|(request, _)| *request);
        let reads: Vec<RequestId> = of_link.collect();
        reads.iter().for_each(|request| drop(self.blobs.reads.remove(request)));
        self.give_up(reads);
        let reads = self.blobs.quotas.take_reads(link);
        self.give_up(reads);
    }

    fn say_blob(&mut self, link: BlobLink, reply: BlobReply) {
        let Some(own) = self.blobs.links.get_mut(&link) else { return };
        own.outbound.push(size::blob_reply(&reply));
        self.output(Output::Blobs(link, BlobOutput::Send(reply)));
    }

    /// Ends a connection that asks and does not read.
    fn end_if_slow(&mut self, link: BlobLink) {
        let most = self.settings.limits.undrained_bytes_max;
        if self.blobs.links.get(&link).is_some_and(|own| own.outbound.bytes() > most) {
            self.end_link(link, &Farewell::Slow);
        }
    }

    /// The client that a connection is of, if it is served.
    pub(crate) fn client_of_link(&self, link: BlobLink) -> Option<ClientId> {
        match &self.blobs.links.get(&link)?.phase {
            Phase::Open(client, _) => Some(client.name),
            Phase::Greeting | Phase::Held(_) => None,
        }
    }

    pub(crate) fn check_links(&self) {
        assert_eq!(self.blobs.timers.len(), self.blobs.links.len(), "every blob link is looked after");
        for (client, link) in &self.blobs.of_clients {
            assert_eq!(self.client_of_link(*link), Some(*client), "a client's link is served");
        }
        let position = self.position();
        let is_late = |(at, _, _): &(Timestamp, BlobLink, Ticket)| *at <= position;
        assert!(!self.blobs.committed.iter().any(is_late), "a commit is told when the feed contains it");
    }
}
