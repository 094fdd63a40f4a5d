//! How large rows and transactions may be, whatever store keeps them: a row has to fit into a frame of a gateway.

use iolite_values::{CellState, Row, Write};

/// The largest row, by [`row_bytes`].
pub const ROW_BYTES_MAX: usize = 1 << 20;

/// The longest record of one transaction, as a store keeps it.
pub const RECORD_BYTES_MAX: usize = 8 << 20;

/// What an element of a collection takes beside its content, at most.
const ELEMENT_BYTES: usize = 24;

/// A bound on what a row takes where it is stored or sent.
pub fn row_bytes(row: &Row) -> usize {
    let elements = row.cells().map(|(_, state)| match state {
        CellState::Row(_) | CellState::Scalar(_) | CellState::Register(_) | CellState::Counter(_) => 1,
        CellState::Set(set) => set.len(),
        CellState::List(list) => list.len(),
        CellState::Map(map) => map.len(),
        CellState::Text(text) => text.parts(),
    });
    row.size_bytes() + ELEMENT_BYTES * (1 + elements.sum::<usize>())
}

/// A bound on what an operation adds to its row.
pub fn growth_bytes(write: &Write) -> usize {
    ELEMENT_BYTES + write.operation.size_bytes()
}
