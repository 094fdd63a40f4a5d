//! How large a text is: what its runs say, and how many they are.
//!
//! Invariant: the size is that of the text, not of how much of it is folded: equal texts have one size. What an edit adds or takes shows in the units
//! that it names and in those beside them, so it is counted there, and the rest is not looked at. That takes the parts of the edit times those of the
//! tail, which are few: an edit of many is not counted here.

use super::recent::Recent;
use super::runs::{RUN_BYTES, Runs, Window};
use super::{Edit, Run, Text, UnitRange};

/// Of a text in as few runs as can be.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct Size {
    pub bytes: usize,
    pub parts: usize,
}

impl Size {
    pub(super) fn of(runs: &[Run]) -> Size {
        Size { bytes: runs.iter().map(Run::size_bytes).sum(), parts: runs.len() }
    }

    /// This, once a part of it that was of one size is of another.
    pub(super) fn with(self, before: Size, after: Size) -> Size {
        let with = |own: usize, before: usize, after: usize| own + after - before;
        Size { bytes: with(self.bytes, before.bytes, after.bytes), parts: with(self.parts, before.parts, after.parts) }
    }
}

impl Edit {
    /// How many runs it adds to a text, at most: an insertion is one, and a removal inside of a run makes three of it.
    pub fn growth_parts(&self) -> usize {
        usize::from(self.inserted.is_some()) + 2 * self.removed.len()
    }

    /// By how many bytes of content a text grows by it, at most.
    pub fn growth_bytes(&self) -> usize {
        self.inserted.as_ref().map_or(0, |own| own.text.len()) + RUN_BYTES * self.growth_parts()
    }
}

impl Text {
    /// The size once this edit, which fits, is applied.
    pub(super) fn size_after(&self, coming: &Recent) -> Size {
        let mut size = self.size;
        if let Some((units, own)) = coming.inserted() {
            let (before, mut runs) = self.around(&units, None);
            runs.insert(own);
            size = size.with(before, runs.size());
        }
        // Two ranges of one edit are apart: what is beside both is changed by neither.
        for range in &coming.edit.removed {
            let (before, mut runs) = self.around(range, Some(coming));
            runs.remove(&[*range]);
            size = size.with(before, runs.size());
        }
        size
    }

    /// The units of a range, and the one on each side, with those that come in first. And how large that is.
    fn around(&self, range: &UnitRange, coming: Option<&Recent>) -> (Size, Runs) {
        #[cfg(test)]
        super::looks::count(self.tail_parts());
        let from = range.from.saturating_sub(1);
        let length = range.end().saturating_add(1) - from;
        let window = Window(UnitRange { from, length, ..*range });
        let mut runs = window.of(&self.folded.runs);
        for recent in &self.tail {
            window.insert(&mut runs, recent);
            recent.edit.removed.iter().for_each(|own| window.remove(&mut runs, own));
        }
        coming.into_iter().for_each(|recent| window.insert(&mut runs, recent));
        (runs.size(), runs)
    }
}
