//! Queries that are held farther than the reactions need them that read them.

use iolite_values::{Interest, Read};
use iolite_wire::message::SubscriptionId;

use super::Client;
use crate::cache::{Demand, RowId};

impl Client {
    /// Gives up queries of which narrower ones have come that are enough, and asks for narrower ones. Returns the subscriptions that ended, and the rows of
    /// which less is held now.
    pub(super) fn narrow(&mut self) -> (Vec<SubscriptionId>, Vec<RowId>) {
        let mut given_up = Vec::new();
        for id in self.cache.interests.take_doubtful() {
            let mut reads: Vec<&Read> = Vec::new();
            let all_known = self.cache.interests.demands(id).all(|demand| match demand {
                Demand::Reaction(reaction) => match self.reactions.reads(reaction) {
                    Some(of_reaction) => {
                        reads.extend(of_reaction);
                        true
                    }
                    None => false,
                },
                // A mutation is gone soon. A tab has all of what it asked for.
                Demand::Mutation(_) | Demand::Tab(_) => false,
            });
            if all_known {
                given_up.extend(self.cache.interests.narrow(id, &reads));
            }
        }
        let (ended, interests): (Vec<_>, Vec<Interest>) = given_up.into_iter().unzip();
        (ended, self.cache.release(&interests))
    }
}
