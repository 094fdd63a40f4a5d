//! How a follower finds its leader, and what it asks of it.

use std::time::Duration;

use iolite_machine::Instant;
use iolite_values::Interest;
use iolite_wire::message::{Goodbye, GoodbyeReason, SubscriptionId};
use iolite_wire::tabs::{
    FromTab, JoinNumber, TAB_PROTOCOL_VERSION, TabJoin, TabNotice, TabRequest, TabSubscription, ToTab, UpdateNumber,
};

use super::{Follower, FollowerOutput};
use crate::cache::{Room, portions};

/// How a follower stands to its leader.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Link {
    /// It asked to be taken, and asks again after a while.
    Joining {
        again: Instant,
    },
    /// It was taken, and the first update is on its way.
    Welcomed,
    Following {
        applied: UpdateNumber,
    },
    /// The leader is of another version of the app.
    Refused {
        reason: GoodbyeReason,
        message: String,
    },
}

impl Follower {
    /// A tab that hears nothing asks again after this.
    pub const JOIN_AGAIN_AFTER: Duration = Duration::from_secs(1);
    /// A leader that pings nobody for so long is gone, even if its timers are slowed down in the background.
    pub const LEADER_SILENT_AFTER: Duration = Duration::from_secs(150);

    /// Uses another token from now on, in all tabs.
    pub fn set_token(&mut self, token: String) {
        self.request(TabRequest::SetToken(token));
    }

    /// As [`Client::go_online`], for all tabs.
    pub fn go_online(&mut self) {
        self.request(TabRequest::GoOnline);
    }

    /// As [`Client::go_offline`], for all tabs.
    pub fn go_offline(&mut self) {
        self.request(TabRequest::GoOffline);
    }

    /// The tab closes. What comes out of it after this is to be sent, if it still can be.
    pub fn close(&mut self) {
        self.request(TabRequest::Leave);
    }

    /// Begins anew with whoever leads now. What is shown stays until the first update.
    pub(super) fn begin_join(&mut self, now: Instant) {
        self.join.0 += 1;
        self.partial = None;
        self.heard = now;
        self.send_join(now);
    }

    fn send_join(&mut self, now: Instant) {
        self.link = Link::Joining { again: now + Self::JOIN_AGAIN_AFTER };
        let all = self.cache.interests.first().map(|(id, interest)| (id, interest.clone())).collect();
        let subscriptions = portions(all, self.limits.subscribe_part).into_iter().next().unwrap_or_default();
        self.asked = subscriptions.iter().map(|(id, _)| *id).collect();
        let subscriptions = self.subscriptions(subscriptions);
        let schema = self.schema.hash();
        self.request(TabRequest::Join(TabJoin { version: TAB_PROTOCOL_VERSION, schema, subscriptions }));
    }

    pub(super) fn request(&mut self, request: TabRequest) {
        let message = FromTab { join: self.join, request }.encode();
        // What the app gives was limited when it was given; a token that no gateway takes goes nowhere.
        self.outputs.extend(message.ok().map(FollowerOutput::Send));
    }

    pub(super) fn on_message(&mut self, now: Instant, message: &[u8]) {
        let Ok(ToTab { join, notice }) = ToTab::decode(message) else {
            let message = "another version of the app leads in another tab: reload this one".into();
            return self.refuse(GoodbyeReason::Protocol, message);
        };
        let is_unreadable = join == JoinNumber::NONE && matches!(notice, TabNotice::Goodbye(_));
        if join != self.join && !is_unreadable {
            return;
        }
        self.heard = now;
        match notice {
            TabNotice::Welcome(identity, secret) => {
                (self.identity, self.secret) = (identity, secret);
                self.partial = None;
                self.link = Link::Welcomed;
                self.doubt_calls();
            }
            TabNotice::Update(part) => self.on_part(now, *part),
            TabNotice::Ping => self.acknowledge(),
            TabNotice::Goodbye(goodbye) => self.on_goodbye(now, goodbye),
        }
    }

    pub(super) fn acknowledge(&mut self) {
        match self.link {
            Link::Following { applied } => self.request(TabRequest::Acknowledge(applied)),
            Link::Welcomed => self.request(TabRequest::Acknowledge(UpdateNumber(0))),
            Link::Joining { .. } | Link::Refused { .. } => {}
        }
    }

    fn on_goodbye(&mut self, now: Instant, goodbye: Goodbye) {
        match goodbye.reason {
            GoodbyeReason::Version | GoodbyeReason::Schema | GoodbyeReason::Limit | GoodbyeReason::Protocol => {
                self.refuse(goodbye.reason, goodbye.message);
            }
            GoodbyeReason::Unauthorized
            | GoodbyeReason::OtherUser
            | GoodbyeReason::Slow
            | GoodbyeReason::Replaced
            | GoodbyeReason::Unavailable => self.begin_join(now),
        }
    }

    fn refuse(&mut self, reason: GoodbyeReason, message: String) {
        self.link = Link::Refused { reason, message };
    }

    pub(super) fn join_deadline(&self) -> Option<Instant> {
        match &self.link {
            Link::Joining { again } => Some(*again),
            Link::Welcomed | Link::Following { .. } => Some(self.heard + Self::LEADER_SILENT_AFTER),
            Link::Refused { .. } => None,
        }
    }

    pub(super) fn on_join_due(&mut self, now: Instant) {
        if self.join_deadline().is_none_or(|due| due > now) {
            return;
        }
        match self.link {
            Link::Joining { .. } => self.send_join(now),
            Link::Welcomed | Link::Following { .. } => self.begin_join(now),
            Link::Refused { .. } => {}
        }
    }

    /// Asks for the interests that are wanted, and gives up those that nobody needs any more.
    pub(super) fn ask(&mut self) -> bool {
        let Link::Following { .. } = self.link else { return false };
        let (mut ended, mut rows) = self.narrow();
        // What nobody needs here is kept for a while by the tab that leads, as far as its room goes.
        let (idle, of_idle) = self.cache.give_up_idle(Room { idle_interests_max: 0, ..self.limits.room() });
        ended.extend(idle);
        rows.extend(of_idle);
        let wanted = self.cache.interests.take_wanted();
        let nothing = ended.is_empty() && wanted.is_empty();
        self.changed.add(rows);
        self.leave(&ended);
        for part in portions(wanted, self.limits.subscribe_part) {
            let part = self.subscriptions(part);
            self.request(TabRequest::Subscribe(part));
        }
        !nothing
    }

    /// With how much of each is needed. To spare some rows is for the leader.
    fn subscriptions(&self, interests: Vec<(SubscriptionId, Interest)>) -> Vec<TabSubscription> {
        let with_first = |(id, interest)| TabSubscription { id, interest, first: self.cache.interests.first_rows(id) };
        interests.into_iter().map(with_first).collect()
    }

    pub(super) fn leave(&mut self, ended: &[SubscriptionId]) {
        for part in ended.chunks(self.limits.subscribe_part) {
            self.request(TabRequest::Unsubscribe(part.to_vec()));
        }
    }
}
