//! A set that merges: adds win.
//!
//! Invariant: a value is a member while an insertion of it is left that no removal saw. Nothing is kept of what was removed, because a removal comes after
//! what it saw.

use std::collections::{BTreeMap, BTreeSet};

use super::{Effect, Mark};
use crate::Value;

/// The insertions of each member that no removal saw.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct AddWins {
    members: BTreeMap<Value, BTreeSet<Mark>>,
}

impl AddWins {
    /// A set as a peer or a disk described it. A value without a mark is no member.
    pub fn from_marks(mut members: BTreeMap<Value, BTreeSet<Mark>>) -> AddWins {
        members.retain(|_, marks| !marks.is_empty());
        AddWins { members }
    }

    pub fn has(&self, value: &Value) -> bool {
        self.members.contains_key(value)
    }

    pub fn members(&self) -> impl ExactSizeIterator<Item = &Value> {
        self.members.keys()
    }

    /// The members, in the order of values, with the marks of their insertions.
    pub fn marks(&self) -> impl ExactSizeIterator<Item = (&Value, &BTreeSet<Mark>)> {
        self.members.iter()
    }

    /// The marks of a member's insertions; none if it is no member.
    pub fn marks_of(&self, value: &Value) -> Option<&BTreeSet<Mark>> {
        self.members.get(value)
    }

    /// The removal of a value as this writer sees it; none if it is no member.
    pub fn removal(&self, value: &Value) -> Option<Effect> {
        let seen = self.members.get(value)?.clone();
        Some(Effect::Remove { value: value.clone(), seen })
    }

    pub(super) fn insert(&mut self, value: &Value, mark: Mark) {
        self.members.entry(value.clone()).or_default().insert(mark);
    }

    pub(super) fn remove(&mut self, value: &Value, seen: &BTreeSet<Mark>) {
        let Some(marks) = self.members.get_mut(value) else { return };
        marks.retain(|mark| !seen.contains(mark));
        if marks.is_empty() {
            self.members.remove(value);
        }
    }
}
