//! Interests that cannot be had, for now or at all.
//!
//! Invariant: whoever waits for one hears of it, and nothing that waits for others is held up.

use std::collections::BTreeSet;

use iolite_values::{Interest, LaneNumber};
use iolite_wire::message::{Declination, Declined, FromClient, SubscriptionId};

use super::Client;
use super::advance::denied;
use crate::cache::{Demand, RowId};
use crate::interface::Output;
use crate::queue::RunState;
use crate::reason::shortened;
use crate::view::Changed;

impl Client {
    pub(super) fn on_declined(&mut self, declined: Declined) {
        let Declined { subscription, why } = declined;
        match why {
            Declination::Later => self.want_again(subscription),
            Declination::TooLarge(reason) => self.refuse(subscription, &reason, Client::stop_log),
            Declination::Denied(reason) => self.refuse(subscription, &denied(&reason), Client::close_log),
        }
    }

    /// Tells all who need an interest that it cannot be had. `of_log` ends a log that needs it.
    fn refuse(&mut self, subscription: SubscriptionId, reason: &str, of_log: fn(&mut Client, LaneNumber, &str)) {
        let Some((interest, demands, rows)) = self.cache.take_out(subscription) else { return };
        self.note_lost(rows);
        for demand in demands {
            match demand {
                Demand::Log(lane) => of_log(self, lane, reason),
                Demand::Reaction(_) | Demand::Mutation(_) | Demand::Tab(_) | Demand::Kept(_) => {
                    self.refuse_demand(demand, &interest, reason);
                }
            }
        }
    }

    /// All that is held is needed, and it is too much: this has to go, and who needs it.
    pub(super) fn refuse_for_want_of_room(&mut self, subscription: SubscriptionId, reason: &str) {
        let Some((interest, demands, rows)) = self.cache.take_out(subscription) else { return };
        // First, or a tab that had it would be told to ask again.
        self.leader.revoke(&interest, |tab| demands.contains(&Demand::Tab(tab)), reason);
        self.note_lost(rows);
        for demand in demands {
            match demand {
                Demand::Reaction(id) => {
                    if self.reactions.crowd_out(id) {
                        self.cache.interests.settle(demand, &BTreeSet::new());
                        self.outputs.push_back(Output::ReactionFailed { reaction: id, message: reason.into() });
                    }
                }
                Demand::Mutation(counter) => self.give_up(counter, reason),
                // It has been told.
                Demand::Tab(_) => {}
                Demand::Log(log) => self.stop_log(log, reason),
                // What it is to tell is not judged, and waits.
                Demand::Kept(_) => {}
            }
        }
        self.send(FromClient::Unsubscribe(vec![subscription]));
    }

    /// Asks for something again that was held, or asked for.
    pub(super) fn want_again(&mut self, subscription: SubscriptionId) {
        let rows = self.cache.want_again(subscription);
        self.note_lost(rows);
    }

    /// Something is not held any more: whoever read it has to look again.
    fn note_lost(&mut self, rows: Vec<RowId>) {
        // First, or the tabs would be told of these rows as empty.
        let interests = &self.cache.interests;
        self.leader.take_back(|interest| interests.holds(interest));
        self.note_rows(rows);
        self.changed = Changed::Everything;
        self.queue.unsettle_all();
        self.look_at_kept_again();
    }

    /// What only held the data before runs again, and asks again, for it alone.
    fn refuse_demand(&mut self, demand: Demand, interest: &Interest, reason: &str) {
        match demand {
            Demand::Reaction(id) => {
                if self.reactions.give_up(id) {
                    let message = shortened(reason.to_owned());
                    self.outputs.push_back(Output::ReactionFailed { reaction: id, message });
                }
            }
            Demand::Mutation(counter) => {
                if self.queue.entry(counter).is_some_and(|entry| matches!(entry.state, RunState::Missing(_))) {
                    self.give_up(counter, reason);
                }
            }
            Demand::Tab(tab) => self.leader.decline(tab, interest, reason),
            Demand::Log(_) | Demand::Kept(_) => {}
        }
    }
}
