//! One row with its recent history.
//!
//! Invariants: the history is sorted by timestamp, then by place in the transaction, lies above the base, and folded onto the base gives the
//! latest state. Without history the latest state is the base.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::Arc;

use iolite_values::{Row, Timestamp, TypeMismatch, Write};

use super::landmarks::{Landmark, Landmarks};
use super::late::{Effect, effect_of};
use crate::journal::{ROW_BYTES_MAX, growth_bytes, row_bytes};

/// One operation of a row's history: a write of a commit, shared with the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Version {
    pub at: Timestamp,
    pub writes: Arc<[Write]>,
    pub index: usize,
}

impl Version {
    pub fn write(&self) -> &Write {
        &self.writes[self.index]
    }

    fn place(&self) -> (Timestamp, usize) {
        (self.at, self.index)
    }
}

/// A row at every timestamp from its base on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VersionedRow {
    latest: Row,
    /// The last commit that the base reflects.
    base_at: Timestamp,
    /// Apart: most rows have none, and all lie side by side.
    past: Option<Box<Past>>,
    /// Not below what `row_bytes` says of the latest state: no operation adds more to that than `growth_bytes` says of it.
    bytes_bound: usize,
}

#[derive(Clone, Debug)]
struct Past {
    base: Row,
    /// It grows at one end and is forgotten at the other: both cost the same, however long it is.
    history: VecDeque<Version>,
    landmarks: Landmarks,
}

impl VersionedRow {
    pub fn new(base: Row, base_at: Timestamp) -> VersionedRow {
        let bytes_bound = row_bytes(&base);
        VersionedRow { latest: base, base_at, past: None, bytes_bound }
    }

    pub fn latest(&self) -> &Row {
        &self.latest
    }

    pub fn base(&self) -> &Row {
        self.past.as_ref().map_or(&self.latest, |past| &past.base)
    }

    pub fn base_at(&self) -> Timestamp {
        self.base_at
    }

    /// The versions above the base, oldest first.
    pub fn history(&self) -> impl DoubleEndedIterator<Item = &Version> {
        self.past.iter().flat_map(|past| &past.history)
    }

    /// The versions above `at`, oldest first.
    pub fn history_above(&self, at: Timestamp) -> impl DoubleEndedIterator<Item = &Version> {
        self.past.iter().flat_map(move |past| past.history.range(past.count_through(at)..))
    }

    /// Not below what `row_bytes` says of the latest state, and the same where it is past half of the limit.
    pub fn bytes_bound(&self) -> usize {
        self.bytes_bound
    }

    /// Counts up; and counts anew when that has become much, because most operations do not make a row larger.
    fn count_growth(&mut self, write: &Write) {
        self.bytes_bound += growth_bytes(write);
        if self.bytes_bound > ROW_BYTES_MAX / 2 {
            self.bytes_bound = row_bytes(&self.latest);
        }
    }

    /// Whether the write at this place of the transaction that committed at `at` has been applied already.
    pub fn reflects(&self, at: Timestamp, index: usize) -> bool {
        let in_history =
            |past: &Past| past.reaches(at) && past.history.binary_search_by_key(&(at, index), Version::place).is_ok();
        at <= self.base_at || self.past.as_deref().is_some_and(in_history)
    }

    /// Adds a version, wherever in the history it belongs.
    ///
    /// # Errors
    /// An operation of another type than its cell's; the row is as before.
    pub fn insert(&mut self, version: Version) -> Result<(), TypeMismatch> {
        let Some(past) = &mut self.past else {
            let base = self.latest.clone();
            apply(&mut self.latest, &version)?;
            self.count_growth(version.write());
            self.past = Some(Box::new(Past { base, history: [version].into(), landmarks: Landmarks::default() }));
            return Ok(());
        };
        let index = past.history.partition_point(|other| other.place() < version.place());
        if index == past.history.len() {
            // The writes of one commit belong together.
            match past.history.back() {
                Some(last) if last.at < version.at => past.landmarks.pass(last.at, &self.latest),
                Some(_) | None => {}
            }
            apply(&mut self.latest, &version)?;
        } else {
            past.apply_late(&mut self.latest, index, &version)?;
        }
        past.history.insert(index, version.clone());
        self.count_growth(version.write());
        Ok(())
    }

    /// The row as of `at`, which is not below the base.
    pub fn at(&self, at: Timestamp) -> Cow<'_, Row> {
        let Some(past) = &self.past else { return Cow::Borrowed(&self.latest) };
        let count = past.count_through(at);
        if count == past.history.len() {
            return Cow::Borrowed(&self.latest);
        }
        Cow::Owned(past.first(count, at).expect("these operations fitted when they were inserted"))
    }

    /// Moves everything at or below `through` from the history into the base. Returns how many operations that were.
    pub fn fold_through(&mut self, through: Timestamp) -> usize {
        let Some(past) = &mut self.past else { return 0 };
        let count = past.count_through(through);
        if count == past.history.len() {
            self.base_at = past.history.back().map_or(self.base_at, |version| version.at);
            self.past = None;
            return count;
        }
        past.landmarks.drop_through(through);
        for version in past.history.drain(..count) {
            apply(&mut past.base, &version).expect("this operation fitted when it was inserted");
            self.base_at = version.at;
        }
        count
    }

    /// Nothing is in it and nothing can be read of what was: as good as no row at all.
    pub fn is_forgettable(&self) -> bool {
        self.past.is_none() && self.latest.is_empty()
    }

    /// # Panics
    /// When an invariant of this module is broken.
    pub fn validate(&self) {
        let Some(past) = &self.past else { return };
        assert!(!past.history.is_empty(), "a base apart from the latest state without anything in between");
        assert!(past.history[0].at > self.base_at, "the history reaches below the base");
        let sorted = past.history.iter().is_sorted_by(|a, b| a.place() < b.place());
        assert!(sorted, "the history is out of order");
        assert_eq!(fold(&past.base, &past.history).as_ref(), Ok(&self.latest), "the latest state is another one");
        for landmark in past.landmarks.reaching(Timestamp::ZERO) {
            let before = past.history.range(..past.count_through(landmark.at));
            assert_eq!(fold(&past.base, before).as_ref(), Ok(&landmark.row), "a landmark is another state");
            assert!(landmark.at > self.base_at, "a landmark below the base");
        }
    }
}

