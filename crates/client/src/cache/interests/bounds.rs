//! How much a client subscribes to: so much that a gateway takes it, whatever is asked.
//!
//! Invariant: past a bound goes what nobody needs, the least recently used first; who asks for more than that leaves room for is told so, and nothing is
//! asked of the gateway.

use iolite_values::set_of;
use std::collections::BTreeSet;

use iolite_values::Interest;
use iolite_wire::message::SubscriptionId;

use super::Interests;

/// A client cannot subscribe to more at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum TooManyInterests {
    #[error(
        "a client subscribes to at most {} cells, ranges and queries at once: read a range instead of many single rows",
        Interests::TOTAL_MAX
    )]
    InNumber,
    #[error(
        "the queries that a client subscribes to at once take at most {} bytes: name fewer values in them, and filter what you get",
        Interests::QUERIES_BYTES_MAX
    )]
    InBytes,
}

impl Interests {
    /// Whether all of these can be subscribed to beside what somebody needs already.
    ///
    /// # Errors
    /// [`TooManyInterests`].
    pub(crate) fn check_room_for<'a>(
        &self,
        needed: impl ExactSizeIterator<Item = &'a Interest> + Clone,
    ) -> Result<(), TooManyInterests> {
        // Far below the limits there is no need to look which of them are there already.
        let bytes = self.queries_bytes + needed.clone().map(query_bytes).sum::<usize>();
        if self.by_interest.len() + needed.len() <= Self::TOTAL_MAX && bytes <= Self::QUERIES_BYTES_MAX {
            return Ok(());
        }
        let is_idle = |interest: &Interest| self.by_interest.get(interest).is_none_or(|own| own.demands.is_empty());
        let asked = needed.map(|interest| self.covering(interest, None).unwrap_or_else(|| interest.clone()));
        let new: BTreeSet<Interest> = set_of(asked.filter(is_idle));
        if new.is_empty() {
            return Ok(());
        }
        let idle_bytes = self.idle.values().map(query_bytes).sum::<usize>();
        if self.by_interest.len() - self.idle.len() + new.len() > Self::TOTAL_MAX {
            return Err(TooManyInterests::InNumber);
        }
        if self.queries_bytes - idle_bytes + new.iter().map(query_bytes).sum::<usize>() > Self::QUERIES_BYTES_MAX {
            return Err(TooManyInterests::InBytes);
        }
        Ok(())
    }

    /// Whether queries that were answered in part, whose ranges are longer now, take too much together.
    pub(in crate::cache) fn has_too_large_queries(&self) -> bool {
        self.queries_bytes > Self::QUERIES_BYTES_MAX
    }

    /// Gives up the least recently used interests that nobody needs, past `idle_max`, and so that all are not too many or too large.
    pub(in crate::cache) fn drop_idle(&mut self, idle_max: usize) -> Vec<(SubscriptionId, Interest)> {
        let too_many = self.by_interest.len().saturating_sub(Self::TOTAL_MAX);
        let surplus = self.idle.len().saturating_sub(idle_max).max(too_many);
        let mut gone: Vec<Interest> = self.idle.values().take(surplus).cloned().collect();
        let mut bytes = self.queries_bytes - gone.iter().map(query_bytes).sum::<usize>();
        let mut rest = self.idle.values().skip(surplus).filter(|own| query_bytes(own) > 0);
        while bytes > Self::QUERIES_BYTES_MAX
            && let Some(query) = rest.next()
        {
            bytes -= query_bytes(query);
            gone.push(query.clone());
        }
        gone.into_iter().map(|interest| (self.remove(&interest), interest)).collect()
    }
}

/// What an interest adds to the bytes of all queries.
pub(super) fn query_bytes(interest: &Interest) -> usize {
    match interest {
        Interest::Query(query) => query.size_bytes(),
        Interest::Cell(_) | Interest::Range { .. } => 0,
    }
}
