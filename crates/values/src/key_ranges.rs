//! Many ranges of rows at once.
//!
//! Invariant: what is kept lies apart and together has the rows of all ranges, so one look-up tells, however many there were.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use crate::{KeyRange, RowKey};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeyRanges {
    /// Upper bounds by lower ones.
    ranges: BTreeMap<Arc<[u8]>, Option<Arc<[u8]>>>,
}

impl KeyRanges {
    /// Takes a range that begins where the last one does, or behind.
    fn add_next(&mut self, range: &KeyRange) {
        let last = self.ranges.last_entry().filter(|last| last.get().as_ref().is_none_or(|end| range.lower <= *end));
        match last {
            None => drop(self.ranges.insert(range.lower.clone(), range.upper.clone())),
            Some(mut last) => {
                let end = last.get().clone().zip(range.upper.clone()).map(|(one, other)| one.max(other));
                last.insert(end);
            }
        }
    }

    /// Whether one of them has the row.
    pub fn contain(&self, key: &RowKey) -> bool {
        let up_to = (Bound::Unbounded, Bound::Included(key.as_bytes()));
        let below = self.ranges.range::<[u8], _>(up_to).next_back();
        below.is_some_and(|(_, upper)| upper.as_ref().is_none_or(|upper| key.as_bytes() < &**upper))
    }

    /// Those that touch are one.
    pub fn iter(&self) -> impl Iterator<Item = KeyRange> {
        self.ranges.iter().map(|(lower, upper)| KeyRange { lower: lower.clone(), upper: upper.clone() })
    }
}

impl<'a> FromIterator<&'a KeyRange> for KeyRanges {
    fn from_iter<T: IntoIterator<Item = &'a KeyRange>>(ranges: T) -> KeyRanges {
        let mut ranges: Vec<&KeyRange> = ranges.into_iter().filter(|range| !range.is_empty()).collect();
        ranges.sort_unstable();
        let mut all = KeyRanges::default();
        ranges.into_iter().for_each(|range| all.add_next(range));
        all
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::Value;

    fn key(number: u8) -> RowKey {
        RowKey::new(&[Value::Int(number.into())]).expect("short")
    }

    /// Empty ones are among them, and such as end where others begin.
    fn range() -> impl Strategy<Value = KeyRange> {
        let upper = prop_oneof![4 => (0u8..20).prop_map(|row| Some(key(row).as_bytes().into())), 1 => Just(None)];
        (0u8..20, upper).prop_map(|(row, upper)| KeyRange { lower: key(row).as_bytes().into(), upper })
    }

    proptest! {
        #[test]
        fn they_have_the_rows_of_each_and_lie_apart(ranges in prop::collection::vec(range(), 0..8)) {
            let all: KeyRanges = ranges.iter().collect();
            for row in (0..20).map(key) {
                prop_assert_eq!(all.contain(&row), ranges.iter().any(|range| range.contains(&row)));
            }
            let kept: Vec<KeyRange> = all.iter().collect();
            prop_assert!(kept.windows(2).all(|pair| pair[0].upper.as_ref().is_some_and(|upper| *upper < pair[1].lower)));
        }
    }
}
