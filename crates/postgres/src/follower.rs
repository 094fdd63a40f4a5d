//! Following the feed: how far it is, how far it has to go, and the segments on the way.
//!
//! Invariant: each segment begins where the one before ended, and holds its commits in the order of their timestamps.

use iolite_store::{Commit, Segment};
use iolite_values::Timestamp;

use crate::facts::Malformed;

/// One store's place in the feed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Follower {
    cursor: Timestamp,
    wanted: Timestamp,
}

/// What the database holds of the feed after a cursor.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stretch {
    /// In timestamp order; `None` for an abort, which the feed does not tell.
    pub commits: Vec<(Timestamp, Option<Commit>)>,
    pub reach: Reach,
}

/// How far a stretch reaches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reach {
    /// To where it was asked.
    #[default]
    Whole,
    /// To its last commit: the rest would be too much for once.
    Cut,
}

impl Follower {
    /// Begins at `resolved`, whatever was before.
    pub fn begin(&mut self, resolved: Timestamp) {
        *self = Follower { cursor: resolved, wanted: resolved };
    }

    /// Everything through here was told.
    pub fn cursor(&self) -> Timestamp {
        self.cursor
    }

    /// The last timestamp at which something is known to have happened.
    pub fn known(&self) -> Timestamp {
        self.wanted.max(self.cursor)
    }

    /// Something happened at `at`, so the feed has to get there.
    pub fn want(&mut self, at: Timestamp) {
        self.wanted = self.wanted.max(at);
    }

    /// Where to close next, if anywhere.
    pub fn target(&self) -> Option<Timestamp> {
        (self.wanted > self.cursor).then_some(self.wanted)
    }

    /// Moves on by what there is in (cursor, through], of which nothing more can come.
    ///
    /// # Errors
    /// [`Malformed`], when that is not a stretch of the feed.
    pub fn advance(&mut self, through: Timestamp, stretch: Stretch) -> Result<Option<Segment>, Malformed> {
        let from = self.cursor;
        let mut before = from;
        for (at, _) in &stretch.commits {
            if *at <= before || *at > through {
                return Err(Malformed::Unexpected("commits out of their order"));
            }
            before = *at;
        }
        let to = match stretch.reach {
            Reach::Whole => through,
            Reach::Cut => before,
        };
        // The rest of a long stretch.
        self.want(through);
        if to <= from {
            return Ok(None);
        }
        self.cursor = to;
        let commits = stretch.commits.into_iter().filter_map(|(_, commit)| commit).collect();
        Ok(Some(Segment { from, to, commits }))
    }
}

#[cfg(test)]
mod tests {
    use iolite_values::TransactionId;

    use super::*;

    fn at(number: u64) -> Timestamp {
        Timestamp::from_u64(number)
    }

    fn commit(number: u64) -> Commit {
        Commit { at: at(number), transaction: TransactionId::default(), writes: [].into() }
    }

    fn stretch(numbers: &[u64], reach: Reach) -> Stretch {
        Stretch { commits: numbers.iter().map(|number| (at(*number), Some(commit(*number)))).collect(), reach }
    }

    fn follower() -> Follower {
        let mut follower = Follower::default();
        follower.begin(at(10));
        follower
    }

    #[test]
    fn segments_join_and_go_where_they_are_wanted() {
        let mut follower = follower();
        assert_eq!(follower.target(), None);
        follower.want(at(20));
        follower.want(at(15));
        assert_eq!(follower.target(), Some(at(20)));
        let first = follower.advance(at(20), stretch(&[12, 20], Reach::Whole));
        assert_eq!(first, Ok(Some(Segment { from: at(10), to: at(20), commits: vec![commit(12), commit(20)] })));
        assert_eq!(follower.target(), None);
        let second = follower.advance(at(30), stretch(&[], Reach::Whole));
        assert_eq!(second, Ok(Some(Segment { from: at(20), to: at(30), commits: vec![] })));
    }

    #[test]
    fn a_stretch_that_is_cut_ends_at_its_last_commit_and_the_rest_is_wanted() {
        let mut follower = follower();
        let segment = follower.advance(at(30), stretch(&[12, 14], Reach::Cut)).expect("in order").expect("a stretch");
        assert_eq!((segment.to, follower.target()), (at(14), Some(at(30))));
    }

    #[test]
    fn an_abort_moves_the_feed_on_and_is_not_told() {
        let mut follower = follower();
        let abort = Stretch { commits: vec![(at(12), None)], reach: Reach::Whole };
        assert_eq!(follower.advance(at(12), abort), Ok(Some(Segment { from: at(10), to: at(12), commits: vec![] })));
    }

    #[test]
    fn what_lies_below_the_cursor_or_beyond_the_end_is_no_stretch() {
        for numbers in [&[10][..], &[9], &[12, 12], &[13, 12], &[31]] {
            assert!(follower().advance(at(30), stretch(numbers, Reach::Whole)).is_err(), "{numbers:?}");
        }
        assert_eq!(follower().advance(at(10), Stretch::default()), Ok(None), "nothing is no segment");
    }
}
