//! The members of logs: the clients that follow a log and are waited for, and who is told of them.
//!
//! Invariants: a client is a member while a session of it follows pages of the log, and it is not out of the set of those that are waited for
//! (`delivery.rs`). All who follow a log are told of its members, also one that is taken out. At most [`limits::LOG_MEMBERS_MAX`] follow one log.
//! Source: Hercules (Lebeck 2020, section 3.4.6).

use std::collections::{BTreeMap, BTreeSet};

use iolite_logs::origin_of;
use iolite_machine::{Instant, Now};
use iolite_values::{ClientId, Id, Interest, LogId, LogPages};
use iolite_wire::message::{Declination, LogMembers, SubscriptionId};

use crate::following::load::{LoadId, News};
use crate::sessions::session::Open;
use crate::{Gateway, SessionId, limits};

#[derive(Debug, Default)]
pub struct Members {
    /// The clients that follow each log, with their origins. No map is empty.
    followers: BTreeMap<LogId, BTreeMap<ClientId, Id>>,
    /// The subscriptions of each client by which it follows logs. No map is empty.
    by_client: BTreeMap<ClientId, BTreeMap<SubscriptionId, LogId>>,
    /// The news of members that clients are still to be told. No map is empty.
    due: BTreeMap<ClientId, BTreeMap<LogId, Due>>,
    /// When those are told that were told nothing before.
    tell_at: Option<Instant>,
    /// Whether there is something new to tell since a time for it was set.
    is_unscheduled: bool,
}

/// The news that a client is to be told of a log.
#[derive(Debug)]
enum Due {
    /// All members.
    Whole,
    /// Each that came to be a member, or is none any more.
    Changes(BTreeMap<Id, bool>),
}

/// A log has no room for one more.
#[derive(Debug)]
struct Full;

impl Members {
    pub fn deadline(&self) -> Option<Instant> {
        self.tell_at
    }

    /// The clients that follow a log.
    pub fn of(&self, log: &LogId) -> impl Iterator<Item = ClientId> {
        self.followers.get(log).into_iter().flat_map(BTreeMap::keys).copied()
    }

    /// A client follows a log by a subscription. Returns whether it is new there.
    fn follow(&mut self, client: ClientId, name: SubscriptionId, log: &LogId) -> Result<bool, Full> {
        let followers = self.followers.entry(log.clone()).or_default();
        let is_new = !followers.contains_key(&client);
        if is_new && followers.len() >= limits::LOG_MEMBERS_MAX {
            return Err(Full);
        }
        if is_new {
            followers.insert(client, origin_of(client));
        }
        self.by_client.entry(client).or_default().insert(name, log.clone());
        Ok(is_new)
    }

    /// A subscription has ended. Returns the log that the client does not follow any more.
    fn unfollow(&mut self, client: ClientId, name: SubscriptionId) -> Option<LogId> {
        let own = self.by_client.get_mut(&client)?;
        let log = own.remove(&name)?;
        let follows = own.values().any(|other| *other == log);
        if own.is_empty() {
            self.by_client.remove(&client);
        }
        if follows {
            return None;
        }
        self.drop_follower(client, &log);
        Some(log)
    }

    fn drop_follower(&mut self, client: ClientId, log: &LogId) {
        if let Some(followers) = self.followers.get_mut(log) {
            followers.remove(&client);
            if followers.is_empty() {
                self.followers.remove(log);
            }
        }
        if let Some(due) = self.due.get_mut(&client) {
            due.remove(log);
            if due.is_empty() {
                self.due.remove(&client);
            }
        }
    }

    /// A client has no session any more. Returns the logs that it followed.
    fn take_client(&mut self, client: ClientId) -> BTreeSet<LogId> {
        let logs: BTreeSet<LogId> =
            self.by_client.remove(&client).into_iter().flat_map(BTreeMap::into_values).collect();
        for log in &logs {
            self.drop_follower(client, log);
        }
        logs
    }

    fn logs_of(&self, client: ClientId) -> BTreeSet<LogId> {
        self.by_client.get(&client).into_iter().flat_map(BTreeMap::values).cloned().collect()
    }

    /// Notes for all who follow a log that a client is a member now, or is none any more.
    fn note(&mut self, client: ClientId, log: &LogId, is_member: bool) {
        let origin = origin_of(client);
        for follower in self.followers.get(log).into_iter().flat_map(BTreeMap::keys) {
            let due = self.due.entry(*follower).or_default();
            let own = due.entry(log.clone()).or_insert_with(|| Due::Changes(BTreeMap::new()));
            if let Due::Changes(changes) = own {
                changes.insert(origin, is_member);
                if changes.len() > limits::LOG_MEMBERS_MAX {
                    *own = Due::Whole;
                }
            }
        }
        self.is_unscheduled = true;
    }

