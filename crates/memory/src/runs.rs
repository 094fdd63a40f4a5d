//! Free runs of units (pages of a region, blocks of a swap file).
//!
//! Invariants: runs neither overlap nor touch; every unit is in one run or is taken.

use std::collections::{BTreeMap, BTreeSet};

/// The free units between 0 and a size.
#[derive(Debug, Default)]
pub struct Runs {
    /// The length by the start.
    by_start: BTreeMap<u64, u64>,
    /// Length and start: the shortest run that fits is used, and of these the first.
    by_length: BTreeSet<(u64, u64)>,
    free: u64,
}

impl Runs {
    #[must_use]
    pub fn new(units: u64) -> Runs {
        let mut runs = Runs::default();
        if units > 0 {
            runs.insert(0, units);
        }
        runs
    }

    #[must_use]
    pub fn free_units(&self) -> u64 {
        self.free
    }

    /// Takes so many units that follow each other; `None` if no run has so many.
    pub fn take(&mut self, units: u64) -> Option<u64> {
        assert!(units > 0, "nobody takes nothing");
        let &(length, start) = self.by_length.range((units, 0)..).next()?;
        self.remove(start, length);
        if length > units {
            self.insert(start + units, length - units);
        }
        Some(start)
    }

    /// Gives units back, and returns the run that they are in now: its start and its length.
    ///
    /// # Panics
    /// When some of them are free already.
    pub fn give(&mut self, start: u64, units: u64) -> (u64, u64) {
        let end = start + units;
        let before = self.by_start.range(..end).next_back().map(|(&start, &length)| (start, length));
        if let Some((other, length)) = before {
            assert!(other + length <= start, "units {start}..{end} are free already");
        }
        let (mut first, mut length) = (start, units);
        if let Some((other, its)) = before.filter(|(other, its)| other + its == start) {
            self.remove(other, its);
            (first, length) = (other, its + length);
        }
        if let Some(its) = self.by_start.get(&end).copied() {
            self.remove(end, its);
            length += its;
        }
        self.insert(first, length);
        (first, length)
    }

    fn insert(&mut self, start: u64, length: u64) {
        self.by_start.insert(start, length);
        self.by_length.insert((length, start));
        self.free += length;
    }

    fn remove(&mut self, start: u64, length: u64) {
        self.by_start.remove(&start);
        self.by_length.remove(&(length, start));
        self.free -= length;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_shortest_run_that_fits_is_taken() {
        let mut runs = Runs::new(100);
        let taken: Vec<u64> = (0..10).map(|_| runs.take(10).expect("there is room")).collect();
        assert_eq!(taken, (0..10).map(|run| run * 10).collect::<Vec<u64>>());
        assert_eq!(runs.take(1), None);
        assert_eq!(runs.give(20, 20), (20, 20));
        assert_eq!(runs.give(70, 10), (70, 10));
        assert_eq!(runs.take(5), Some(70));
        assert_eq!(runs.take(6), Some(20));
        assert_eq!(runs.free_units(), 19);
    }

    #[test]
    #[should_panic(expected = "are free already")]
    fn giving_back_twice_is_a_broken_invariant() {
        let mut runs = Runs::new(10);
        runs.take(10);
        runs.give(0, 5);
        runs.give(4, 2);
    }

    proptest! {
        #[test]
        fn no_unit_is_taken_twice_and_none_is_lost(steps in proptest::collection::vec((any::<bool>(), 1_u64..9, any::<prop::sample::Index>()), 1..200)) {
            let mut runs = Runs::new(64);
            let mut taken: Vec<(u64, u64)> = Vec::new();
            for (take, units, which) in steps {
                if take {
                    let Some(start) = runs.take(units) else { continue };
                    prop_assert!(taken.iter().all(|(other, its)| other + its <= start || start + units <= *other));
                    taken.push((start, units));
                } else if !taken.is_empty() {
                    let (start, units) = taken.swap_remove(which.index(taken.len()));
                    let (first, length) = runs.give(start, units);
                    prop_assert!(first <= start && start + units <= first + length);
                }
                prop_assert_eq!(runs.free_units() + taken.iter().map(|(_, units)| units).sum::<u64>(), 64);
            }
            for (start, units) in taken.drain(..) {
                runs.give(start, units);
            }
            prop_assert_eq!(runs.take(64), Some(0));
        }
    }
}