impl Past {
    /// Whether a version of this time or later is there. Mostly none is: then the rest does not have to be fetched.
    fn reaches(&self, at: Timestamp) -> bool {
        self.history.back().is_some_and(|last| last.at >= at)
    }

    fn count_through(&self, at: Timestamp) -> usize {
        if self.reaches(at) { self.history.partition_point(|version| version.at <= at) } else { self.history.len() }
    }

    /// The row after the first `count` versions, which are those through `at`.
    fn first(&self, count: usize, at: Timestamp) -> Result<Row, TypeMismatch> {
        let (row, from) = self.state_of(self.landmarks.through(at));
        fold(row, self.history.range(from..count))
    }

    /// A landmark's state and the count of its versions, or those of the base.
    fn state_of<'a>(&'a self, landmark: Option<&'a Landmark>) -> (&'a Row, usize) {
        landmark.map_or((&self.base, 0), |landmark| (&landmark.row, self.count_through(landmark.at)))
    }

    /// Applies a version that belongs at `index`, below others, to the latest state and to the landmarks above it.
    fn apply_late(&mut self, latest: &mut Row, index: usize, version: &Version) -> Result<(), TypeMismatch> {
        if self.landmarks.count_late() {
            let below = self.history.range(..index).rev().find(|other| other.at < version.at).map(|other| other.at);
            return self.fold_late(latest, index, version, below);
        }
        let covered_at = match effect_of(version.write(), self.history.range(index..)) {
            Effect::ToTheEnd => {
                apply(latest, version)?;
                None
            }
            Effect::Until(covered_at) => Some(covered_at),
            Effect::OfOrder => return self.fold_late(latest, index, version, None),
        };
        let above = self.landmarks.reaching_mut(version.at);
        for landmark in above.take_while(|landmark| covered_at.is_none_or(|covered_at| landmark.at < covered_at)) {
            apply(&mut landmark.row, version).expect("the cell has the same type here as later");
        }
        Ok(())
    }

    /// Folds from the newest landmark below the version, mends the landmarks above it on the way, and makes one at `new_at` right below the version.
    fn fold_late(
        &mut self,
        latest: &mut Row,
        index: usize,
        version: &Version,
        new_at: Option<Timestamp>,
    ) -> Result<(), TypeMismatch> {
        let start_at = self.landmarks.below(version.at).map(|landmark| landmark.at);
        let new_at = new_at.filter(|at| Some(*at) > start_at);
        let above = self.landmarks.reaching(version.at).map(|landmark| landmark.at);
        let stops: Vec<Timestamp> = new_at.into_iter().chain(above).collect();
        let (rows, end) = self.fold_through_stops(index, version, &stops)?;
        let mut rows = rows.into_iter();
        let new = new_at.and_then(|at| Some((at, rows.next()?)));
        for (landmark, row) in self.landmarks.reaching_mut(version.at).zip(rows) {
            landmark.row = row;
        }
        if let Some((at, row)) = new {
            self.landmarks.put(at, row);
        }
        *latest = end;
        Ok(())
    }

    /// The rows as of some timestamps from the newest landmark below the version on, and at the end, all with the version.
    fn fold_through_stops(
        &self,
        index: usize,
        version: &Version,
        stops: &[Timestamp],
    ) -> Result<(Vec<Row>, Row), TypeMismatch> {
        let (start, from) = self.state_of(self.landmarks.below(version.at));
        let (mut row, mut rows) = (start.clone(), Vec::with_capacity(stops.len()));
        let before = self.history.range(from..index);
        for next in before.chain([version]).chain(self.history.range(index..)) {
            while stops.get(rows.len()).is_some_and(|stop| *stop < next.at) {
                rows.push(row.clone());
            }
            apply(&mut row, next)?;
        }
        rows.resize_with(stops.len(), || row.clone());
        Ok((rows, row))
    }
}

/// Landmarks are where a row's versions happened to come; they say nothing of their own.
impl PartialEq for Past {
    fn eq(&self, other: &Past) -> bool {
        self.base == other.base && self.history == other.history
    }
}

impl Eq for Past {}

fn fold<'a>(base: &Row, versions: impl IntoIterator<Item = &'a Version>) -> Result<Row, TypeMismatch> {
    let mut row = base.clone();
    for version in versions {
        apply(&mut row, version)?;
    }
    Ok(row)
}

fn apply(row: &mut Row, version: &Version) -> Result<(), TypeMismatch> {
    #[cfg(test)]
    applied::count();
    let write = version.write();
    row.apply(write.cell.column, &write.operation)
}

/// How many operations were applied to states, which tests hold to a bound.
#[cfg(test)]
pub mod applied {
    use std::cell::Cell;

    thread_local! { static APPLIED: Cell<usize> = const { Cell::new(0) } }

    pub fn count() {
        APPLIED.set(APPLIED.get() + 1);
    }

    pub fn take() -> usize {
        APPLIED.take()
    }
}
