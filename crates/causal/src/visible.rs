//! The feed as clients may see it: through what K data centres have.
//!
//! Invariants:
//! - what is passed on is a prefix of the feed, and every entry of the outbox in it is in K data centres: here, where it was taken from, and where a peer
//!   has stored that it has it;
//! - what is passed on is whole: a commit is passed on with all of its writes, but those of the system's own tables.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use iolite_store::{Commit, Segment};
use iolite_values::Timestamp;
use iolite_wire::centres::{CentreName, Place, Taken};

use crate::limits::HELD_BYTES_MAX;
use crate::tables;

/// The feed, as far as it is held back.
#[derive(Clone, Debug)]
pub struct Visible {
    k: usize,
    /// Through where it was passed on.
    passed: Timestamp,
    /// Through where it has come.
    position: Timestamp,
    held: VecDeque<Segment>,
    held_bytes: usize,
    /// Entries of which it is not known that they are in K data centres, from the first such on.
    open: VecDeque<OpenEntry>,
    applied: BTreeMap<CentreName, Place>,
    /// Entries that are in K data centres, since they were last asked for.
    in_k: Vec<(Place, Option<Taken>)>,
    /// If the feed that was held was dropped: the place from which it is held again.
    dropped: Option<Timestamp>,
}

/// For so long the feed is held behind the place where it was dropped. A place that is older is given up for a newer one, as stores keep little history.
const DROPPED_FOR: Duration = Duration::from_secs(10);

#[derive(Clone, Debug)]
struct OpenEntry {
    place: Place,
    at: Timestamp,
    taken: Option<Taken>,
}

/// A thing to pass on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Passed {
    Segment(Segment),
    /// The feed between is not held any more: whoever follows reads anew, as of this.
    Anew(Timestamp),
}

impl Visible {
    /// The feed begins at `position`, where `last` is the last transaction. Nothing is shown before that one is in K data centres.
    pub fn new(k: usize, position: Timestamp, last: Place) -> Visible {
        let mut open = VecDeque::new();
        if last > Place::START {
            open.push_back(OpenEntry { place: last, at: position, taken: None });
        }
        let (held, applied) = (VecDeque::new(), BTreeMap::new());
        // What comes first is said anew.
        Visible {
            k,
            passed: Timestamp::ZERO,
            position,
            held,
            held_bytes: 0,
            open,
            applied,
            in_k: Vec::new(),
            dropped: Some(position),
        }
    }

    /// A peer has stored that it has this outbox through a place.
    pub fn applied(&mut self, peer: &CentreName, through: Place) {
        let own = self.applied.entry(peer.clone()).or_default();
        *own = through.max(*own);
    }

    /// An entry has come with the feed.
    pub fn entry(&mut self, place: Place, at: Timestamp, taken: Option<Taken>) {
        self.open.push_back(OpenEntry { place, at, taken });
    }

    /// The feed has come. Its entries were told before.
    pub fn hold(&mut self, mut segment: Segment) {
        self.position = segment.to;
        let is_old =
            |at: Timestamp| self.position.micros().saturating_sub(at.micros()) > DROPPED_FOR.as_micros() as u64;
        if self.dropped.is_some_and(is_old) {
            return self.drop_held();
        }
        segment.commits = segment.commits.into_iter().map(without_system).collect();
        self.held_bytes += bytes(&segment);
        self.held.push_back(segment);
        if self.held_bytes > HELD_BYTES_MAX {
            self.drop_held();
        }
    }

    /// Through where clients may see it.
    fn through(&mut self) -> Timestamp {
        while self.open.front().is_some_and(|entry| self.is_in_k(entry)) {
            self.in_k.extend(self.open.pop_front().map(|entry| (entry.place, entry.taken)));
        }
        self.open.front().map_or(self.position, |entry| before(entry.at))
    }

    fn is_in_k(&self, entry: &OpenEntry) -> bool {
        let elsewhere = |(peer, place): &(&CentreName, &Place)| {
            **place >= entry.place && entry.taken.as_ref().map(|taken| &taken.from) != Some(peer)
        };
        let others = self.applied.iter().filter(elsewhere).count();
        1 + usize::from(entry.taken.is_some()) + others >= self.k
    }

    /// The next thing to pass on.
    pub fn pass(&mut self) -> Option<Passed> {
        let through = self.through();
        if let Some(at) = self.dropped {
            // Only all of it at once: what is before is not here.
            if through < at {
                return None;
            }
            (self.dropped, self.passed) = (None, at);
            return Some(Passed::Anew(at));
        }
        let segment = self.held.pop_front()?;
        if through <= segment.from {
            self.held.push_front(segment);
            return None;
        }
        self.held_bytes -= bytes(&segment);
        let segment = if segment.to <= through { segment } else { self.cut(segment, through) };
        self.passed = segment.to;
        Some(Passed::Segment(segment))
    }

    /// The part of a segment through `at`; the rest is held on.
    fn cut(&mut self, segment: Segment, at: Timestamp) -> Segment {
        let Segment { from, to, mut commits } = segment;
        let later = commits.split_off(commits.partition_point(|commit| commit.at <= at));
        let rest = Segment { from: at, to, commits: later };
        self.held_bytes += bytes(&rest);
        self.held.push_front(rest);
        Segment { from, to: at, commits }
    }

    /// Entries that are in K data centres since this was last asked: all those of what was passed, and perhaps more.
    pub fn take_in_k(&mut self) -> Vec<(Place, Option<Taken>)> {
        std::mem::take(&mut self.in_k)
    }

    /// Shows nothing, and forgets of which entries that is known to be in K data centres.
    pub fn show_nothing(&mut self) {
        self.through();
        self.drop_held();
    }

