//! From hello to welcome: version, token, store, schema, in this order.
//!
//! Invariants: the id of a client belongs to one user, since it is made of who that is: docs/protocols/session.md. An open session has seen nothing above the gateway's position: one that has, on another gateway or before a restart, is held
//! until the feed is there. So is one that has seen another data centre, until all of that is here.

use std::ops::RangeInclusive;

use iolite_access::Identity;
use iolite_catalog::Admission;
use iolite_machine::{Instant, Now};
use iolite_values::{Schema, StoreIncarnation, Timestamp};
use iolite_wire::centres::CentreNews;
use iolite_wire::message::{FromGateway, Hello, ProtocolVersion, Welcome};

use crate::limits;
use crate::sessions::farewell::Farewell;
use crate::sessions::revoked::Revocation;
use crate::sessions::session::{Guest, Open, Phase};
use crate::{Broken, Gateway, SessionId};

/// The part of a hello that is the same wherever it is said.
pub struct Greeted<'a> {
    pub oldest_version: ProtocolVersion,
    pub newest_version: ProtocolVersion,
    pub token: &'a str,
}

impl Gateway {
    pub(crate) fn on_hello(&mut self, now: Now, id: SessionId, hello: Hello) {
        let Some(session) = self.sessions.get_mut(&id) else { return };
        match session.phase {
            Phase::Greeting => {}
            Phase::Held(_) | Phase::SchemaWanted(_) | Phase::Open(_) => {
                return self.end(id, &Farewell::Protocol("a session says hello once".into()));
            }
        }
        if hello.batch > limits::BATCH_PERIOD_MAX {
            let problem = format!("changes are told every {:?} at least", limits::BATCH_PERIOD_MAX);
            return self.end(id, &Farewell::Limit(problem));
        }
        let (oldest_version, newest_version) = (hello.oldest_version, hello.newest_version);
        let said = Greeted { oldest_version, newest_version, token: &hello.token };
        match self.check_hello(now, &said, "session", ProtocolVersion::OLDEST_SUPPORTED..=ProtocolVersion::CURRENT) {
            Ok(identity) => {
                let Some(session) = self.sessions.get_mut(&id) else { return };
                let ends = ends_at(&identity, now);
                let client = match self.settings.broken {
                    Broken::ClientIdAsSent => hello.client,
                    _ => identity.client(hello.client),
                };
                session.phase = Phase::Held(Guest { identity, client, ends, hello, schema: None });
                self.timers.set(id, session.deadline(&self.settings.limits));
                self.held.insert(id);
                self.try_open(now, id);
            }
            Err(farewell) => self.end(id, &farewell),
        }
    }

    /// Looks at what every hello says, of `/sync` and of `/blobs`. `protocol` is for people.
    pub(crate) fn check_hello(
        &mut self,
        now: Now,
        hello: &Greeted<'_>,
        protocol: &'static str,
        spoken: RangeInclusive<ProtocolVersion>,
    ) -> Result<Identity, Farewell> {
        if hello.newest_version < *spoken.start() || hello.oldest_version > *spoken.end() {
            return Err(Farewell::Version { newest: hello.newest_version, protocol, spoken });
        }
        self.check_token(now, hello.token)
    }

    pub(crate) fn on_schema(&mut self, now: Now, id: SessionId, json: &str) {
        let Some(session) = self.sessions.get_mut(&id) else { return };
        let Phase::SchemaWanted(guest) = &session.phase else {
            return self.end(id, &Farewell::Protocol("a schema is sent when it is asked for".into()));
        };
        if json.len() > limits::SCHEMA_BYTES_MAX {
            let problem = format!("a schema has at most {} bytes, not {}", limits::SCHEMA_BYTES_MAX, json.len());
            return self.end(id, &Farewell::Limit(problem));
        }
        match Schema::from_json(json) {
            Ok(schema) if schema.hash() == guest.hello.schema => {
                let guest = guest.clone();
                session.phase = Phase::Held(Guest { schema: Some(schema), ..guest });
                self.held.insert(id);
                self.try_open(now, id);
            }
            Ok(_) => self.end(id, &Farewell::Protocol("this schema has another hash than the hello said".into())),
            Err(error) => self.end(id, &Farewell::Schema(error.to_string())),
        }
    }

    /// Looks again at all who wait for the store.
    pub(crate) fn retry_held(&mut self, now: Now) {
        for id in self.held.clone() {
            self.try_open(now, id);
        }
        self.ask_early_rights();
    }

