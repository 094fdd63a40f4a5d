//! A set of a client's counters, as ranges: counters that a client leaves out come in runs.
//!
//! Invariant: ranges are disjoint, and do not touch.

use std::collections::BTreeMap;

use iolite_values::Counter;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// The last of each range, by the first.
    ranges: BTreeMap<Counter, Counter>,
}

impl Counters {
    /// Those from `first` to `last`, both included. They are above all that are here.
    pub fn append(&mut self, first: Counter, last: Counter) {
        match self.ranges.last_entry() {
            Some(mut before) if before.get().next() == first => *before.get_mut() = last,
            Some(_) | None => {
                self.ranges.insert(first, last);
            }
        }
    }

    pub fn contains(&self, counter: Counter) -> bool {
        self.range_of(counter).is_some()
    }

    pub fn remove(&mut self, counter: Counter) {
        let Some((first, last)) = self.range_of(counter) else { return };
        self.ranges.remove(&first);
        if first < counter {
            self.ranges.insert(first, Counter(counter.0 - 1));
        }
        if counter < last {
            self.ranges.insert(counter.next(), last);
        }
    }

    /// Those that are in both.
    pub fn within(&self, other: &Counters) -> Counters {
        let mut both = Counters::default();
        for (first, last) in &self.ranges {
            let begins = other.range_of(*first).map_or(*first, |(own, _)| own);
            for (others_first, others_last) in other.ranges.range(begins..=*last) {
                both.append(*first.max(others_first), *last.min(others_last));
            }
        }
        both
    }

    pub fn ranges(&self) -> impl Iterator<Item = (Counter, Counter)> {
        self.ranges.iter().map(|(first, last)| (*first, *last))
    }

    fn range_of(&self, counter: Counter) -> Option<(Counter, Counter)> {
        let (first, last) = self.ranges.range(..=counter).next_back()?;
        (*last >= counter).then_some((*first, *last))
    }
}

impl FromIterator<(Counter, Counter)> for Counters {
    /// Of ranges in order.
    fn from_iter<T: IntoIterator<Item = (Counter, Counter)>>(ranges: T) -> Counters {
        let mut counters = Counters::default();
        ranges.into_iter().for_each(|(first, last)| counters.append(first, last));
        counters
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(ranges: &[(u64, u64)]) -> Counters {
        ranges.iter().map(|(first, last)| (Counter(*first), Counter(*last))).collect()
    }

    #[test]
    fn what_is_taken_out_of_a_range_leaves_the_rest() {
        let mut counters = set(&[(2, 4), (5, 5), (8, 9)]);
        assert_eq!(counters, set(&[(2, 5), (8, 9)]), "ranges that touch are one");
        for (taken, left) in [(4, &[(2, 3), (5, 5), (8, 9)][..]), (5, &[(2, 3), (8, 9)]), (8, &[(2, 3), (9, 9)])] {
            assert!(counters.contains(Counter(taken)));
            counters.remove(Counter(taken));
            assert_eq!(counters, set(left));
        }
        counters.remove(Counter(7));
        assert_eq!(
            [1, 2, 3, 4, 9, 10].map(|own| counters.contains(Counter(own))),
            [false, true, true, false, true, false]
        );
    }

    #[test]
    fn two_sets_have_in_common_what_is_in_both() {
        let (a, b) = (set(&[(1, 5), (7, 7), (10, 20)]), set(&[(3, 12), (14, 14), (20, 30)]));
        let both = set(&[(3, 5), (7, 7), (10, 12), (14, 14), (20, 20)]);
        assert_eq!((a.within(&b), b.within(&a)), (both.clone(), both));
        assert_eq!(a.within(&Counters::default()), Counters::default());
    }
}
