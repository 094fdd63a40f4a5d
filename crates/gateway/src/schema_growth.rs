//! The server's schema: read at start, made to grow by what clients add, and kept up to date from the feed.
//!
//! Invariant: one growth at a time, of a client or of an operator (`deploying.rs`). Whoever waits is looked at again when the feed has reached its end, whoever brought it about.

use iolite_catalog::{Catalog, Growth};
use iolite_machine::Now;
use iolite_store::{Commit, CommitReply, ReadLimit, ReadReply, Refusal, Request, TooOld};
use iolite_values::{Counter, Timestamp};

use crate::Gateway;
use crate::sessions::farewell::Farewell;
use crate::sessions::session::Phase;
use crate::store::{Home, Purpose};

/// A growth under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Growing {
    Asked,
    /// Decided; the feed shows what came of it by then.
    Decided(Timestamp),
}

impl Gateway {
    pub(crate) fn read_schemas(&mut self) {
        let at = self.position();
        self.ask(Purpose::Schemas, Request::ReadAt { interest: Catalog::interest(), at, limit: ReadLimit::NONE });
    }

    pub(crate) fn on_schemas(&mut self, now: Now, reply: Result<ReadReply, TooOld>) {
        let Home::ReadingSchemas { store, position, changes } = &mut self.home else { return };
        let Ok(reply) = reply else {
            changes.clear();
            self.read_schemas();
            return;
        };
        let (store, position) = (*store, *position);
        let loaded = self.catalog.load(reply.rows).and_then(|()| self.catalog.fold(&*changes));
        self.home = match loaded {
            Ok(()) => Home::Serving { store, position },
            Err(error) => Home::Unreadable { store: Some(store), position, problem: error.to_string() },
        };
        self.read_leases();
        self.read_access();
        self.retry_held(now);
    }

    /// Nobody is served without schemas.
    pub(crate) fn on_unreadable(&mut self, problem: String) {
        self.home = Home::Unreadable { store: None, position: self.position(), problem };
    }

    /// Takes schema changes from the feed.
    pub(crate) fn watch_schemas(&mut self, commits: &[Commit]) {
        let table = Catalog::table();
        let writes = || commits.iter().flat_map(|commit| commit.writes.iter()).filter(|own| own.cell.table == table);
        match &mut self.home {
            Home::Away => {}
            // They may be readable now: a restore has ended.
            Home::Unreadable { store, position, .. } => {
                if let Some(store) = *store
                    && writes().next().is_some()
                    && self.catalog.fold(writes()).is_ok()
                {
                    self.home = Home::Serving { store, position: *position };
                }
            }
            Home::ReadingSchemas { changes, .. } => changes.extend(writes().cloned()),
            Home::Serving { store, position } => {
                let before = self.catalog.rights().cloned();
                if let Err(error) = self.catalog.fold(writes()) {
                    let (store, position) = (*store, *position);
                    self.home = Home::Unreadable { store: Some(store), position, problem: error.to_string() };
                }
                if self.catalog.rights() != before.as_ref() {
                    self.end_users();
                }
            }
        }
    }

    pub(crate) fn grow(&mut self, growth: &Growth) {
        if self.growing.is_none() {
            self.commit_growth(growth);
        }
    }

    /// Commits a growth, while nothing else grows.
    pub(crate) fn commit_growth(&mut self, growth: &Growth) -> Counter {
        assert!(self.growing.is_none(), "one growth at a time");
        self.growing = Some(Growing::Asked);
        self.commit_own(Purpose::Growth, self.position(), growth.reads(), growth.decision())
    }

    pub(crate) fn on_growth(&mut self, now: Now, counter: Counter, reply: &CommitReply) {
        let until = match reply {
            CommitReply::Completed(completion) => completion.at,
            // Another gateway was first: look at what the feed brings.
            CommitReply::Conflict { at_least } => *at_least,
            CommitReply::Forgotten => panic!("a growth's counter is not used twice"),
            CommitReply::InDoubt { .. } => panic!("the outcome of a growth is waited for without a limit"),
        };
        self.own_ended(counter);
        self.growing = Some(Growing::Decided(until));
        self.deployment_decided(counter, reply);
        self.finish_growth();
        self.retry_held(now);
    }

    /// The grown schema is too large for the store: who brought it cannot be served.
    pub(crate) fn on_growth_refused(&mut self, now: Now, counter: Counter, refusal: &Refusal) {
        self.own_ended(counter);
        self.growing = None;
        if self.deployment_refused(counter, refusal) {
            return self.retry_held(now);
        }
        for id in self.held.clone() {
            let asks = self.sessions.get(&id).is_some_and(|session| match &session.phase {
                Phase::Held(guest) => guest.schema.is_some(),
                Phase::Greeting | Phase::SchemaWanted(_) | Phase::Open(_) => false,
            });
            if asks {
                self.end(id, &Farewell::Schema(refusal.to_string()));
            }
        }
        self.go_on_deploying();
        self.retry_held(now);
    }

    /// Lets the next growth begin once the feed shows what came of the last. A deployment that waits is next.
    pub(crate) fn finish_growth(&mut self) {
        match self.growing {
            Some(Growing::Decided(at)) if at <= self.position() => {
                self.growing = None;
                self.go_on_deploying();
            }
            Some(Growing::Decided(_) | Growing::Asked) | None => {}
        }
    }
}