    /// Opens a held session if nothing is in its way any more.
    fn try_open(&mut self, now: Now, id: SessionId) {
        if let Some(reason) = self.out_of_service.clone() {
            return self.end(id, &Farewell::Unavailable(reason));
        }
        let Some(store) = self.home.serving() else { return };
        let position = self.position();
        let Some(session) = self.sessions.get(&id) else { return };
        let Phase::Held(guest) = &session.phase else { return };
        match self.revoked.judge(&guest.identity) {
            Revocation::None => {}
            Revocation::Unknown => return self.read_access(),
            Revocation::Revoked => {
                let error = guest.identity.revoked();
                return self.end(id, &Farewell::Unauthorized(error));
            }
        }
        if let Some(problem) = self.lacks_rights(&guest.identity) {
            return self.end(id, &Farewell::Unavailable(problem));
        }
        let held_from = guest.hello.resume.filter(|resume| resume.store == store).map(|resume| resume.at);
        if held_from.is_some_and(|at| at > position) {
            return;
        }
        let token =
            self.group.as_ref().and_then(|group| Some((group, group.token_from_elsewhere(&guest.hello, store)?)));
        let waits = self.settings.broken != Broken::LetInBehind;
        if waits && token.is_some_and(|(group, token)| !group.covers(token)) {
            return;
        }
        let Some(schema) = &guest.schema else {
            // A store that was alone before may have other tables, and know their schemas.
            let is_served = self.group.is_none() || unserved_table(self.catalog.schema()).is_none();
            if is_served && self.catalog.knows(guest.hello.schema) {
                return self.welcome(now, id, store, held_from);
            }
            let wanted = Phase::SchemaWanted(guest.clone());
            if let Some(session) = self.sessions.get_mut(&id) {
                session.phase = wanted;
            }
            self.held.remove(&id);
            return self.say(id, FromGateway::SchemaWanted);
        };
        if let Some(table) = unserved_table(schema).filter(|_| self.group.is_some()) {
            let problem = refusal_of(table);
            return self.end(id, &Farewell::Schema(problem));
        }
        match self.catalog.admit(schema) {
            Ok(Admission::Covered) => {
                self.catalog.remember(guest.hello.schema);
                self.welcome(now, id, store, held_from);
            }
            Ok(Admission::Grow(growth)) => self.grow(&growth),
            Err(error) => self.end(id, &Farewell::Schema(error.to_string())),
        }
    }

    /// The data centre is further.
    pub(crate) fn on_centre_news(&mut self, now: Now, news: CentreNews) {
        let position = self.position();
        let Some(group) = &mut self.group else { return };
        group.on_news(news);
        if group.advance(position) {
            self.retry_held(now);
        }
    }

    fn welcome(&mut self, now: Now, id: SessionId, store: StoreIncarnation, held_from: Option<Timestamp>) {
        let Some(session) = self.sessions.get_mut(&id) else { return };
        let Phase::Held(guest) = &session.phase else { return };
        let (client, acknowledged) = (guest.client, guest.hello.acknowledged);
        let subject = guest.identity.user().map(|user| user.subject.digest());
        let token_left = guest.identity.left(now.wall);
        let group = self.group.as_ref();
        let moved = group.is_some_and(|group| group.token_from_elsewhere(&guest.hello, store).is_some());
        let centre = group.map(|group| group.name().clone());
        let version = guest.hello.newest_version.min(ProtocolVersion::CURRENT);
        session.phase = Phase::Open(Box::new(Open::new(guest, held_from)));
        session.heard = now.instant;
        let deadline = session.deadline(&self.settings.limits);
        self.held.remove(&id);
        self.timers.clear(id);
        self.timers.set(id, deadline);
        if let Some(earlier) = self.clients.get(&client).copied() {
            self.end(earlier, &Farewell::Replaced);
        }
        self.clients.insert(client, id);
        let (resumed, clock_micros) = (held_from.is_some(), Some(now.wall.as_micros()));
        let welcome = Welcome { version, store, resumed, clock_micros, centre, moved, client, subject, token_left };
        self.say(id, FromGateway::Welcome(welcome));
        self.on_acknowledge(id, acknowledged);
        self.ask_last_outcome(id);
        self.welcome_member(now, id);
        self.await_own_outcomes(id, acknowledged);
        self.read_own_outcomes(id);
        self.schedule_idle(now);
    }
}

/// When a session of somebody has to end. A clock that is set later changes nothing of it.
pub fn ends_at(identity: &Identity, now: Now) -> Option<Instant> {
    identity.stays(now.wall).map(|stays| now.instant + stays)
}

/// The first table of a schema that does not merge.
pub fn unserved_table(schema: &Schema) -> Option<&str> {
    schema.tables().find(|(_, table)| !table.merges()).map(|(name, _)| name)
}

/// Why such a table is not served, for people.
pub fn refusal_of(table: &str) -> String {
    format!(
        "table {table:?} does not merge, and this gateway is of a group of several data centres: make it `.causal()`, or serve it from a cluster of its own"
    )
}
