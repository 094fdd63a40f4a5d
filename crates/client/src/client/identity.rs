//! The name of a client to its gateway, and the secret that it draws ids from.
//!
//! Invariants: nothing that others read is made of the client's id, so nobody can speak for it; the secret is drawn once, and leaves the device's tabs never.
//! A store of an older version has given its id away by the ids of its rows. It takes another one as soon as nothing is known under the old one that matters:
//! nothing is pending, and the gateway has the acknowledgement of every outcome: nobody could acknowledge those of an id that is no more.

use iolite_machine::Instant;
use iolite_values::{ClientId, DeviceSecret};
use iolite_wire::client_storage::StoredMeta;

use super::{Acknowledgement, Client};
use crate::interface::Config;

#[derive(Debug)]
pub(super) struct Identity {
    pub(super) client: ClientId,
    pub(super) secret: DeviceSecret,
    /// The id that takes the place of one that others know.
    next: Option<ClientId>,
}

impl Identity {
    pub(super) fn of(config: &Config, meta: Option<&StoredMeta>) -> Identity {
        let Some(meta) = meta else {
            return Identity { client: config.fresh_client, secret: config.fresh_secret, next: None };
        };
        let secret = meta.secret.unwrap_or(config.fresh_secret);
        Identity { client: meta.client, secret, next: meta.others_know_client.then_some(config.fresh_client) }
    }

    pub(super) fn others_know_client(&self) -> bool {
        self.next.is_some()
    }
}

impl Client {
    /// Takes another id, if others know this one and nothing depends on it any more. A session of the new one follows.
    pub(super) fn renew_identity(&mut self, now: Instant) {
        let Some(next) = self.identity.next.filter(|_| self.session.is_open()) else { return };
        let Acknowledgement { noted, told, told_by, due: _ } = self.acknowledgement;
        let has_arrived = self.session.link_mut().is_some_and(|link| link.has_brought(told_by));
        if self.queue.len() > 0 || noted != self.ended_through() || told != noted || !has_arrived {
            return;
        }
        (self.identity.client, self.identity.next) = (next, None);
        self.disk.due = true;
        self.restart_tabs();
        self.drop_link();
        self.session.lost(now, None);
        self.session.retry_now(now);
    }
}
