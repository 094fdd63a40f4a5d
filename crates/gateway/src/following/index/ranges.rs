//! Ranges of keys that something is interested in, found by a key: of one table, or of one index of a table.
//!
//! Invariant: ranges of one layer do not overlap, so a layer is asked with one look-up. A range is in the first layer that had room for it,
//! so there are about as many layers as ranges that overlap in one place. Ranges that are open at an end are in none: of these, those that contain a key are
//! all whose other end is on its one side.

use std::borrow::Borrow;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::Arc;

use iolite_values::KeyRange;

#[derive(Debug)]
pub struct RangeIndex<T> {
    entries: BTreeMap<KeyRange, Entry<T>>,
    /// By lower bound.
    layers: Vec<BTreeMap<Arc<[u8]>, KeyRange>>,
    /// Ranges without an end, by lower bound.
    endless: BTreeMap<Arc<[u8]>, KeyRange>,
    /// Ranges that have one, and begin where all keys do, by upper bound.
    initial: BTreeMap<Arc<[u8]>, KeyRange>,
}

/// Where a range is kept.
#[derive(Debug)]
enum Kept {
    /// An empty range contains nothing.
    Nowhere,
    Endless,
    Initial,
    InLayer(usize),
}

#[derive(Debug)]
struct Entry<T> {
    kept: Kept,
    targets: BTreeSet<T>,
}

impl<T> Default for RangeIndex<T> {
    fn default() -> RangeIndex<T> {
        RangeIndex { entries: BTreeMap::new(), layers: Vec::new(), endless: BTreeMap::new(), initial: BTreeMap::new() }
    }
}

impl<T: Copy + Ord> RangeIndex<T> {
    pub fn insert(&mut self, range: &KeyRange, target: T) {
        if let Some(entry) = self.entries.get_mut(range) {
            entry.targets.insert(target);
            return;
        }
        let kept = self.place(range);
        self.entries.insert(range.clone(), Entry { kept, targets: [target].into() });
    }

    pub fn remove(&mut self, range: &KeyRange, target: T) {
        let Some(entry) = self.entries.get_mut(range) else { return };
        entry.targets.remove(&target);
        if !entry.targets.is_empty() {
            return;
        }
        match (&entry.kept, &range.upper) {
            (Kept::InLayer(layer), _) => drop(self.layers[*layer].remove(&range.lower)),
            (Kept::Initial, Some(upper)) => drop(self.initial.remove(upper)),
            (Kept::Endless, _) => drop(self.endless.remove(&range.lower)),
            (Kept::Nowhere | Kept::Initial, _) => {}
        }
        self.entries.remove(range);
        while self.layers.last().is_some_and(BTreeMap::is_empty) {
            self.layers.pop();
        }
    }

    /// Every target whose range contains the key, once.
    pub fn matches<K: Borrow<[u8]>>(&self, key: K) -> impl Iterator<Item = T> + use<'_, T, K> {
        let endless = self.endless.range::<[u8], _>(up_to(key.borrow()));
        let initial = self.initial.range::<[u8], _>((Bound::Excluded(key.borrow()), Bound::Unbounded));
        let open = endless.chain(initial).map(|(_, range)| range);
        let in_layers = self.layers.iter().filter_map(move |layer| {
            let (_, range) = layer.range::<[u8], _>(up_to(key.borrow())).next_back()?;
            range.contains_bytes(key.borrow()).then_some(range)
        });
        open.chain(in_layers).flat_map(|range| self.targets(range))
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

    fn targets(&self, range: &KeyRange) -> impl Iterator<Item = T> + use<'_, T> {
        self.entries.get(range).into_iter().flat_map(|entry| entry.targets.iter().copied())
    }

    fn place(&mut self, range: &KeyRange) -> Kept {
        match &range.upper {
            Some(_) if range.is_empty() => Kept::Nowhere,
            None => {
                self.endless.insert(range.lower.clone(), range.clone());
                Kept::Endless
            }
            Some(upper) if range.lower.is_empty() => {
                self.initial.insert(upper.clone(), range.clone());
                Kept::Initial
            }
            Some(_) => Kept::InLayer(self.place_in_layer(range)),
        }
    }

    /// Puts a range into the first layer with room for it.
    fn place_in_layer(&mut self, range: &KeyRange) -> usize {
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
    use crate::following::index::Target;

    fn key(number: i64) -> RowKey {
        RowKey::new(&[Value::Int(number)]).expect("short")
    }

    fn target(subscription: u32) -> Target {
        Target { session: SessionId(1), subscription: SubscriptionId(subscription) }
    }

    /// From one number up to another, or to the end; empty if they cross.
    fn any_range() -> impl Strategy<Value = KeyRange> {
        (-1i64..12, 0i64..14).prop_map(|(lower, upper)| KeyRange {
            lower: if lower < 0 { [].into() } else { key(lower).as_bytes().into() },
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
                index.matches(key(row).as_bytes()).for_each(|target| assert!(found.insert(target), "found once"));
                let staying = (0..).zip(&ranges).filter(|(_, (range, stays))| *stays && range.contains(&key(row)));
                let expected: BTreeSet<Target> = staying.map(|(name, _)| target(name)).collect();
                prop_assert_eq!(found, expected);
            }
        }
    }

    #[test]
    fn whole_tables_and_parts_take_one_layer_however_many_they_are() {
        let mut index = RangeIndex::default();
        for name in 0..1000 {
            let part = KeyRange::one(&key(i64::from(name)));
            index.insert(&part, target(name));
            index.insert(&KeyRange::all(), target(1000 + name));
        }
        assert_eq!((index.layers.len(), index.len()), (1, 2000));
        for name in 0..1000 {
            index.remove(&KeyRange::one(&key(i64::from(name))), target(name));
            index.remove(&KeyRange::all(), target(1000 + name));
        }
        assert!(index.is_empty() && index.layers.is_empty());
    }

    #[test]
    fn ranges_that_are_open_at_an_end_take_no_layer_however_they_overlap() {
        let mut index = RangeIndex::default();
        for (name, bound) in (0..).zip(0i64..1000) {
            index.insert(&KeyRange::all().from(&key(bound)), target(name));
            index.insert(&KeyRange::all().through(&key(bound)), target(1000 + name));
        }
        let found: BTreeSet<Target> = index.matches(key(2).as_bytes()).collect();
        let expected = (0..=2).chain(1002..2000).map(target).collect();
        assert_eq!((index.layers.len(), found), (0, expected));
    }
}
