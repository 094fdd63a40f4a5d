//! How many replicas it takes, of n = 2f + 1.
//!
//! Invariants: any two majorities meet; whatever a fast quorum voted, at least `kept` of any majority voted too; and a majority that voted against
//! leaves no fast quorum for.
//! Source: TAPIR (TOCS 2018) 3.2. Its Figure 5 and its text give two thresholds for `kept`; this is the text's, over exactly f + 1 records.

use crate::node::Group;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quorums {
    faults: usize,
}

impl Quorums {
    pub fn of(group: &Group) -> Quorums {
        Quorums { faults: group.members().len() / 2 }
    }

    pub fn members(self) -> usize {
        2 * self.faults + 1
    }

    /// f + 1.
    pub fn majority(self) -> usize {
        self.faults + 1
    }

    /// ceil(3f / 2) + 1: whose equal votes decide at once.
    pub fn fast(self) -> usize {
        (3 * self.faults).div_ceil(2) + 1
    }

    /// ceil(f / 2) + 1: in how many of a majority's records a vote is that may have been decided at once.
    pub fn kept(self) -> usize {
        self.faults.div_ceil(2) + 1
    }

    /// More than f / 2 + 1, as Figure 5 has it: too many when f is even (flaw 4).
    pub fn kept_as_figure_5(self) -> usize {
        self.faults / 2 + 2 - self.faults % 2
    }

    /// f + 1 + floor(f / 2): who has to answer a Close so that nothing else can come to be decided below it, without telling the group.
    pub fn close(self) -> usize {
        self.majority() + self.faults / 2
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quorums_meet_as_they_have_to() {
        for faults in 0..=3 {
            let quorums = Quorums { faults };
            let n = quorums.members();
            assert!(2 * quorums.majority() > n);
            // Of a fast quorum, so many are in any majority at least.
            assert_eq!(quorums.fast() + quorums.majority() - n, quorums.kept());
            // Two conflicting operations cannot both be kept by one majority: each replica votes for one of them.
            assert!(2 * quorums.kept() > quorums.majority());
            // A majority against leaves no fast quorum, and a fast quorum against leaves nothing to keep.
            assert!(n - quorums.majority() < quorums.fast());
            assert!(n - quorums.fast() < quorums.kept());
            // Whoever was not told to close is too few to be kept.
            assert!(n - quorums.close() < quorums.kept());
            assert!(quorums.close() <= n);
        }
    }

    #[test]
    fn the_sizes_for_one_three_and_five() {
        let sizes = |faults| {
            let quorums = Quorums { faults };
            (quorums.majority(), quorums.fast(), quorums.kept(), quorums.close())
        };
        assert_eq!((sizes(0), sizes(1), sizes(2)), ((1, 1, 1, 1), (2, 3, 2, 2), (3, 4, 2, 4)));
    }
}
