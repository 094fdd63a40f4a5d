//! Queries that are held farther than the reactions need them that read them.

use iolite_values::Interest;
use iolite_wire::message::SubscriptionId;

use super::Client;
use crate::cache::{Demand, RowId};

impl Client {
    /// How many reads were looked at to say how far queries are needed: what it costs that they are narrowed.
    #[doc(hidden)]
    pub fn reads_judged(&self) -> u64 {
        self.cache.interests.reads_judged
    }

    /// Gives up queries of which narrower ones have come that are enough, and asks for narrower ones. Returns the subscriptions that ended, and the rows of
    /// which less is held now.
    pub(super) fn narrow(&mut self) -> (Vec<SubscriptionId>, Vec<RowId>) {
        let mut given_up = Vec::new();
        for id in self.cache.interests.take_doubtful() {
            let reads = self.cache.interests.demands(id).map(|demand| match demand {
                Demand::Reaction(reaction) => self.reactions.reads(reaction).ok_or(demand),
                // A mutation is gone soon. A tab has all of what it asked for.
                Demand::Mutation(_) | Demand::Tab(_) => Err(demand),
            });
            match reads.collect::<Result<Vec<_>, Demand>>() {
                // Queries first: they tell more than rows.
                Ok(reads) => {
                    given_up.extend(self.cache.interests.narrow(id, reads.into_iter().flat_map(Iterator::rev)));
                }
                Err(demand) => self.cache.interests.judge_after(demand, id),
            }
        }
        let (ended, interests): (Vec<_>, Vec<Interest>) = given_up.into_iter().unzip();
        (ended, self.cache.release(&interests))
    }
}
