//! One row with its recent history.
//!
//! Invariants: the history is sorted by timestamp, then by place in the transaction, lies above the base, and folded onto the base gives the
//! latest state. Without history the latest state is the base.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::Arc;

use iolite_values::{Row, Timestamp, TypeMismatch, Write};

use super::landmarks::Landmarks;
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
            past.landmarks.drop_from(version.at);
            let (before, after) = (past.history.range(..index), past.history.range(index..));
            self.latest = fold(&past.base, before.chain([&version]).chain(after))?;
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
        for landmark in past.landmarks.all() {
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
        match self.landmarks.before(at) {
            Some(landmark) => fold(&landmark.row, self.history.range(self.count_through(landmark.at)..count)),
            None => fold(&self.base, self.history.range(..count)),
        }
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
    let write = version.write();
    row.apply(write.cell.column, &write.operation)
}
