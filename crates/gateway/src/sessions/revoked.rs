//! The rows of `_access`, read when the store is there, and kept up to date from the feed: users whose tokens are revoked, and the key that signs the
//! tokens of anonymous users, which the first gateway makes.
//!
//! Invariants: nobody with a token is let in before these rows are known. A session of a revoked token ends before anything is told of the commit that
//! revoked it, nor of any later one.

use std::collections::BTreeMap;
use std::time::Duration;

use iolite_access::{Access, AccessError, AccessRows, AnonymousKey, Identity};
use iolite_machine::{Instant, Now, WallTime};
use iolite_store::{Commit, CommitReply, ReadLimit, ReadReply, Request, RequestId, TooOld};
use iolite_values::{Counter, Decision, Id, Write};

use crate::interface::{AccessNews, Output, RevocationId};
use crate::limits;
use crate::sessions::farewell::Farewell;
use crate::sessions::session::Session;
use crate::store::Purpose;
use crate::{BlobLink, Gateway, SessionId};

const MINUTE: Duration = Duration::from_secs(60);

/// Tokens that are refused from now on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RevokedTokens {
    /// The digest of the user: [`iolite_access::Subject::digest`].
    pub subject: Id,
    /// Tokens that were issued before this are refused.
    pub not_before: WallTime,
}

/// The rows, as far as they are known, and revocations that are being committed.
#[derive(Debug)]
pub struct Revoked {
    rows: KnownRows,
    committing: BTreeMap<Counter, RevocationId>,
}

#[derive(Debug)]
enum KnownRows {
    /// There is one token for all, so there is nothing to know.
    Unneeded,
    Unread,
    /// With the writes since.
    Reading(RequestId, Vec<Write>),
    Known(AccessRows),
}

/// Whether somebody's token is revoked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Revocation {
    None,
    /// The rows are not known yet.
    Unknown,
    Revoked,
}

/// The tokens that a session was sent in the minute that has begun last: each costs the check of a signature.
#[derive(Debug, Default)]
pub struct Renewals {
    since: Instant,
    count: usize,
}

impl Renewals {
    /// Whether one more is looked at.
    fn allow(&mut self, now: Instant) -> bool {
        if now >= self.since + MINUTE {
            (self.since, self.count) = (now, 0);
        }
        self.count += 1;
        self.count <= limits::RENEWALS_MAX
    }
}

impl Revoked {
    /// The rows of a gateway that has not begun.
    pub fn of(access: &Access) -> Revoked {
        let rows = match access {
            Access::Development(_) => KnownRows::Unneeded,
            Access::Tokens(_) => KnownRows::Unread,
        };
        Revoked { rows, committing: BTreeMap::new() }
    }

    /// Whether the rows are known.
    pub fn is_known(&self) -> bool {
        match &self.rows {
            KnownRows::Unneeded | KnownRows::Known(_) => true,
            KnownRows::Unread | KnownRows::Reading(..) => false,
        }
    }

    pub fn judge(&self, identity: &Identity) -> Revocation {
        match &self.rows {
            KnownRows::Unneeded => Revocation::None,
            KnownRows::Unread | KnownRows::Reading(..) => Revocation::Unknown,
            KnownRows::Known(rows) if rows.revokes(identity) => Revocation::Revoked,
            KnownRows::Known(_) => Revocation::None,
        }
    }

    /// The store has started again. Who waits for a commit learns that nobody knows.
    fn begin_anew(&mut self) -> Vec<RevocationId> {
        if !matches!(self.rows, KnownRows::Unneeded) {
            self.rows = KnownRows::Unread;
        }
        std::mem::take(&mut self.committing).into_values().collect()
    }
}

impl Gateway {
    pub(crate) fn forget_access(&mut self) {
        for asked in self.revoked.begin_anew() {
            self.tell_revoked(asked, Err("the store has started again: ask once more".into()));
        }
    }

    /// Reads the rows, if that is to be done and was not.
    pub(crate) fn read_access(&mut self) {
        if matches!(self.revoked.rows, KnownRows::Unread) && self.home.is_serving() {
            let (interest, at) = (AccessRows::interest(), self.position());
            let request = self.ask(Purpose::Access, Request::ReadAt { interest, at, limit: ReadLimit::NONE });
            self.revoked.rows = KnownRows::Reading(request, Vec::new());
        }
    }

