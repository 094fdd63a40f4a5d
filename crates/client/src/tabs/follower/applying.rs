//! What the leader tells a follower.
//!
//! Invariant: nothing of an update is to be seen before its last part is there.

use std::collections::BTreeSet;

use iolite_machine::Instant;
use iolite_wire::client_storage::StoredEnd;
use iolite_wire::message::{Declination, Declined, SubscriptionId};
use iolite_wire::tabs::{TabConnection, TabMutation, TabUpdate, UpdateNumber};

use super::joining::Link;
use super::{Follower, FollowerOutput};
use crate::cache::Demand;
use crate::interface::{MutationStatus, Pending, Refused};
use crate::session::Connection;
use crate::tabs::Ticket;
use crate::tabs::call::{call_status, final_status};
use crate::tabs::parts::joined;
use crate::view::Changed;

impl Follower {
    pub(super) fn on_part(&mut self, now: Instant, part: TabUpdate) {
        let last = match (&self.partial, &self.link) {
            (Some(so_far), _) => so_far.number,
            (None, Link::Following { applied }) => *applied,
            (None, Link::Welcomed) => UpdateNumber(0),
            (None, Link::Joining { .. } | Link::Refused { .. }) => return,
        };
        if part.number.0 != last.0 + 1 {
            // Something was lost on the way.
            return self.begin_join(now);
        }
        let whole = match self.partial.take() {
            Some(so_far) => joined(so_far, part),
            None => part,
        };
        if whole.more {
            self.partial = Some(whole);
        } else {
            self.apply(whole);
        }
    }

    fn apply(&mut self, update: TabUpdate) {
        let first = self.link == Link::Welcomed;
        if first {
            self.forget_everything();
        }
        self.link = Link::Following { applied: update.number };
        // First, because a row of which the leader has a part looks like an answer of queries that it declines for that reason.
        update.declined.into_iter().for_each(|declined| self.on_declined(declined));
        for row in update.rows {
            let id = (row.table, row.key);
            self.cache.put(id.clone(), &row.row);
            self.changed.add([id]);
        }
        self.changed.add(self.cache.replace(update.snapshots));
        self.cache.advance(update.at);
        for counter in update.withdrawn {
            self.changed.add(self.mirror.remove(counter));
        }
        update.ended.into_iter().for_each(|end| self.on_end(&end));
        update.pending.into_iter().for_each(|mutation| self.on_pending(mutation));
        let refused = update.refused.into_iter().filter_map(Refused::from_stored);
        self.refused.extend(refused.map(|refused| (refused.counter, refused)));
        for counter in update.dismissed {
            self.refused.remove(&counter);
        }
        self.mirror.settle(&self.cache);
        self.compare_due = true;
        self.leaders = connection(update.connection);
        self.note_unavailable(update.unavailable);
        if update.has_room {
            self.reactions.get_room();
        }
        if first {
            self.doubt_calls();
        }
        self.acknowledge();
    }

    /// Another leader, or another join: what was held is replaced whole.
    fn forget_everything(&mut self) {
        self.cache.clear();
        self.mirror.clear();
        self.changed = Changed::Everything;
        // Their answers were the other leader's: also the same answer is news.
        self.reactions.run_again();
        self.refused.clear();
        self.unavailable.clear();
        self.cache.interests.mark_requested(&self.asked);
        let mut asked = std::mem::take(&mut self.asked);
        // What nobody needs any more was forgotten as well.
        asked.retain(|id| self.cache.interests.interest(*id).is_none());
        self.leave(&asked);
    }

    /// These cannot come before the leader has a connection again.
    fn note_unavailable(&mut self, subscriptions: Vec<SubscriptionId>) {
        match self.leaders {
            Connection::Connecting | Connection::Online => self.unavailable.clear(),
            Connection::Offline | Connection::Refused { .. } => {}
        }
        for subscription in subscriptions {
            self.unavailable.insert(subscription);
            let waiting = self.cache.interests.interest(subscription).map(|own| self.reactions.waiting_for(own));
            self.outputs.extend(waiting.unwrap_or_default().into_iter().map(FollowerOutput::Unavailable));
        }
    }

    fn on_declined(&mut self, declined: Declined) {
        let Declined { subscription, why } = declined;
        let reason = match why {
            Declination::TooLarge(reason) | Declination::Denied(reason) => reason,
            // The leader held it, and does not any more.
            Declination::Later => {
                self.cache.want_again(subscription);
                self.changed = Changed::Everything;
                return;
            }
        };
        // What was held here is taken away for good: the leader has no room for it.
        let was_held = self.cache.interests.is_live(subscription);
        let Some((_, demands, _)) = self.cache.take_out(subscription) else { return };
        self.changed = Changed::Everything;
        for demand in demands {
            let Demand::Reaction(reaction) = demand else { continue };
            let concerned = was_held || self.reactions.waits(reaction);
            if concerned && self.reactions.crowd_out(reaction) {
                self.cache.interests.settle(demand, &BTreeSet::new());
                let message = reason.clone();
                self.outputs.push_back(FollowerOutput::ReactionFailed { reaction, message });
            }
        }
    }

    fn on_pending(&mut self, mutation: TabMutation) {
        let (counter, ticket) = (mutation.counter, mutation.ticket.map(Ticket));
        let status = Pending {
            durable: mutation.durable,
            sent: mutation.sent,
            would_reject: mutation.would_reject.clone(),
            waits_for_data: mutation.waits_for_data,
            in_conflict: mutation.in_conflict,
            centres: mutation.centres,
        };
        self.changed.add(self.mirror.put(mutation));
        self.outputs.push_back(FollowerOutput::Mutation { counter, status: MutationStatus::Pending(status.clone()) });
        if let Some(ticket) = ticket {
            self.on_queued(ticket, counter, status);
        }
    }

    fn on_end(&mut self, end: &StoredEnd) {
        if let Some(counter) = end.counter {
            self.changed.add(self.mirror.remove(counter));
            let status = final_status(&end.how);
            self.outputs.extend(status.map(|status| FollowerOutput::Mutation { counter, status }));
        }
        if let Some(ticket) = end.ticket {
            self.on_call_ended(Ticket(ticket), call_status(end));
        }
    }
}

fn connection(connection: TabConnection) -> Connection {
    match connection {
        TabConnection::Offline => Connection::Offline,
        TabConnection::Connecting => Connection::Connecting,
        TabConnection::Online => Connection::Online,
        TabConnection::Refused(goodbye) => Connection::Refused { reason: goodbye.reason, message: goodbye.message },
    }
}