    fn note_whole(&mut self, client: ClientId, log: LogId) {
        self.due.entry(client).or_default().insert(log, Due::Whole);
        self.is_unscheduled = true;
    }

    /// Several changes are told together, with what is told anyway if that comes first.
    pub fn schedule(&mut self, now: Now) {
        if std::mem::take(&mut self.is_unscheduled) {
            self.tell_at.get_or_insert(now.instant + limits::LOG_MEMBERS_TOLD_WITHIN);
        }
    }

    /// The news for a client, with the clients that nobody waits for.
    pub fn take(&mut self, client: ClientId, is_out: impl Fn(ClientId) -> bool) -> Vec<LogMembers> {
        let due = self.due.remove(&client).unwrap_or_default();
        let told = due.into_iter().map(|(log, due)| match due {
            Due::Whole => {
                let followers = self.followers.get(&log).into_iter().flatten();
                let joined = followers.filter(|(client, _)| !is_out(**client)).map(|(_, origin)| *origin).collect();
                LogMembers { log, is_whole: true, joined, left: BTreeSet::new() }
            }
            Due::Changes(changes) => {
                let of = |wanted: bool| changes.iter().filter(move |(_, is)| **is == wanted).map(|(origin, _)| *origin);
                let (joined, left) = (of(true).collect(), of(false).collect());
                LogMembers { log, is_whole: false, joined, left }
            }
        });
        told.collect()
    }

    pub fn validate(&self, has_session: impl Fn(ClientId) -> bool) {
        assert!(self.by_client.keys().all(|client| has_session(*client)), "only sessions follow logs");
        assert!(
            self.due.keys().all(|client| self.by_client.contains_key(client)),
            "only followers are told of members"
        );
        assert!(self.due.values().all(|due| !due.is_empty()), "nobody is told nothing");
        for (log, followers) in &self.followers {
            assert!((1..=limits::LOG_MEMBERS_MAX).contains(&followers.len()), "so many follow a log at most");
            assert!(followers.keys().all(|client| self.by_client[client].values().any(|own| own == log)));
        }
    }
}

/// The log whose pages an interest is of; none of the pages of several.
fn log_of(interest: &Interest) -> Option<LogId> {
    LogId::of_all(interest).filter(|_| interest.table() == LogPages::table())
}

impl Gateway {
    /// A client follows logs by these interests. Returns those for which there is no room.
    pub(crate) fn follow_logs<'a>(
        &mut self,
        client: ClientId,
        interests: impl Iterator<Item = &'a (SubscriptionId, Interest)>,
    ) -> Vec<(SubscriptionId, LogId)> {
        let mut refused = Vec::new();
        for (name, interest) in interests {
            let Some(log) = log_of(interest) else { continue };
            match self.members.follow(client, *name, &log) {
                Ok(true) => {
                    if !self.delivery.is_out(client) {
                        self.members.note(client, &log, true);
                    }
                    self.members.note_whole(client, log);
                }
                Ok(false) => {}
                Err(Full) => refused.push((*name, log)),
            }
        }
        refused
    }

    /// Tells a session that logs have no room for it.
    pub(crate) fn refuse_logs(&mut self, id: SessionId, load: LoadId, refused: Vec<(SubscriptionId, LogId)>) {
        for (name, log) in refused {
            let most = limits::LOG_MEMBERS_MAX;
            let why = format!(
                "the log {:?} has {most} members, which is the most: have one of them leave it, and join it again then",
                log.name
            );
            self.decline(id, load, name, Declination::TooLarge(why));
        }
    }

    /// A subscription of a client has ended.
    pub(crate) fn unfollow_log(&mut self, client: ClientId, name: SubscriptionId) {
        if let Some(log) = self.members.unfollow(client, name) {
            self.members.note(client, &log, false);
            self.forget_hashes(client, &log);
        }
    }

    /// A client has no session any more.
    pub(crate) fn leave_logs(&mut self, client: ClientId) {
        for log in self.members.take_client(client) {
            self.members.note(client, &log, false);
            self.forget_hashes(client, &log);
        }
    }

    /// A client is waited for again, or no longer.
    pub(crate) fn note_member(&mut self, client: ClientId, is_member: bool) {
        for log in self.members.logs_of(client) {
            self.members.note(client, &log, is_member);
        }
    }

    /// Tells members of logs who has come and gone, if nothing was told that could say it before.
    pub(crate) fn on_members_due(&mut self, now: Now) {
        if self.members.tell_at.is_none_or(|at| at > now.instant) {
            return;
        }
        self.members.tell_at = None;
        for client in self.members.due.keys().copied().collect::<Vec<_>>() {
            let Some(id) = self.clients.get(&client).copied() else { continue };
            // Others are told once they can be told anything.
            if self.open(id).is_some_and(Open::is_live) {
                self.send_advance(now, id, News::default());
            }
        }
    }
}