    pub(crate) fn on_access(&mut self, now: Now, request: RequestId, reply: Option<Result<ReadReply, TooOld>>) {
        let KnownRows::Reading(asked, since) = &mut self.revoked.rows else { return };
        if *asked != request {
            return;
        }
        let since = std::mem::take(since);
        self.revoked.rows = KnownRows::Unread;
        let reply = match reply {
            Some(Ok(reply)) => reply,
            Some(Err(TooOld { .. })) => return self.read_access(),
            // The next session, or segment, has them read again.
            None => return,
        };
        let mut rows = AccessRows::default();
        reply.rows.into_iter().for_each(|row| rows.restore(row.key, row.row));
        since.iter().for_each(|write| rows.take(write));
        for (subject, not_before) in rows.revoked() {
            self.output(Output::Access(AccessNews::Revoked(RevokedTokens { subject, not_before })));
        }
        self.revoked.rows = KnownRows::Known(rows);
        self.end_revoked();
        self.use_keys();
        self.output(Output::Access(AccessNews::Known));
        self.retry_held(now);
        self.retry_held_links(now);
    }

    /// Takes what the feed tells of the rows, before it is told to anybody.
    pub(crate) fn watch_access(&mut self, commits: &[Commit]) {
        let rows = AccessRows::interest();
        let mut writes = commits.iter().flat_map(|commit| commit.writes.iter()).filter(|own| rows.includes(&own.cell));
        match &mut self.revoked.rows {
            KnownRows::Unneeded | KnownRows::Unread => {}
            KnownRows::Reading(_, since) => since.extend(writes.cloned()),
            KnownRows::Known(rows) => {
                let Some(first) = writes.next() else { return };
                let (before, seeds): (BTreeMap<Id, WallTime>, _) = (rows.revoked().collect(), rows.seeds());
                [first].into_iter().chain(writes).for_each(|write| rows.take(write));
                let has_keys = rows.seeds() != seeds;
                let news: Vec<_> = rows.revoked().filter(|(own, at)| before.get(own) != Some(at)).collect();
                for (subject, not_before) in news {
                    self.output(Output::Access(AccessNews::Revoked(RevokedTokens { subject, not_before })));
                }
                self.end_revoked();
                if has_keys {
                    self.use_keys();
                }
            }
        }
    }

    /// Lets anonymous users in by the keys that the rows name, or makes the first one.
    fn use_keys(&mut self) {
        let (KnownRows::Known(rows), Access::Tokens(tokens)) = (&self.revoked.rows, &mut self.settings.access) else {
            return;
        };
        if !tokens.settings().anonymous {
            return;
        }
        let keys: Vec<_> = rows.seeds().into_iter().rev().map(AnonymousKey::from_seed).collect();
        let newest = keys.first().cloned();
        tokens.set_anonymous_keys(keys);
        if let Some(key) = newest {
            return self.output(Output::Access(AccessNews::AnonymousKey(key)));
        }
        // Another gateway may be quicker: then this conflicts, and the feed brings its key.
        let (reads, writes) = AccessRows::first_key(self.settings.fresh_key);
        self.commit_own(Purpose::AccessRow, self.position(), reads, Decision::Commit(writes));
    }

    /// Ends the sessions of tokens that are revoked.
    fn end_revoked(&mut self) {
        let is_over = |identity: Option<&Identity>| {
            identity.is_some_and(|identity| self.revoked.judge(identity) == Revocation::Revoked)
        };
        let sessions = self.sessions.iter().filter(|(_, own)| is_over(own.identity())).map(|(id, _)| *id);
        let links = self.blobs.links.iter().filter(|(_, own)| is_over(own.identity())).map(|(link, _)| *link);
        let (sessions, links): (Vec<SessionId>, Vec<BlobLink>) = (sessions.collect(), links.collect());
        for id in sessions {
            let error =
                self.sessions.get(&id).and_then(Session::identity).map_or(AccessError::Revoked, Identity::revoked);
            self.end(id, &Farewell::Unauthorized(error));
        }
        links.into_iter().for_each(|link| self.end_link(link, &Farewell::Unauthorized(AccessError::Revoked)));
    }