    /// Drops what is held.
    pub fn drop_held(&mut self) {
        (self.held, self.held_bytes, self.dropped) = (VecDeque::new(), 0, Some(self.position));
    }

    pub fn held_bytes(&self) -> usize {
        self.held_bytes
    }

    /// The commits of the feed that were not passed on.
    ///
    /// # Errors
    /// They are not all here, or one after `at` was passed on: through where it has to be passed on until somebody knows.
    pub fn unseen_after(&self, at: Timestamp) -> Result<impl Iterator<Item = &Commit>, Timestamp> {
        match self.dropped {
            Some(dropped) => Err(dropped),
            None if self.passed > at => Err(self.passed),
            None => Ok(self.held.iter().flat_map(|segment| &segment.commits)),
        }
    }

    /// Through where it was passed on.
    pub fn passed(&self) -> Timestamp {
        self.passed
    }

    /// Whether something is held back, or was and is dropped.
    pub fn is_held(&self) -> bool {
        self.passed < self.position
    }

    /// From where history has to be kept, if anything is held back.
    pub fn held_from(&self) -> Option<Timestamp> {
        (self.dropped.is_none() && self.passed < self.position).then_some(self.passed)
    }
}

fn before(at: Timestamp) -> Timestamp {
    Timestamp::from_u64(at.as_u64().saturating_sub(1))
}

fn bytes(segment: &Segment) -> usize {
    segment.commits.iter().map(Commit::size_bytes).sum()
}

/// Leaves out the system's own tables, which nobody behind a gateway reads.
fn without_system(commit: Commit) -> Commit {
    let is_system = |table| table == tables::outbox() || table == tables::centres();
    if !commit.writes.iter().any(|write| is_system(write.cell.table)) {
        return commit;
    }
    let writes = commit.writes.iter().filter(|write| !is_system(write.cell.table)).cloned().collect();
    Commit { writes, ..commit }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use iolite_values::{Cell, CoordinatorId, Operation, RowKey, TableId, TransactionId, Value, Write};

    use super::*;

    fn at(micros: u64) -> Timestamp {
        Timestamp::new(micros, CoordinatorId::default())
    }

    /// Bytes of one segment.
    const EACH: usize = 1 << 20;

    fn segment(number: u64, writes: &Arc<[Write]>) -> Segment {
        let commit = Commit { at: at(number), transaction: TransactionId::default(), writes: writes.clone() };
        Segment { from: at(number - 1), to: at(number), commits: vec![commit] }
    }

    fn large() -> Arc<[Write]> {
        let cell = Cell::row(TableId(1), RowKey::new(&[Value::Int(1)]).expect("short"));
        [Write { cell, operation: Operation::Put(Value::Bytes(vec![0; EACH].into())) }].into()
    }

    #[test]
    fn so_many_bytes_are_held_and_with_more_all_is_said_anew() {
        let mut visible = Visible::new(2, at(1), Place::START);
        assert_eq!(visible.pass(), Some(Passed::Anew(at(1))));
        visible.entry(Place(1), at(2), None);
        let (writes, most) = (large(), (HELD_BYTES_MAX / EACH) as u64);
        for number in 2..2 + most - 1 {
            visible.hold(segment(number, &writes));
        }
        assert!(matches!(visible.pass(), Some(Passed::Segment(empty)) if empty.commits.is_empty()));
        assert!(visible.pass().is_none() && visible.held_bytes() > HELD_BYTES_MAX - 2 * EACH);
        visible.hold(segment(1 + most, &writes));
        assert_eq!(visible.held_bytes(), 0, "dropped");
        assert_eq!(visible.pass(), None);
        visible.applied(&CentreName::new("us").expect("a name"), Place(1));
        assert_eq!(visible.pass(), Some(Passed::Anew(at(1 + most))));
    }

    #[test]
    fn after_a_drop_it_goes_on_though_the_next_entry_is_always_on_its_way() {
        let mut visible = Visible::new(2, at(1), Place::START);
        let us = CentreName::new("us").expect("a name");
        visible.entry(Place(1), at(2), None);
        visible.hold(segment(2, &[].into()));
        visible.drop_held();
        visible.entry(Place(2), at(3), None);
        visible.hold(segment(3, &[].into()));
        assert_eq!(visible.pass(), None, "the first one is not in two yet");
        visible.applied(&us, Place(1));
        assert_eq!(visible.pass(), Some(Passed::Anew(at(2))));
        assert_eq!(visible.passed(), at(2), "the second one is on its way");
    }

    #[test]
    fn a_segment_is_cut_before_the_first_entry_that_too_few_have() {
        let mut visible = Visible::new(2, at(1), Place::START);
        visible.pass();
        let us = CentreName::new("us").expect("a name");
        let taken = Taken { from: us.clone(), place: Place(1) };
        visible.entry(Place(1), at(2), Some(taken.clone()));
        visible.entry(Place(2), at(3), None);
        visible.entry(Place(3), at(4), Some(taken));
        let commits =
            (2..=4).map(|micros| Commit { at: at(micros), transaction: TransactionId::default(), writes: [].into() });
        visible.hold(Segment { from: at(1), to: at(5), commits: commits.collect() });
        let Some(Passed::Segment(first)) = visible.pass() else { panic!("what was taken is in two") };
        assert_eq!((first.commits.len(), first.commits[0].at, first.to), (1, at(2), before(at(3))));
        assert_eq!(visible.pass(), None);
        visible.applied(&us, Place(2));
        let Some(Passed::Segment(rest)) = visible.pass() else { panic!("all are in two") };
        assert_eq!((rest.commits.len(), rest.from, rest.to), (2, before(at(3)), at(5)));
    }
}
