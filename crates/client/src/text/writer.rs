//! Edits outside of a closure: made at the call, on the text as the writer sees it, into the arguments of a `live` mutation.

use iolite_values::{Cell, CellState, Interest, Operation, OperationError, Schema, Text, Write};

use super::{Authors, Documents, NoEdit};
use crate::live;
use crate::view::Reader;

/// A change at a position of a text, in UTF-16 units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Splice<'a> {
    pub at: u32,
    /// Units that go.
    pub removed: u32,
    /// What comes in their place.
    pub inserted: &'a str,
}

/// Why a text cannot be edited now.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EditError {
    #[error("the text is not on this device yet: watch it before you edit it")]
    NotHeld,
    #[error("the row of the text is not there")]
    RowMissing,
    #[error(transparent)]
    NoEdit(#[from] NoEdit),
    #[error(transparent)]
    Unfit(#[from] OperationError),
}

/// The text as its writer sees it: here, and with the edits of calls that have not run yet.
pub(crate) fn text_with<'w>(
    reader: Reader<'_>,
    schema: &Schema,
    cell: &Cell,
    more: impl IntoIterator<Item = &'w Write>,
) -> Result<Text, EditError> {
    let whole = Interest::Cell(cell.clone());
    schema.check_interest(&whole)?;
    if !reader.knows(&whole) {
        return Err(EditError::NotHeld);
    }
    let (_, table) = schema.find(cell.table)?;
    if !table.live && !reader.exists(cell.table, &cell.row) {
        return Err(EditError::RowMissing);
    }
    let mut text = match reader.cell(cell) {
        Some(CellState::Text(text)) => Text::clone(text),
        Some(_) | None => Text::default(),
    };
    for write in more.into_iter().filter(|write| write.cell == *cell) {
        if let Operation::Edit(edit) = &write.operation {
            text.apply(edit);
        }
    }
    Ok(text)
}

impl Documents {
    /// The arguments of the `live` mutation that does this to a text.
    pub(crate) fn live_edit(
        &mut self,
        schema: &Schema,
        cell: &Cell,
        text: &Text,
        splice: &Splice<'_>,
        authors: &mut Authors,
    ) -> Result<String, EditError> {
        let edit = self.splice(cell, text, splice, authors.author(cell, text))?;
        edit.iter().for_each(|edit| authors.inserted(cell, edit));
        let write = edit.map(|edit| Write { cell: cell.clone(), operation: Operation::Edit(edit.into()) });
        Ok(live::live_arguments(schema, write.as_slice())?)
    }
}
