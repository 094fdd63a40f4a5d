//! The ranges that are held, for the question whether one of them covers something.
//!
//! Invariant: no range here covers another one. Those of a table in the order of their lower bounds are then also in the order of their
//! upper bounds, so of all that begin early enough, the last one reaches farthest: it alone has to be looked at.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use iolite_values::{Direction, Interest, KeyRange, TableId};

use super::RowId;

type Lower = Arc<[u8]>;
type Upper = Option<Arc<[u8]>>;

#[derive(Debug, Default)]
pub(super) struct LiveRanges {
    by_lower: BTreeMap<(TableId, Lower), Upper>,
}

impl LiveRanges {
    pub(super) fn covering(&self, interest: &Interest) -> Option<Interest> {
        let (table, lower) = match interest {
            Interest::Cell(cell) => (cell.table, Arc::from(cell.row.as_bytes())),
            Interest::Range { table, range } => (*table, range.lower.clone()),
            Interest::Query(query) => (query.table, query.keys.lower.clone()),
        };
        let ((found, lower), upper) = self.by_lower.range(..=(table, lower)).next_back()?;
        let range = KeyRange { lower: lower.clone(), upper: upper.clone() };
        let candidate = Interest::Range { table: *found, range };
        candidate.covers(interest).then_some(candidate)
    }

    /// The range that has the beginning of this one, seen from one end, and reaches farthest from there.
    pub(super) fn at_beginning(&self, table: TableId, range: &KeyRange, direction: Direction) -> Option<KeyRange> {
        let first = (table, Arc::from([]));
        let found = match direction {
            Direction::Ascending => self.by_lower.range(first..=(table, range.lower.clone())).next_back(),
            Direction::Descending => {
                let end = match (&range.upper, table.0.checked_add(1)) {
                    (Some(upper), _) => Bound::Excluded((table, upper.clone())),
                    (None, Some(next)) => Bound::Excluded((TableId(next), Arc::from([]))),
                    (None, None) => Bound::Unbounded,
                };
                let reaches = |own: &Upper| match (own, &range.upper) {
                    (None, _) => true,
                    (Some(_), None) => false,
                    (Some(own), Some(upper)) => upper <= own,
                };
                let from_end = self.by_lower.range((Bound::Included(first), end)).rev();
                from_end.take_while(|(_, upper)| reaches(upper)).last()
            }
        };
        found.map(|((_, lower), upper)| KeyRange { lower: lower.clone(), upper: upper.clone() })
    }

    /// Whether one of them has this row.
    pub(super) fn covers_row(&self, (table, key): &RowId) -> bool {
        let before = self.by_lower.range(..=(*table, Arc::from(key.as_bytes()))).next_back();
        before.is_some_and(|((own, _), upper)| {
            own == table && upper.as_ref().is_none_or(|upper| *key.as_bytes() < **upper)
        })
    }

    pub(super) fn insert(&mut self, interest: &Interest) {
        let Interest::Range { table, range } = interest else { return };
        if self.covering(interest).is_some() {
            return;
        }
        let behind = self.by_lower.range((*table, range.lower.clone())..);
        let covered = behind.take_while(|((own, lower), upper)| {
            own == table && range.covers(&KeyRange { lower: lower.clone(), upper: (*upper).clone() })
        });
        let covered: Vec<_> = covered.map(|(key, _)| key.clone()).collect();
        for key in covered {
            self.by_lower.remove(&key);
        }
        self.by_lower.insert((*table, range.lower.clone()), range.upper.clone());
    }

    /// `others` are the live interests that stay: what only the removed one covered is looked at for itself from now on.
    pub(super) fn remove<'a>(&mut self, interest: &Interest, others: impl Iterator<Item = &'a Interest>) {
        let Interest::Range { table, range } = interest else { return };
        let key = (*table, range.lower.clone());
        if self.by_lower.get(&key) != Some(&range.upper) {
            return;
        }
        self.by_lower.remove(&key);
        for other in others.filter(|other| interest.covers(other)) {
            self.insert(other);
        }
    }

    pub(super) fn clear(&mut self) {
        self.by_lower.clear();
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn range(table: u32, lower: u8, upper: Option<u8>) -> Interest {
        let bound = |byte: u8| Arc::from([byte].as_slice());
        Interest::Range { table: TableId(table), range: KeyRange { lower: bound(lower), upper: upper.map(bound) } }
    }

    fn any_range() -> impl Strategy<Value = Interest> {
        (0u32..2, 0u8..12, prop::option::of(0u8..12)).prop_map(|(table, lower, upper)| range(table, lower, upper))
    }

    proptest! {
        #[test]
        fn something_is_covered_when_any_of_the_ranges_covers_it(
            steps in prop::collection::vec((any::<bool>(), any_range()), 0..40),
            asked in prop::collection::vec(any_range(), 1..10),
        ) {
            let mut own = LiveRanges::default();
            let mut all: Vec<Interest> = Vec::new();
            for (comes, interest) in steps {
                all.retain(|other| *other != interest);
                if comes {
                    own.insert(&interest);
                    all.push(interest);
                } else {
                    own.remove(&interest, all.iter());
                }
                for asked in &asked {
                    let covered = all.iter().any(|range| range.covers(asked));
                    prop_assert_eq!(own.covering(asked).is_some(), covered, "{:?} of {:?}", asked, all);
                }
            }
        }
    }
}
