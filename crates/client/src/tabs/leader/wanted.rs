//! What a tab asked for and was not given yet.

use std::sync::Arc;

use iolite_values::{Interest, KeyRange};
use iolite_wire::message::First;

use crate::cache::{Cache, with_spare};
use crate::view::Reader;

/// All of an interest, or so many rows of a query at least.
#[derive(Clone, Debug)]
pub(crate) struct Wanted {
    pub(crate) interest: Interest,
    pub(crate) first: Option<First>,
}

impl Wanted {
    /// What the tab can be given of it now: all, or of a query the part up to the last of the rows that it needs, and a few to spare. None if that is not held.
    pub(crate) fn held(&self, cache: &Cache) -> Option<Interest> {
        let (Interest::Query(query), Some(First { rows, direction })) = (&self.interest, self.first) else {
            return cache.interests.holds(&self.interest).then(|| self.interest.clone());
        };
        let (reader, rows) = (Reader::new(cache, None, None), rows as usize);
        let part = reader.part_of(query, direction)?;
        let found = reader.answers(&part, direction, with_spare(rows));
        let is_enough = found.len() >= rows || part.range == query.range;
        let last = found.last().filter(|_| found.len() == with_spare(rows));
        let range = last.map_or(part.range, |(place, ..)| query.range.ending_with(place.as_bytes(), direction));
        is_enough.then(|| Interest::Query(Arc::new(query.with_range(range))))
    }

    /// Whether an interest has rows of those that are needed.
    pub(super) fn begins_in(&self, interest: &Interest) -> bool {
        match (&self.interest, self.first, interest) {
            (Interest::Query(own), Some(first), Interest::Query(other)) => {
                other.part_of(own, first.direction).is_some()
            }
            (Interest::Cell(_) | Interest::Range { .. } | Interest::Query(_), _, _) => false,
        }
    }
}

/// How far a part of an interest reaches. None: it is all of it.
pub(crate) fn reach(part: &Interest, all: &Interest) -> Option<KeyRange> {
    match part {
        Interest::Query(query) if part != all => Some(query.range.clone()),
        Interest::Cell(_) | Interest::Range { .. } | Interest::Query(_) => None,
    }
}
