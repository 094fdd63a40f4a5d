//! Collaborative text: which units were ever inserted, between which others, and which were removed.
//!
//! A unit is one UTF-16 code unit, named for good by who inserted it and as which of theirs. A text only ever learns more: of units, and of removals.
//! What order the units stand in follows from their neighbours at the time, and only clients work it out (`crates/text`).
//!
//! Invariants: the state is the set of its units and of the removed ones, whatever order edits came in, so edits commute; a unit's neighbours are in
//! the text; an edit that does not fit changes nothing; no edit parts the two units of one character. Source: YATA (Nicolaescu 2016), as Yjs has it. Why so:
//! docs/decisions/0018-text-is-units-that-servers-understand.md

mod edit;
mod pair;
mod recent;
mod runs;
mod since;
mod size;
mod stretches;

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

#[cfg(test)]
use edit::length_of;
pub use edit::{Author, Edit, Insertion, MalformedEdit, Unit, UnitRange};
use pair::Halves;
use recent::Recent;
pub use runs::Run;
use runs::Runs;
use size::Size;

use crate::Digest;

/// What a text cell holds. Cheap to clone: many views of one text share all but its last edits.
#[derive(Clone, Default)]
pub struct Text {
    folded: Arc<Folded>,
    /// Edits since, in their order. When they have many parts they are folded in.
    tail: Vec<Recent>,
    /// Of all of it.
    size: Size,
}

/// The edits of a text that are in runs.
#[derive(Clone, Default)]
struct Folded {
    runs: Runs,
    /// Of the runs, once it was asked for.
    digest: OnceLock<Digest>,
}

/// What a text lacks that an edit needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unfit {
    #[error("it stands on an edit that the text does not have: that was taken back, or refused")]
    Lacks,
    #[error("the text has other units under its name")]
    Taken,
    #[error("it parts the two halves of one character")]
    Parts,
}

impl Text {
    /// Parts of edits that are kept as they came before they are folded in.
    const TAIL: usize = 64;
    /// Parts of one edit that is kept so. Of one that has more it is less work to fold it in at once than to count beside each what it changes.
    const TAIL_EACH: usize = 8;

    /// A text that a peer or a disk described.
    ///
    /// # Errors
    /// [`MalformedEdit`]: no edits lead to it.
    pub fn from_runs(runs: BTreeMap<Author, Vec<Run>>) -> Result<Text, MalformedEdit> {
        let runs = Runs::from_parts(runs)?;
        let size = runs.size();
        Ok(Text { folded: Arc::new(Folded { runs, digest: OnceLock::new() }), tail: Vec::new(), size })
    }

    /// The text in as few runs as can be: equal for equal texts.
    pub fn runs(&self) -> BTreeMap<Author, Vec<Run>> {
        self.folded_whole().into_parts()
    }

    /// Units that an author inserted so far: the next one's number.
    pub fn count(&self, author: Author) -> u32 {
        let own = self.tail.iter().filter_map(Recent::inserted).filter(|(units, _)| units.author == author);
        own.map(|(units, _)| units.end()).max().unwrap_or_else(|| self.folded.runs.count(author))
    }

    /// Whether an edit can be applied.
    ///
    /// # Errors
    /// [`Unfit`], and applying it would change nothing.
    pub fn check(&self, edit: &Edit) -> Result<(), Unfit> {
        let held = |range: &UnitRange| range.end() <= self.count(range.author);
        let neighbours = edit.inserted.iter().flat_map(|own| [own.left, own.right]).flatten();
        if !edit.removed.iter().all(held) || !neighbours.map(UnitRange::one).all(|unit| held(&unit)) {
            return Err(Unfit::Lacks);
        }
        if let Some(own) = &edit.inserted {
            let count = self.count(own.first.author);
            if own.first.number != count {
                return Err(if own.first.number > count { Unfit::Lacks } else { Unfit::Taken });
            }
        }
        let mut halves = Halves::default();
        if edit.cuts().any(|cut| self.is_within_pair(cut, &mut halves)) { Err(Unfit::Parts) } else { Ok(()) }
    }

    /// Applies an edit, if it fits.
    pub fn apply(&mut self, edit: &Arc<Edit>) {
        if self.check(edit).is_err() {
            return;
        }
        let parts = edit.parts();
        if parts <= Text::TAIL_EACH && self.tail_parts() + parts < Text::TAIL {
            let edit = Recent::new(edit.clone());
            self.size = self.size_after(&edit);
            self.tail.push(edit);
        } else {
            self.fold(edit);
        }
    }

    fn fold(&mut self, last: &Edit) {
        let Folded { runs, digest } = Arc::make_mut(&mut self.folded);
        *digest = OnceLock::new();
        self.tail.drain(..).for_each(|recent| runs.apply(&recent.edit));
        debug_assert_eq!(runs.size(), self.size, "an edit adds to the size what it adds to the runs");
        runs.apply(last);
        self.size = runs.size();
    }

    fn tail_parts(&self) -> usize {
        self.tail.iter().map(|recent| recent.edit.parts()).sum()
    }

    /// Bytes of content, for limits and accounting. Of equal texts equal.
    pub fn size_bytes(&self) -> usize {
        self.size.bytes
    }

    /// How many runs it has. Of equal texts equal.
    pub fn parts(&self) -> usize {
        self.size.parts
    }

    /// Bytes and parts that are in memory: of what is folded, and of the edits since, whatever they remove.
    pub(crate) fn held(&self) -> (usize, usize) {
        let Size { bytes, parts } = self.folded.runs.size();
        let tail = self.tail.iter().map(|recent| (recent.edit.size_bytes(), 1 + 2 * recent.edit.removed.len()));
        tail.fold((bytes, parts), |own, edit| (own.0 + edit.0, own.1 + edit.1))
    }

    /// What tells it from another text of the same cell. Costs what was edited since it was folded, and whoever asks first of what was folded looks at all of it.
    pub fn digest(&self) -> Digest {
        let folded = self.folded.digest.get_or_init(|| {
            #[cfg(test)]
            looks::count(self.folded.runs.size().parts);
            Digest::of(&self.folded.runs)
        });
        let since: Vec<Digest> = self.tail.iter().map(Recent::digest).collect();
        Digest::of((folded, since))
    }

    fn folded_whole(&self) -> Runs {
        let mut runs = self.folded.runs.clone();
        self.tail.iter().for_each(|recent| runs.apply(&recent.edit));
        runs
    }
}

impl PartialEq for Text {
    fn eq(&self, other: &Text) -> bool {
        (Arc::ptr_eq(&self.folded, &other.folded) && self.tail == other.tail)
            || self.folded_whole() == other.folded_whole()
    }
}

impl Eq for Text {}

impl std::fmt::Debug for Text {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_map().entries(self.runs()).finish()
    }
}

/// How much was looked at, which a test holds to a bound.
#[cfg(test)]
mod looks {
    use std::cell::Cell;

    thread_local! { static LOOKS: Cell<usize> = const { Cell::new(0) } }

    pub fn count(looks: usize) {
        LOOKS.set(LOOKS.get() + looks);
    }

    pub fn so_far() -> usize {
        LOOKS.get()
    }
}

#[cfg(test)]
mod tests;
