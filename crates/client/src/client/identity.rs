//! Identities: a device has one by what it drew, and its client has one at the store by what a gateway tells.
//!
//! Invariants:
//! - nothing is ever sent as somebody else. Who is welcomed as another user than before leaves at once, and the queue is held;
//! - nothing is sent as anybody before it is stored who that is: a later life of the app could take the next user for the first one;
//! - what may have been sent under one id is not sent under another one: it is in doubt, and is kept with its payload;
//! - nothing that a device makes by itself is made of the client's id: the device does not know it before its first welcome;
//! - the secret is drawn once, and leaves the device's tabs never.
//!
//! A store of an older version has given the device's id away by the ids of its rows. It takes another one as soon as nothing is known under the old one that
//! matters: nothing is pending, and the gateway has the acknowledgement of every outcome: nobody could acknowledge those of an id that is no more. With the
//! token of a user that is of no moment, as nobody else is ever that user.

use iolite_logs::origin_of;
use iolite_machine::{Instant, Now, PersistId};
use iolite_values::{ClientId, Counter, DeviceSecret, Id};
use iolite_wire::client_storage::{Bound, StoredMeta};
use iolite_wire::message::{GoodbyeReason, Welcome};

use super::{Acknowledgement, Client};
use crate::interface::{Broken, Config, MutationStatus};
use crate::queue::{Entry, Stage};

#[derive(Debug)]
pub(super) struct Identity {
    /// The id that the device drew, and says in its hello.
    pub(super) device: ClientId,
    pub(super) secret: DeviceSecret,
    /// The client and the user that the last welcome told. None before the first one.
    pub(super) bound: Option<Bound>,
    /// The batch with which that is stored.
    stored_with: PersistId,
    /// The device's id that takes the place of one that others know.
    next: Option<ClientId>,
    pub(super) broken: Broken,
}

/// The meaning of a welcome for a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Told {
    AsBefore,
    First,
    /// The same person, as far as anybody can know, under another id.
    OtherId,
    OtherUser,
}

impl Identity {
    pub(super) fn of(config: &Config, meta: Option<&StoredMeta>) -> Identity {
        let stored_with = PersistId::START;
        let Some(meta) = meta else {
            let (device, secret) = (config.fresh_client, config.fresh_secret);
            return Identity { device, secret, bound: None, stored_with, next: None, broken: Broken::Nothing };
        };
        let secret = meta.secret.unwrap_or(config.fresh_secret);
        let is_known = meta.others_know_client && !is_user(meta.bound);
        let next = is_known.then_some(config.fresh_client);
        Identity { device: meta.device, secret, bound: meta.bound, stored_with, next, broken: Broken::Nothing }
    }

    /// The id of the client, as far as it is known: before the first welcome that of the device.
    pub(super) fn client(&self) -> ClientId {
        self.bound.map_or(self.device, |bound| bound.client)
    }

    /// Whether an entry of a log is of this client.
    pub(super) fn is_origin(&self, origin: Option<Id>) -> bool {
        origin == Some(origin_of(self.client()))
    }

    pub(super) fn others_know_device(&self) -> bool {
        self.next.is_some()
    }

    /// Whether it is stored who this is, so that something may be sent.
    pub(super) fn is_stored(&self, done: PersistId) -> bool {
        self.bound.is_some() && self.stored_with <= done
    }

    /// Takes what a welcome tells. `with`: the batch that will store it.
    fn take(&mut self, told: Bound, with: PersistId) -> Told {
        let what = match self.bound {
            None => Told::First,
            Some(own) if own == told => return Told::AsBefore,
            Some(Bound { subject: Some(own), .. })
                if told.subject.is_some_and(|told| told != own) && self.broken != Broken::SendAsAnotherUser =>
            {
                return Told::OtherUser;
            }
            Some(_) => Told::OtherId,
        };
        (self.bound, self.stored_with) = (Some(told), with);
        if is_user(self.bound) {
            self.next = None;
        }
        what
    }
}

