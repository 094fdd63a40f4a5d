//! Queries that are held farther than the reactions need them that read them, and the tabs that were given them.

use iolite_wire::message::SubscriptionId;

use super::Client;
use crate::cache::{Demand, RowId};

impl Client {
    /// How many reads were looked at to say how far queries are needed: what it costs that they are narrowed.
    #[doc(hidden)]
    pub fn reads_judged(&self) -> u64 {
        self.cache.interests.reads_judged
    }

    /// As [`crate::cache::Cache::narrow`]. A mutation is gone soon, so it is not asked what it needs.
    pub(super) fn narrow(&mut self) -> (Vec<SubscriptionId>, Vec<RowId>) {
        self.cache.narrow(|demand, table| match demand {
            Demand::Reaction(reaction) => self.reactions.needs(reaction),
            Demand::Tab(tab) => self.leader.needs(tab, table),
            Demand::Mutation(_) | Demand::Log(_) | Demand::Kept(_) => None,
        })
    }
}
