//! Whether the edits of a mutation still fit the texts that they are of.
//!
//! They do while what they stand on stays. It goes when a mutation before them is taken back or refused, and when the store is another one.

use std::collections::BTreeMap;

use iolite_values::{Cell, CellState, Operation, RowKey, TableId, Text, Write};

use crate::view::Reader;

/// Whether all edits among these writes would be applied here.
pub(crate) fn fits(writes: &[Write], reader: Reader<'_>) -> bool {
    // A row that is created or deleted begins another life, in which its texts are empty.
    let mut lives: BTreeMap<(TableId, &RowKey), usize> = BTreeMap::new();
    let mut texts: BTreeMap<(&Cell, usize), Text> = BTreeMap::new();
    for Write { cell, operation } in writes {
        let life = lives.entry((cell.table, &cell.row)).or_default();
        if operation.is_of_life() {
            *life += 1;
        }
        let Operation::Edit(edit) = operation else { continue };
        let text = texts.entry((cell, *life)).or_insert_with(|| match reader.cell(cell) {
            Some(CellState::Text(text)) if *life == 0 => Text::clone(text),
            Some(_) | None => Text::default(),
        });
        if text.check(edit).is_err() {
            return false;
        }
        text.apply(edit);
    }
    true
}
