//! How large a text is: what its runs say, and how many they are.
//!
//! Invariant: the size is that of the text, not of how much of it is folded: equal texts have one size. What an edit adds or takes shows in the units
//! that it names and in those beside them, so it is counted there, and the rest is not looked at.

use super::runs::{Runs, Window};
use super::{Edit, Insertion, Text, UnitRange};

/// Of a text in as few runs as can be.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct Size {
    pub bytes: usize,
    pub parts: usize,
}

impl Size {
    /// This, once a part of it that was of one size is of another.
    fn with(self, before: Size, after: Size) -> Size {
        let with = |own: usize, before: usize, after: usize| own + after - before;
        Size { bytes: with(self.bytes, before.bytes, after.bytes), parts: with(self.parts, before.parts, after.parts) }
    }
}

impl Text {
    /// The size once this edit, which fits, is applied.
    pub(super) fn size_after(&self, edit: &Edit) -> Size {
        let mut size = self.size;
        if let Some(own) = &edit.inserted {
            let end = UnitRange { author: own.first.author, from: own.first.number, length: own.length() };
            let (before, mut runs) = self.around(&end, None);
            runs.insert(own);
            size = size.with(before, runs.size());
        }
        // Two ranges of one edit are apart: what is beside both is changed by neither.
        for range in &edit.removed {
            let (before, mut runs) = self.around(range, edit.inserted.as_ref());
            runs.remove(range);
            size = size.with(before, runs.size());
        }
        size
    }

    /// The units of a range, and the one on each side, with those that come in first. And how large that is.
    fn around(&self, range: &UnitRange, coming: Option<&Insertion>) -> (Size, Runs) {
        let from = range.from.saturating_sub(1);
        let length = range.end().saturating_add(1) - from;
        let window = Window(UnitRange { from, length, ..*range });
        let mut runs = window.of(&self.folded);
        for edit in &self.tail {
            edit.inserted.iter().for_each(|own| window.insert(&mut runs, own));
            edit.removed.iter().for_each(|own| window.remove(&mut runs, own));
        }
        coming.into_iter().for_each(|own| window.insert(&mut runs, own));
        (runs.size(), runs)
    }
}