impl Client {
    /// Hears who this client is to the store. False if that is somebody else than before: the session is left.
    pub(super) fn is_welcome(&mut self, now: Now, welcome: &Welcome) -> bool {
        let told = Bound { client: welcome.client, subject: welcome.subject };
        match self.identity.take(told, self.disk.last.next()) {
            Told::AsBefore => {}
            Told::First => {
                self.disk.due = true;
                self.restart_tabs();
            }
            Told::OtherId => {
                self.disk.due = true;
                self.quarantine_in_doubt();
                self.restart_tabs();
            }
            Told::OtherUser => {
                // The app has another token by now, which this session's hello did not say.
                let is_late = self.session.link().is_some_and(|link| self.tokens.text() != Some(&link.token));
                self.drop_link();
                if is_late && self.tokens.to_say(now.instant).is_some() {
                    self.session.lost(now.instant, None);
                    self.session.retry_now(now.instant);
                    return false;
                }
                self.tokens.refused(now.instant);
                self.session.refused(GoodbyeReason::OtherUser, OTHER_USER.to_owned());
                return false;
            }
        }
        if let Some(link) = self.session.link_mut() {
            link.welcomed = Some(told);
        }
        true
    }

    /// Ends what may have been sent under another id. The store would take it for something new. What was never sent stays, and goes out under this one.
    fn quarantine_in_doubt(&mut self) {
        self.doubt_sent_sets();
        let sent: Vec<Counter> = self.queue.entries().filter(|entry| !entry.is_unsent()).map(Entry::counter).collect();
        for counter in sent {
            if let Some(status) = self.queue.entry(counter).map(end_in_doubt) {
                self.end(counter, status);
            }
        }
        // Leases and seals were for the client before.
        self.blobs_history_lost();
        self.compare_due = true;
    }

    /// Takes another id of the device, if others know this one and nothing depends on it any more. A session of the new one follows.
    pub(super) fn renew_identity(&mut self, now: Instant) {
        let Some(next) = self.identity.next.filter(|_| self.session.is_open()) else { return };
        let Acknowledgement { noted, told, told_by, due: _ } = self.acknowledgement;
        let has_arrived = self.session.link_mut().is_some_and(|link| link.has_brought(told_by));
        if self.queue.len() > 0 || noted != self.ended_through() || told != noted || !has_arrived {
            return;
        }
        let bound = Some(Bound { client: next, subject: None });
        (self.identity.device, self.identity.bound, self.identity.next) = (next, bound, None);
        self.identity.stored_with = self.disk.last.next();
        self.disk.due = true;
        self.restart_tabs();
        self.drop_link();
        self.session.lost(now, None);
        self.session.retry_now(now);
    }

    pub(super) fn validate_identity(&self) {
        let is_submitted = |entry: &Entry| matches!(entry.stage, Stage::Submitted(_));
        if !self.queue.entries().any(is_submitted) {
            return;
        }
        let welcomed = self.session.link().and_then(|link| link.welcomed);
        assert!(welcomed.is_some() && welcomed == self.identity.bound, "nothing is sent as somebody else");
        assert!(self.identity.is_stored(self.disk.done), "it is stored who this is before anything is sent");
    }
}

const OTHER_USER: &str = "the data on this device is of another user: sign in as that user again to send what waits, or remove it from the device";
const IN_DOUBT: &str =
    "it may have been sent before this device was known under another identity, so it may have taken effect";

fn is_user(bound: Option<Bound>) -> bool {
    bound.is_some_and(|bound| bound.subject.is_some())
}

/// How one ends that may have been sent. What is known to be committed, and was only to be shown, is confirmed; an operation of a log is so once it is replayed.
fn end_in_doubt(entry: &Entry) -> MutationStatus {
    match entry.stage {
        Stage::Committed { at, .. } if !entry.waits_to_be_replayed() => MutationStatus::Confirmed { at },
        Stage::Called
        | Stage::Saving(_)
        | Stage::Saved
        | Stage::Submitted(_)
        | Stage::Unanswered(_)
        | Stage::Committed { .. } => MutationStatus::Quarantined { reason: IN_DOUBT.to_owned() },
    }
}
