//! One edit of a text: units put between two others, and units removed.
//!
//! Invariant: an edit that passes [`Edit::check`] is of one form only: ranges in order, none empty, none touching; something changes.

use std::sync::Arc;

/// Who inserts units: a number that a replica claims for itself in a text, by being the only one to insert under it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Author(pub u64);

/// A UTF-16 unit of a text.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Unit {
    pub author: Author,
    /// The author's units have numbers without gaps, from 0.
    pub number: u32,
}

/// Units of one author in a row.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct UnitRange {
    pub author: Author,
    pub from: u32,
    pub length: u32,
}

/// Units that come into the text together.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Insertion {
    pub first: Unit,
    /// The unit that was before it. None: the text's begin.
    pub left: Option<Unit>,
    /// The unit that was behind it. None: the text's end.
    pub right: Option<Unit>,
    pub text: Arc<str>,
}

/// A change of a text.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Edit {
    pub inserted: Option<Insertion>,
    pub removed: Vec<UnitRange>,
}

/// Why bytes of a peer are no edit, or no text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.message())]
pub enum MalformedEdit {
    Nothing,
    TooLong,
    Number,
    Ranges,
    Neighbours,
}

impl MalformedEdit {
    pub fn message(self) -> &'static str {
        match self {
            MalformedEdit::Nothing => "an edit changes something",
            MalformedEdit::TooLong => "an edit inserts too much at once",
            MalformedEdit::Number => "a text's author and units have numbers that fit",
            MalformedEdit::Ranges => "removed units come in ranges, in order and apart",
            MalformedEdit::Neighbours => "the units of a text stand between others of it, in runs as long as can be",
        }
    }
}

impl Unit {
    pub fn new(author: Author, number: u32) -> Unit {
        Unit { author, number }
    }
}

impl Author {
    /// No author.
    pub const NOBODY: Author = Author(0);
    /// The last author: the library of documents has numbers of 53 bits, as JavaScript has.
    pub const LAST: Author = Author((1 << 53) - 1);

    /// Whether somebody can have this number.
    pub(super) fn is_one(self) -> bool {
        (Author(1)..=Author::LAST).contains(&self)
    }
}

impl UnitRange {
    pub fn one(unit: Unit) -> UnitRange {
        UnitRange { author: unit.author, from: unit.number, length: 1 }
    }

    /// The number behind the last.
    pub fn end(&self) -> u32 {
        self.from.saturating_add(self.length)
    }

    pub fn contains(&self, unit: Unit) -> bool {
        self.author == unit.author && (self.from..self.end()).contains(&unit.number)
    }
}

impl Insertion {
    /// In units.
    pub fn length(&self) -> u32 {
        length_of(&self.text)
    }

    /// The number behind the last unit.
    pub fn end(&self) -> u32 {
        self.first.number.saturating_add(self.length())
    }
}

impl Edit {
    /// UTF-8 bytes that one edit inserts.
    pub const TEXT_BYTES_MAX: usize = 256 * 1024;
    /// Units that one author may insert into a text.
    pub const UNITS_MAX: u32 = 1 << 30;

    /// What a new text begins with, before it is known who inserts it: nothing that can be applied or sent.
    pub fn first(text: &str) -> Edit {
        let inserted = Insertion { first: Unit::new(Author::NOBODY, 0), left: None, right: None, text: text.into() };
        Edit { inserted: Some(inserted), removed: Vec::new() }
    }

    /// What a new text begins with.
    pub fn as_first(&self) -> Option<&str> {
        let own = self.inserted.as_ref().filter(|own| own.first.author == Author::NOBODY);
        own.map(|own| own.text.as_ref())
    }

    /// Whether it is an edit at all, of whatever text.
    ///
    /// # Errors
    /// [`MalformedEdit`].
    pub fn check(&self) -> Result<(), MalformedEdit> {
        let Edit { inserted, removed } = self;
        if inserted.is_none() && removed.is_empty() {
            return Err(MalformedEdit::Nothing);
        }
        let fits = |author: Author, end: u32| author.is_one() && end <= Edit::UNITS_MAX;
        if let Some(own) = inserted {
            if own.text.is_empty() {
                return Err(MalformedEdit::Nothing);
            }
            if own.text.len() > Edit::TEXT_BYTES_MAX {
                return Err(MalformedEdit::TooLong);
            }
            let neighbours = [own.left, own.right].into_iter().flatten();
            if !fits(own.first.author, own.end())
                || !neighbours.map(UnitRange::one).all(|own| fits(own.author, own.end()))
            {
                return Err(MalformedEdit::Number);
            }
        }
        if !removed.iter().all(|range| fits(range.author, range.end())) {
            return Err(MalformedEdit::Number);
        }
        let apart = |pair: &[UnitRange]| {
            pair[0].author < pair[1].author || (pair[0].author == pair[1].author && pair[0].end() < pair[1].from)
        };
        let ordered = removed.windows(2).all(apart) && removed.iter().all(|range| range.length > 0);
        if ordered { Ok(()) } else { Err(MalformedEdit::Ranges) }
    }

    /// The authors that it names, each as often as it does.
    pub fn authors(&self) -> impl Iterator<Item = Author> {
        let units = self.inserted.iter().flat_map(|own| [Some(own.first), own.left, own.right]).flatten();
        units.map(|unit| unit.author).chain(self.removed.iter().map(|range| range.author))
    }

    /// What it inserts, and each range that it removes.
    pub(super) fn parts(&self) -> usize {
        usize::from(self.inserted.is_some()) + self.removed.len()
    }

    /// Bytes of content, for limits and accounting.
    pub fn size_bytes(&self) -> usize {
        let inserted = self.inserted.as_ref().map_or(0, |own| 24 + own.text.len());
        inserted + 12 * self.removed.len()
    }

    /// The units before which it needs a text to end and begin: neither side is half a character.
    pub(super) fn cuts(&self) -> impl Iterator<Item = Unit> {
        let after = |unit: Unit| Unit::new(unit.author, unit.number.saturating_add(1));
        let inserted = self.inserted.iter().flat_map(move |own| [own.left.map(after), own.right]).flatten();
        let ends = |range: &UnitRange| [Unit::new(range.author, range.from), Unit::new(range.author, range.end())];
        inserted.chain(self.removed.iter().flat_map(ends))
    }
}

/// In UTF-16 units.
pub(super) fn length_of(text: &str) -> u32 {
    if text.is_ascii() {
        return u32::try_from(text.len()).unwrap_or(u32::MAX);
    }
    u32::try_from(text.encode_utf16().count()).unwrap_or(u32::MAX)
}