    /// An operator revokes tokens: the feed tells all gateways.
    pub(crate) fn revoke_tokens(&mut self, asked: RevocationId, tokens: RevokedTokens) {
        if matches!(self.revoked.rows, KnownRows::Unneeded) {
            let problem = "this gateway has one token for all, the development token: there are no users to revoke";
            return self.tell_revoked(asked, Err(problem.into()));
        }
        if !self.home.is_serving() {
            return self.tell_revoked(asked, Err("the store is not there yet: ask again in a moment".into()));
        }
        // A gateway whose clock is behind takes nothing back.
        let before = match &self.revoked.rows {
            KnownRows::Known(rows) => rows.not_before(tokens.subject),
            KnownRows::Unneeded | KnownRows::Unread | KnownRows::Reading(..) => None,
        };
        let not_before = before.map_or(tokens.not_before, |before| before.max(tokens.not_before));
        let writes = AccessRows::revocation(tokens.subject, not_before);
        let counter = self.commit_own(Purpose::AccessRow, self.position(), Vec::new(), Decision::Commit(writes));
        self.revoked.committing.insert(counter, asked);
    }

    pub(crate) fn on_access_row(&mut self, counter: Counter, reply: Option<&CommitReply>) {
        self.own_ended(counter);
        let Some(asked) = self.revoked.committing.remove(&counter) else {
            // The key of anonymous users. If another gateway was quicker, the feed brings its key. If nobody knows, the rows say.
            return match reply {
                Some(CommitReply::Completed(_) | CommitReply::Conflict { .. }) => {}
                Some(CommitReply::Forgotten | CommitReply::InDoubt { .. }) | None => {
                    self.revoked.rows = KnownRows::Unread;
                    self.read_access();
                }
            };
        };
        let result = match reply {
            Some(CommitReply::Completed(_)) => Ok(()),
            Some(CommitReply::Conflict { .. } | CommitReply::Forgotten | CommitReply::InDoubt { .. }) | None => {
                Err("the store has not answered in time, so the tokens may be revoked or not: ask once more".into())
            }
        };
        self.tell_revoked(asked, result);
    }

    fn tell_revoked(&mut self, asked: RevocationId, result: Result<(), String>) {
        self.output(Output::Access(AccessNews::Answered(asked, result)));
    }

    /// Another token of the same user takes the place of the one before.
    pub(crate) fn on_token(&mut self, now: Now, id: SessionId, token: &str) {
        if !self.open_mut(id).is_some_and(|open| open.renewals.allow(now.instant)) {
            let most = limits::RENEWALS_MAX;
            return self.end(id, &Farewell::Limit(format!("a session takes at most {most} tokens a minute")));
        }
        let identity = match self.check_token(now, token) {
            Ok(identity) => identity,
            Err(farewell) => return self.end(id, &farewell),
        };
        if self.revoked.judge(&identity) == Revocation::Revoked {
            return self.end(id, &Farewell::Unauthorized(identity.revoked()));
        }
        let Some(open) = self.open_mut(id) else { return };
        if !open.identity.is_same_user(&identity) {
            return self.end(id, &Farewell::Unauthorized(AccessError::OtherUser));
        }
        self.renew(now, id, identity);
    }

    fn renew(&mut self, now: Now, id: SessionId, identity: Identity) {
        let left = identity.left(now.wall).unwrap_or(Duration::MAX);
        let Some(open) = self.open_mut(id) else { return };
        let has_other_claims = !open.identity.has_claims_of(&identity);
        (open.ends, open.identity) = (super::greeting::ends_at(&identity, now), identity);
        let Some(session) = self.sessions.get(&id) else { return };
        self.timers.set(id, session.deadline(&self.settings.limits));
        self.spend_token(id);
        self.say(id, iolite_wire::message::FromGateway::Renewed(left));
        if has_other_claims {
            self.review(id);
            self.finish_loads(now, id);
        }
    }
}
