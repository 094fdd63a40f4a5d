//! Room in the cache: what is given up when there is too much.
//!
//! Invariants: what somebody needs stays while something that nobody needs can go, and of that the least recently used goes first; a cache is above its
//! limit only by what comes with one answer, and not for longer than until the client works again.
//! Source: Diamond's client cache (Zhang 2017, section 3.4.2).

use iolite_values::{Counter, Interest};
use iolite_wire::message::SubscriptionId;

use super::{Cache, Demand, RowId, TooManyInterests};

/// How much a cache may hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Room {
    /// Interests that nobody needs.
    pub(crate) idle_interests_max: usize,
    /// Memory of rows, about.
    pub(crate) bytes_max: usize,
}

impl Cache {
    /// Memory of the rows that a client's cache holds, if the app sets no other limit.
    pub const BYTES_MAX: usize = 64 * 1024 * 1024;

    /// Gives up what nobody needs, past the room that there is. Returns the subscriptions that ended, and the rows of which less is held now.
    pub(crate) fn give_up_idle(&mut self, room: Room) -> (Vec<SubscriptionId>, Vec<RowId>) {
        let (mut ended, mut rows) = (self.interests.take_superseded(), Vec::new());
        let dropped = self.interests.drop_idle(room.idle_interests_max);
        let (ids, interests): (Vec<_>, Vec<Interest>) = dropped.into_iter().unzip();
        ended.extend(ids);
        rows.extend(self.release(&interests));
        while self.rows.bytes() > room.bytes_max
            && let Some((id, interest)) = self.interests.drop_first_idle()
        {
            ended.push(id);
            rows.extend(self.release(&[interest]));
        }
        (ended, rows)
    }

    /// What has to go although somebody needs it, if all is needed and it is too much, and why: what was asked for last, of what no mutation needs if there
    /// is any such, and never what one needs that is on its way.
    pub(crate) fn one_too_many(
        &self,
        room: Room,
        on_its_way: impl Fn(Counter) -> bool,
    ) -> Option<(SubscriptionId, String)> {
        let (bytes, bytes_max) = (self.rows.bytes(), room.bytes_max);
        if bytes > bytes_max {
            assert!(!self.interests.has_idle(), "what somebody needs goes only when there is nothing else");
            let last = self.last_needed(|_| true, on_its_way)?;
            let reason = format!(
                "what is needed at once takes {bytes} bytes of the cache, which has {bytes_max}: read less at a time, or give it more"
            );
            return Some((last, reason));
        }
        if !self.interests.has_too_large_queries() {
            return None;
        }
        let is_query = |interest: &Interest| matches!(interest, Interest::Query(_));
        Some((self.last_needed(is_query, on_its_way)?, TooManyInterests::InBytes.to_string()))
    }

    fn last_needed(
        &self,
        is_of_kind: impl Fn(&Interest) -> bool,
        on_its_way: impl Fn(Counter) -> bool,
    ) -> Option<SubscriptionId> {
        let mutation = |demand: &Demand| match demand {
            Demand::Mutation(counter) => Some(*counter),
            Demand::Reaction(_) | Demand::Tab(_) | Demand::Log(_) | Demand::Kept(_) => None,
        };
        let of_no_mutation = self.interests.last_live(&is_of_kind, |demand| mutation(demand).is_none());
        let is_free = |demand: &Demand| !mutation(demand).is_some_and(&on_its_way);
        of_no_mutation.or_else(|| self.interests.last_live(&is_of_kind, is_free))
    }
}
