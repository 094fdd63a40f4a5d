//! Edits of texts outside of closures.

use iolite_values::{Cell, Text, Write};

use super::Client;
use crate::live::{self, LIVE};
use crate::queue::{Entry, MutationKind, RunState};
use crate::text::{EditError, Splice, text_with};
use crate::view::View;

impl Client {
    /// The arguments of the `live` mutation that does this to a text, as this client shows it optimistically. To be called at once: the next edit counts
    /// on this one.
    ///
    /// # Errors
    /// [`EditError`].
    pub fn live_edit(&mut self, cell: &Cell, splice: &Splice<'_>) -> Result<String, EditError> {
        let text = self.written_text(cell)?;
        self.documents.borrow_mut().live_edit(&self.schema, cell, &text, splice, &mut self.authors)
    }

    /// What the positions of [`Client::live_edit`] are of.
    ///
    /// # Errors
    /// [`EditError`].
    pub fn live_text(&mut self, cell: &Cell) -> Result<String, EditError> {
        let text = self.written_text(cell)?;
        Ok(self.documents.borrow_mut().string(cell, &text))
    }

    fn written_text(&mut self, cell: &Cell) -> Result<Text, EditError> {
        // What was called and can run without the app runs first.
        while self.running.is_none() && self.rebase() {}
        text_with(self.reader(View::Optimistic), &self.schema, cell, &self.unsettled_writes())
    }

    /// Of the mutations that have to run first: what they wrote when they last ran, or will write.
    fn unsettled_writes(&self) -> Vec<Write> {
        self.queue.unsettled().flat_map(|entry| self.foreseen_writes(entry)).collect()
    }

    fn foreseen_writes(&self, entry: &Entry) -> Vec<Write> {
        match (&entry.state, &entry.mutation.kind) {
            (RunState::Due | RunState::Missing(_), MutationKind::Named { name, arguments }) if **name == *LIVE => {
                live::writes(&self.schema, arguments)
            }
            (
                RunState::Due | RunState::Missing(_) | RunState::Done(_) | RunState::Frozen(_) | RunState::TookPlace(_),
                _,
            ) => entry.writes().to_vec(),
        }
    }
}
