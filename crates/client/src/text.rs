//! Texts at a client: the documents that show them and make edits, and whether edits still fit.
//!
//! Invariants: an edit is made once, on what the writer sees, and says itself where it stands; what is shown of a text is the document of exactly that
//! text, made from an earlier one where that is possible, since an edit cannot be taken out of a document again; units have the names of their
//! [`authors`].

mod authors;
mod fit;
mod writer;

use std::collections::VecDeque;

use iolite_text::{Document, OutOfText, Yata};
use iolite_values::{Author, Cell, Edit, Text, Unfit};

use crate::interface::Broken;

pub(crate) use authors::{Authors, RunAuthors};
pub(crate) use fit::fits;
pub(crate) use writer::text_with;
pub use writer::{EditError, Splice};

/// Documents in use, the last used first.
pub(crate) struct Documents {
    held: VecDeque<Held>,
    pub(crate) broken: Broken,
}

struct Held {
    cell: Cell,
    /// What the document shows.
    text: Text,
    document: Yata,
    /// Whose edits it makes. Nobody's, if it is only looked at.
    author: Author,
}

/// Why there is no such edit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoEdit {
    #[error(transparent)]
    Outside(#[from] OutOfText),
    #[error(transparent)]
    Unfit(#[from] Unfit),
    #[error("an edit inserts at most {} bytes: insert it in parts", Edit::TEXT_BYTES_MAX)]
    TooLong,
}

impl Documents {
    /// Documents that are kept, of all texts.
    pub(crate) const HELD: usize = 16;
    /// Of one text: as it is confirmed, with what is pending, and the one in which a mutator has last edited it.
    const HELD_OF_ONE: usize = 3;

    pub(crate) fn new() -> Documents {
        Documents { held: VecDeque::new(), broken: Broken::Nothing }
    }

    /// What a text says.
    pub(crate) fn string(&mut self, cell: &Cell, text: &Text) -> String {
        self.of(cell, text, None).document.string()
    }

    /// In UTF-16 units.
    pub(crate) fn length(&mut self, cell: &Cell, text: &Text) -> u32 {
        self.of(cell, text, None).document.length()
    }

    /// The edit by which `author` does this to a text; none if it does nothing.
    pub(crate) fn splice(
        &mut self,
        cell: &Cell,
        text: &Text,
        splice: &Splice<'_>,
        author: Author,
    ) -> Result<Option<Edit>, NoEdit> {
        if splice.inserted.len() > Edit::TEXT_BYTES_MAX {
            return Err(NoEdit::TooLong);
        }
        let held = self.of(cell, text, (!splice.inserted.is_empty()).then_some(author));
        let edit = held.document.splice(splice.at, splice.removed, splice.inserted)?;
        let checked = edit.as_ref().map_or(Ok(()), |edit| text.check(edit));
        match (&edit, checked) {
            (Some(edit), Ok(())) => held.text.apply(&edit.clone().into()),
            // The document shows what no text is.
            (Some(_), Err(_)) => drop(self.held.pop_front()),
            (None, _) => {}
        }
        checked?;
        Ok(edit)
    }

    /// The document of this text, first in the list now: one whose edits are this author's, if it is to insert.
    fn of(&mut self, cell: &Cell, text: &Text, author: Option<Author>) -> &mut Held {
        let own = |held: &Held| held.cell == *cell;
        let serves = |held: &Held| own(held) && author.is_none_or(|author| author == held.author);
        let nearest = self.held.iter().enumerate().filter(|(_, held)| serves(held));
        let keeps = self.broken == Broken::KeepTakenBack;
        let since = |held: &Held| text.since(&held.text).or_else(|| keeps.then(Vec::new));
        let nearest = nearest.filter_map(|(place, held)| Some((place, since(held)?)));
        let found = nearest.min_by_key(|(_, edits)| edits.len());
        let mut held = match found.and_then(|(place, edits)| Some((self.held.remove(place)?, edits))) {
            Some((mut held, edits)) => {
                held.document.apply(&edits);
                held
            }
            None => {
                let author = author.unwrap_or(Author::NOBODY);
                let mut document = Yata::new(author);
                document.apply(&text.edits());
                Held { cell: cell.clone(), text: Text::default(), document, author }
            }
        };
        held.text = text.clone();
        self.held.push_front(held);
        let mut of_one = self.held.iter().enumerate().filter(|(_, held)| own(held)).map(|(place, _)| place);
        of_one.nth(Documents::HELD_OF_ONE).map(|place| self.held.remove(place));
        self.held.truncate(Documents::HELD);
        &mut self.held[0]
    }
}
