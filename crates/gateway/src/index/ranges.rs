//! Ranges of keys that something is interested in, found by a key: of one table, or of one index of a table.
//!
//! Invariant: ranges of one layer do not overlap, so a layer is asked with one look-up. A range is in the first layer that had room for it,
//! so there are about as many layers as ranges that overlap in one place: two, if some sessions watch a whole table and many others a part each.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::Arc;

use iolite_values::KeyRange;

#[derive(Debug)]
pub struct RangeIndex<T> {
    entries: BTreeMap<KeyRange, Entry<T>>,
    /// By lower bound.
    layers: Vec<BTreeMap<Arc<[u8]>, KeyRange>>,
}

#[derive(Debug)]
struct Entry<T> {
    /// An empty range is in none.
    layer: Option<usize>,
    targets: BTreeSet<T>,
}

impl<T> Default for RangeIndex<T> {
    fn default() -> RangeIndex<T> {
        RangeIndex { entries: BTreeMap::new(), layers: Vec::new() }
    }
}

impl<T: Copy + Ord> RangeIndex<T> {
    pub fn insert(&mut self, range: &KeyRange, target: T) {
        if let Some(entry) = self.entries.get_mut(range) {
            entry.targets.insert(target);
            return;
        }
        let layer = (!range.is_empty()).then(|| self.place(range));
        self.entries.insert(range.clone(), Entry { layer, targets: [target].into() });
    }

    pub fn remove(&mut self, range: &KeyRange, target: T) {
        let Some(entry) = self.entries.get_mut(range) else { return };
        entry.targets.remove(&target);
        if !entry.targets.is_empty() {
            return;
        }
        if let Some(layer) = entry.layer {
            self.layers[layer].remove(&range.lower);
        }
        self.entries.remove(range);
        while self.layers.last().is_some_and(BTreeMap::is_empty) {
            self.layers.pop();
        }
    }

    /// Calls `found` for every target whose range contains the key.
    pub fn matches(&self, key: &[u8], mut found: impl FnMut(T)) {
        for layer in &self.layers {
            let Some((_, range)) = layer.range::<[u8], _>(up_to(key)).next_back() else { continue };
            if range.contains_bytes(key) {
                self.targets(range).for_each(&mut found);
            }
        }
    }

    pub fn contains(&self, range: &KeyRange, target: T) -> bool {
        self.entries.get(range).is_some_and(|entry| entry.targets.contains(&target))
    }

    pub fn len(&self) -> usize {
        self.entries.values().map(|entry| entry.targets.len()).sum()
    }

    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    fn targets(&self, range: &KeyRange) -> impl Iterator<Item = T> {
        self.entries.get(range).into_iter().flat_map(|entry| entry.targets.iter().copied())
    }

    /// Puts a range into the first layer with room for it.
    fn place(&mut self, range: &KeyRange) -> usize {
        let place = self.layers.iter().position(|layer| has_room(layer, range)).unwrap_or(self.layers.len());
        if place == self.layers.len() {
            self.layers.push(BTreeMap::new());
        }
        self.layers[place].insert(range.lower.clone(), range.clone());
        place
    }
}

/// Whether no range of the layer overlaps this one.
fn has_room(layer: &BTreeMap<Arc<[u8]>, KeyRange>, range: &KeyRange) -> bool {
    let before = layer.range::<[u8], _>(up_to(&range.lower)).next_back();
    let ends_before = before.is_none_or(|(_, own)| own.upper.as_ref().is_some_and(|upper| **upper <= *range.lower));
    let after = layer.range::<[u8], _>((Bound::Excluded(&*range.lower), Bound::Unbounded)).next();
    let begins_after = after.is_none_or(|(lower, _)| range.upper.as_ref().is_some_and(|upper| **upper <= **lower));
    ends_before && begins_after
}

fn up_to(bytes: &[u8]) -> (Bound<&[u8]>, Bound<&[u8]>) {
    (Bound::Unbounded, Bound::Included(bytes))
}

#[cfg(test)]
mod tests {
    use iolite_values::{RowKey, Value};
    use iolite_wire::message::SubscriptionId;
    use proptest::prelude::*;

    use super::*;
    use crate::SessionId;
    use crate::index::Target;

    fn key(number: i64) -> RowKey {
        RowKey::new(&[Value::Int(number)]).expect("short")
    }

    fn target(subscription: u32) -> Target {
        Target { session: SessionId(1), subscription: SubscriptionId(subscription) }
    }

    /// From one number up to another, or to the end; empty if they cross.
    fn any_range() -> impl Strategy<Value = KeyRange> {
        (0i64..12, 0i64..14).prop_map(|(lower, upper)| KeyRange {
            lower: key(lower).as_bytes().into(),
            upper: (upper < 13).then(|| key(upper).as_bytes().into()),
        })
    }

    proptest! {
        #[test]
        fn a_row_finds_exactly_the_ranges_that_contain_it(
            ranges in proptest::collection::vec((any_range(), any::<bool>()), 0..30),
        ) {
            let mut index = RangeIndex::default();
            for (name, (range, _)) in (0..).zip(&ranges) {
                index.insert(range, target(name));
            }
            for (name, (range, stays)) in (0..).zip(&ranges) {
                if !stays {
                    index.remove(range, target(name));
                }
            }
            for row in 0..13 {
                let mut found = BTreeSet::new();
                index.matches(key(row).as_bytes(), |target| assert!(found.insert(target), "found once"));
                let staying = (0..).zip(&ranges).filter(|(_, (range, stays))| *stays && range.contains(&key(row)));
                let expected: BTreeSet<Target> = staying.map(|(name, _)| target(name)).collect();
                prop_assert_eq!(found, expected);
            }
        }
    }

    #[test]
    fn whole_tables_and_parts_take_two_layers_however_many_they_are() {
        let mut index = RangeIndex::default();
        for name in 0..1000 {
            let part = KeyRange::one(&key(i64::from(name)));
            index.insert(&part, target(name));
            index.insert(&KeyRange::all(), target(1000 + name));
        }
        assert_eq!((index.layers.len(), index.len()), (2, 2000));
        for name in 0..1000 {
            index.remove(&KeyRange::one(&key(i64::from(name))), target(name));
            index.remove(&KeyRange::all(), target(1000 + name));
        }
        assert!(index.is_empty() && index.layers.is_empty());
    }
}
