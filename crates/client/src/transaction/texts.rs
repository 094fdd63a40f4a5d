//! Texts in a transaction.
//!
//! Positions are those of the text as the closure sees it in this run. The edit that comes of one says by its neighbours where it stands: what others
//! insert meanwhile moves nothing, and is no reason to run again.

use iolite_values::{Cell, CellState, Element, Operation, Read, Text};

use super::{RunError, Transaction};
use crate::text::{NoEdit, Splice};

impl Transaction<'_> {
    /// What a text says: empty if nothing was ever inserted.
    ///
    /// # Errors
    /// As [`Transaction::row`].
    pub fn text(&mut self, cell: &Cell) -> Result<String, RunError> {
        self.note(Read::Cell { cell: cell.clone(), element: Element::Whole })?;
        Ok(self.text_of(cell, &self.layered_text(cell)))
    }

    /// The length of a text, in UTF-16 units.
    ///
    /// # Errors
    /// As [`Transaction::row`].
    pub fn text_length(&mut self, cell: &Cell) -> Result<u32, RunError> {
        self.note(Read::Cell { cell: cell.clone(), element: Element::Whole })?;
        Ok(self.documents.borrow_mut().length(cell, &self.layered_text(cell)))
    }

    /// What the state of a text says, which a row was read with.
    pub fn text_of(&self, cell: &Cell, text: &Text) -> String {
        self.documents.borrow_mut().string(cell, text)
    }

    /// Removes units of a text and inserts others in their place. Commutes with all that others do to the text.
    ///
    /// # Errors
    /// [`RunError::NoEdit`] when there is no such position, or it is within a character; otherwise as [`Transaction::write`].
    pub fn splice(&mut self, cell: &Cell, splice: &Splice<'_>) -> Result<(), RunError> {
        self.note_held(&Read::Cell { cell: cell.clone(), element: Element::Whole })?;
        let text = self.layered_text(cell);
        let edit = self.documents.borrow_mut().splice(cell, &text, splice, self.run.authors.next(splice.inserted))?;
        match edit {
            Some(edit) => self.write(cell.clone(), Operation::Edit(edit.into())),
            None => Ok(()),
        }
    }

    /// The edit has to fit, and its author to be nobody else's.
    pub(super) fn check_edit(&mut self, cell: &Cell, edit: &iolite_values::Edit) -> Result<(), RunError> {
        let whole = Read::Cell { cell: cell.clone(), element: Element::Whole };
        self.note_held(&whole)?;
        if let Err(unfit) = self.layered_text(cell).check(edit) {
            // To be looked at again when the text is another one.
            self.note(whole)?;
            return Err(NoEdit::from(unfit).into());
        }
        match &edit.inserted {
            Some(own) => self.note(Read::Cell { cell: cell.clone(), element: Element::Author(own.first.author) }),
            None => Ok(()),
        }
    }

    fn layered_text(&self, cell: &Cell) -> Text {
        match self.layered().cell(cell) {
            Some(CellState::Text(text)) => Text::clone(text),
            Some(_) | None => Text::default(),
        }
    }
}
