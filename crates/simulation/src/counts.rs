//! Counts by kind, in the kinds' order.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;

/// How often each kind of something happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Counts<Kind: Ord>(BTreeMap<Kind, u64>);

impl<Kind: Ord> Default for Counts<Kind> {
    fn default() -> Counts<Kind> {
        Counts(BTreeMap::new())
    }
}

impl<Kind: Ord + Copy> Counts<Kind> {
    pub fn add(&mut self, kind: Kind, count: u64) {
        *self.0.entry(kind).or_default() += count;
    }

    pub fn of(&self, kind: Kind) -> u64 {
        self.0.get(&kind).copied().unwrap_or(0)
    }

    pub fn is_empty(&self) -> bool {
        self.0.values().all(|count| *count == 0)
    }

    pub fn merge(&mut self, other: &Counts<Kind>) {
        for (kind, count) in &other.0 {
            self.add(*kind, *count);
        }
    }
}

impl<Kind: Ord + fmt::Debug> fmt::Display for Counts<Kind> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counts: Vec<String> = self.0.iter().map(|(kind, count)| format!("{kind:?} {count}")).collect();
        f.write_str(&counts.join(", "))
    }
}
