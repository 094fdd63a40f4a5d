//! How many replicas it takes, of n = 2f + 1.
//!
//! Invariants: any two majorities meet; whatever all voted, a whole majority voted too; and at least one replica is in all three of a quorum that decided at once
//! and two majorities.
//! Source: TAPIR (TOCS 2018) 3.2, whose fast quorum is smaller: ceil(3f / 2) + 1. From f = 2 on that is too few, however many records a merge wants
//! (decision 0022). Its Figure 5 and its text give two thresholds for that.

use crate::broken::Broken;
use crate::node::Group;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quorums {
    faults: usize,
    broken: Broken,
}

impl Quorums {
    pub fn of(group: &Group) -> Quorums {
        Quorums { faults: group.members().len() / 2, broken: Broken::Nothing }
    }

    /// Some of what is broken are the quorums themselves.
    pub fn broken(self, broken: Broken) -> Quorums {
        Quorums { broken, ..self }
    }

    pub fn members(self) -> usize {
        2 * self.faults + 1
    }

    /// f + 1.
    pub fn majority(self) -> usize {
        self.faults + 1
    }

    /// All: whose equal votes decide at once.
    pub fn fast(self) -> usize {
        match self.broken {
            Broken::FastAsPublished | Broken::MergeAsFigure5 => (3 * self.faults).div_ceil(2) + 1,
            _ => self.members(),
        }
    }

    /// All of a majority: in how many of its records a vote is that may have been decided at once.
    pub fn kept(self) -> usize {
        match self.broken {
            // More than f / 2 + 1.
            Broken::MergeAsFigure5 => self.faults / 2 + 2 - self.faults % 2,
            Broken::FastAsPublished => self.faults.div_ceil(2) + 1,
            _ => self.majority(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quorums_meet_as_they_have_to() {
        for faults in 0..=3 {
            let quorums = Quorums { faults, broken: Broken::Nothing };
            let n = quorums.members();
            assert!(2 * quorums.majority() > n);
            // Of a fast quorum, so many are in any majority at least.
            assert_eq!(quorums.fast() + quorums.majority() - n, quorums.kept());
            // In every merge there is one that voted for what was decided at once, and for what was accepted after it: it knew how the first had ended.
            assert!(quorums.fast() + 2 * quorums.majority() > 2 * n);
            // Two conflicting operations cannot both be kept by one majority: each replica votes for one of them.
            assert!(2 * quorums.kept() > quorums.majority());
            // A majority against leaves no fast quorum, and a fast quorum against leaves nothing to keep.
            assert!(n - quorums.majority() < quorums.fast());
            assert!(n - quorums.fast() < quorums.kept());
            // Whoever a majority that closes has not told of is too few to be kept.
            assert!(n - quorums.majority() < quorums.kept());
        }
    }

    #[test]
    fn the_published_fast_quorum_does_not_meet_two_majorities_from_five_replicas_on() {
        let meets = |faults| {
            let quorums = Quorums { faults, broken: Broken::FastAsPublished };
            quorums.fast() + 2 * quorums.majority() > 2 * quorums.members()
        };
        assert_eq!([0, 1, 2, 3, 4].map(meets), [true, true, false, false, false]);
    }

    #[test]
    fn the_sizes_for_one_three_and_five() {
        let sizes = |faults| {
            let quorums = Quorums { faults, broken: Broken::Nothing };
            (quorums.majority(), quorums.fast(), quorums.kept())
        };
        assert_eq!((sizes(0), sizes(1), sizes(2)), ((1, 1, 1), (2, 3, 2), (3, 5, 3)));
    }
}
