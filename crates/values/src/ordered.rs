//! Ordered maps and sets, made by inserting one after the other.
//!
//! Invariant: they are what `collect` makes. That sorts first, by 4 kB of code for each type of entries, and pages load all code.

use std::collections::{BTreeMap, BTreeSet};

/// A map of these entries. Of two with one key the later one stands.
pub fn map_of<K: Ord, V>(entries: impl IntoIterator<Item = (K, V)>) -> BTreeMap<K, V> {
    let mut map = BTreeMap::new();
    map.extend(entries);
    map
}

/// A set of these members.
pub fn set_of<T: Ord>(members: impl IntoIterator<Item = T>) -> BTreeSet<T> {
    let mut set = BTreeSet::new();
    set.extend(members);
    set
}
