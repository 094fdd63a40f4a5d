//! Queries that are held farther than those need them who are known to need them, in a client as in a tab that follows.

use iolite_values::{Interest, TableId};
use iolite_wire::message::SubscriptionId;

use super::{Cache, Demand, Need, RowId};

/// All that somebody needs.
pub(crate) type Needs<'a> = Box<dyn Iterator<Item = Need<'a>> + 'a>;

impl Cache {
    /// Gives up queries of which narrower ones have come that are enough, and asks for narrower ones. What somebody needs of a table is not known at all
    /// times; then it is judged later. Returns the subscriptions that ended, and the rows of which less is held now.
    pub(crate) fn narrow<'a>(
        &mut self,
        needs: impl Fn(Demand, TableId) -> Option<Needs<'a>>,
    ) -> (Vec<SubscriptionId>, Vec<RowId>) {
        let mut given_up = Vec::new();
        for id in self.interests.take_doubtful() {
            let Some(table) = self.interests.interest(id).map(Interest::table) else { continue };
            let demands = self.interests.demands(id).map(|demand| needs(demand, table).ok_or(demand));
            match demands.collect::<Result<Vec<_>, Demand>>() {
                Ok(needs) => given_up.extend(self.interests.narrow(id, needs.into_iter().flatten())),
                Err(demand) => self.interests.judge_after(demand, id),
            }
        }
        let (ended, interests): (Vec<_>, Vec<Interest>) = given_up.into_iter().unzip();
        (ended, self.release(&interests))
    }
}
