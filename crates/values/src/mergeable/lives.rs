//! Lives of a row that merges: updates win.
//!
//! Invariant: a row has a life while a mark of it is left that no deletion and no later update saw, and it exists while it has a life. A deletion hides; it
//! undoes nothing, so an update at the same time brings the row back whole.

use std::collections::{BTreeMap, BTreeSet};

use super::{Effect, Mark};
use crate::set_of;

/// The lives that a row has, each with the marks that keep it. An insertion begins a life, which is named by its mark.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Lives {
    lives: BTreeMap<Mark, BTreeSet<Mark>>,
}

impl Lives {
    /// Lives as a peer or a disk described them. A life without a mark is none.
    pub fn from_marks(mut lives: BTreeMap<Mark, BTreeSet<Mark>>) -> Lives {
        lives.retain(|_, marks| !marks.is_empty());
        Lives { lives }
    }

    /// Whether the row exists.
    pub fn exist(&self) -> bool {
        !self.lives.is_empty()
    }

    pub fn has(&self, life: Mark) -> bool {
        self.lives.contains_key(&life)
    }

    /// The life that additions to the row's counters name; none if the row does not exist.
    pub fn lowest(&self) -> Option<Mark> {
        self.lives.keys().next().copied()
    }

    /// The lives in their order, with the marks that keep them.
    pub fn marks(&self) -> impl ExactSizeIterator<Item = (Mark, &BTreeSet<Mark>)> {
        self.lives.iter().map(|(life, marks)| (*life, marks))
    }

    /// Bytes of content, for limits and accounting.
    pub fn size_bytes(&self) -> usize {
        self.lives.values().map(|marks| Effect::MARK_BYTES * (1 + marks.len())).sum()
    }

    /// How many lives and marks they are.
    pub fn parts(&self) -> usize {
        self.lives.values().map(|marks| 1 + marks.len()).sum()
    }

    /// Effects that make these lives from nothing.
    pub fn effects(&self) -> impl Iterator<Item = Effect> + '_ {
        let touch = |life: Mark, mark: Mark| Effect::Touch { life, mark, seen: BTreeSet::new() };
        self.lives.iter().flat_map(move |(life, marks)| marks.iter().map(move |mark| touch(*life, *mark)))
    }

    /// The insertion of a row: a new life, named by its mark.
    pub fn insertion(mark: Mark) -> Effect {
        Effect::Touch { life: mark, mark, seen: BTreeSet::new() }
    }

    /// An update as this writer sees the row: one effect for each life, each with a mark of its own, so that a deletion at the same time hides none of them.
    pub fn update(&self, mut mark: impl FnMut() -> Mark) -> impl Iterator<Item = Effect> {
        self.lives.iter().map(move |(life, seen)| Effect::Touch { life: *life, mark: mark(), seen: seen.clone() })
    }

    /// A deletion as this writer sees the row.
    pub fn deletion(&self) -> Effect {
        Effect::Bury { seen: set_of(self.lives.values().flatten().copied()) }
    }

    /// Applies an effect of a row's lives. Others change nothing here.
    pub(crate) fn apply(&mut self, effect: &Effect) {
        match effect {
            Effect::Touch { life, mark, seen } => self.touch(*life, *mark, seen),
            Effect::Bury { seen } => self.bury(seen),
            Effect::Add { .. } | Effect::Assign { .. } | Effect::Insert { .. } | Effect::Remove { .. } => {}
        }
    }

    fn touch(&mut self, life: Mark, mark: Mark, seen: &BTreeSet<Mark>) {
        let marks = self.lives.entry(life).or_default();
        marks.retain(|own| !seen.contains(own));
        marks.insert(mark);
    }

    fn bury(&mut self, seen: &BTreeSet<Mark>) {
        self.lives.retain(|_, marks| {
            marks.retain(|mark| !seen.contains(mark));
            !marks.is_empty()
        });
    }
}
