//! Whether the edits of a mutation still fit the texts that they are of.
//!
//! They do while what they stand on stays. It goes when a mutation before them is taken back or refused, and when the store is another one.

use std::collections::BTreeMap;

use iolite_values::{Cell, CellState, Operation, Text, Write};

use crate::view::Reader;

/// Whether all edits among these writes would be applied here.
pub(crate) fn fits(writes: &[Write], reader: Reader<'_>) -> bool {
    let mut texts: BTreeMap<&Cell, Text> = BTreeMap::new();
    for (place, Write { cell, operation }) in writes.iter().enumerate() {
        let Operation::Edit(edit) = operation else { continue };
        let emptied = || writes[..place].iter().any(|write| write.cell != *cell && cell.is_changed_with(&write.cell));
        let text = texts.entry(cell).or_insert_with(|| match reader.cell(cell) {
            Some(CellState::Text(text)) if !emptied() => text.clone(),
            Some(_) | None => Text::default(),
        });
        if text.check(edit).is_err() {
            return false;
        }
        text.apply(edit);
    }
    true
}
