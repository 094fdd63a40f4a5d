//! A counter that merges.
//!
//! Invariant: the total is the sum of what was added in the lives that the row has. So a deletion takes nothing away, and two at once take nothing twice.

use std::collections::BTreeMap;

use super::{Lives, Mark};

/// The amount that was added in each life of the row, modulo 2^64.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct LifeCounter {
    sums: BTreeMap<Mark, i64>,
}

impl LifeCounter {
    /// A counter as a peer or a disk described it.
    pub fn from_sums(sums: BTreeMap<Mark, i64>) -> LifeCounter {
        LifeCounter { sums }
    }

    /// The sum of each life, in the order of lives.
    pub fn sums(&self) -> impl ExactSizeIterator<Item = (Mark, i64)> {
        self.sums.iter().map(|(life, sum)| (*life, *sum))
    }

    /// The sum over the lives that the row has.
    pub fn total(&self, lives: &Lives) -> i64 {
        let counted = self.sums.iter().filter(|(life, _)| lives.has(**life));
        counted.fold(0, |total: i64, (_, sum)| total.wrapping_add(*sum))
    }

    pub(super) fn add(&mut self, life: Mark, amount: i64) {
        let sum = self.sums.entry(life).or_default();
        *sum = sum.wrapping_add(amount);
    }
}
