//! How large rows and transactions may be, whatever store keeps them: a row has to fit into a frame of a gateway.

use iolite_values::{CellState, Operation, Row, Write};

/// The largest row, by [`row_bytes`].
pub const ROW_BYTES_MAX: usize = 1 << 20;

/// The longest record of one transaction, as a store keeps it.
pub const RECORD_BYTES_MAX: usize = 8 << 20;

/// What an element of a collection takes beside its content, at most.
const ELEMENT_BYTES: usize = 24;

/// What a write takes beside its key and content: table, column, kind, lengths.
const WRITE_BYTES: usize = 32;

/// About what a write takes in memory and where it is sent.
pub fn write_bytes(write: &Write) -> usize {
    write.cell.row.as_bytes().len() + write.operation.size_bytes() + WRITE_BYTES
}

/// A bound on what a row takes where it is stored or sent.
pub fn row_bytes(row: &Row) -> usize {
    let elements = row.cells().map(|(_, state)| match state {
        CellState::Row(_) | CellState::Scalar(_) | CellState::Register(_) | CellState::Counter(_) => 1,
        CellState::Set(set) => set.len(),
        CellState::List(list) => list.len(),
        CellState::Map(map) => map.len(),
        CellState::Text(text) => text.parts(),
        CellState::Merged(merged) => merged.state().parts(),
    });
    row.size_bytes() + ELEMENT_BYTES * (1 + elements.sum::<usize>())
}

/// A bound on what an operation adds to its row, by [`row_bytes`], whatever the row holds.
pub fn growth_bytes(write: &Write) -> usize {
    let (bytes, elements) = match &write.operation {
        Operation::Edit(edit) => (edit.growth_bytes(), edit.growth_parts()),
        // A member or a life, and its mark.
        Operation::Merge(effect) => (effect.size_bytes(), 2),
        operation @ (Operation::Create
        | Operation::Delete
        | Operation::Put(_)
        | Operation::Assign(_)
        | Operation::Add(_)
        | Operation::PutTotal(_)
        | Operation::Insert(_)
        | Operation::Remove(_)
        | Operation::Append { .. }
        | Operation::SetAt { .. }
        | Operation::PutEntry { .. }
        | Operation::RemoveEntry { .. }) => (operation.size_bytes(), 1),
    };
    Row::CELL_BYTES + bytes + ELEMENT_BYTES * elements
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use iolite_values::{
        Author, Cell, ColumnId, Edit, Effect, HybridTime, Insertion, ListOrder, Mark, RowKey, Stamp, TableId, Text,
        Unit, UnitRange, Value,
    };
    use proptest::prelude::*;

    use super::*;

    /// An edit of this text: it inserts behind some unit, and removes ranges of one length and as far apart.
    fn edit(text: &Text, (one, other): (u32, u32), inserted: &str) -> Edit {
        let (author, from) = (Author(u64::from(one % 3) + 1), Author(u64::from(other % 3) + 1));
        let first = Unit::new(author, text.count(author));
        let left = text.count(from).checked_sub(1).map(|last| Unit::new(from, one % (last + 1)));
        let inserted = (!inserted.is_empty()).then(|| Insertion { first, left, right: None, text: inserted.into() });
        let length = one / 3 % 3 + 1;
        let ranges = (0..other % 40).map(|place| UnitRange { author: from, from: 2 * length * place, length });
        Edit { inserted, removed: ranges.take_while(|range| range.end() <= text.count(from)).collect() }
    }

    fn operation(row: &Row, kind: u32, (one, other): (u32, u32), content: &str) -> (ColumnId, Operation) {
        let (value, key) = (Value::from(content), other.to_string().into());
        let column = ColumnId(kind / 2 + 1);
        let operation = match kind {
            0 => Operation::Put(value),
            2 => Operation::Assign(value),
            4 => Operation::Add(i64::from(one)),
            5 => Operation::PutTotal(i64::from(one)),
            6 => Operation::Insert(value),
            7 => Operation::Remove(value),
            8 => Operation::Append { value, order: ListOrder::Commit },
            9 => Operation::SetAt { index: one % 4, value },
            10 => Operation::PutEntry { key, value },
            11 => Operation::RemoveEntry { key },
            60..70 => return effect(kind, (one, other), value),
            12 => return (ColumnId::ROW, Operation::Create),
            13 => return (ColumnId::ROW, Operation::Delete),
            _ => {
                let column = ColumnId(one % 2 + 20);
                let text = match row.cell(column) {
                    Some(CellState::Text(text)) => Text::clone(text),
                    _ => Text::default(),
                };
                return (column, Operation::Edit(edit(&text, (one, other), content).into()));
            }
        };
        (column, operation)
    }

    /// Any effects of few marks, of a row that merges.
    fn effect(kind: u32, (one, other): (u32, u32), value: Value) -> (ColumnId, Operation) {
        let mark = |number: u32| Mark((number % 5).into());
        let (mark, life, seen) = (mark(one), mark(other), BTreeSet::from([mark(other / 5), mark(other / 25)]));
        let (column, effect) = match kind {
            60 | 61 => (ColumnId::ROW, Effect::Touch { life, mark, seen }),
            62 => (ColumnId::ROW, Effect::Bury { seen }),
            63 | 64 => (ColumnId(31), Effect::Add { life, amount: one.into() }),
            65 => (ColumnId(32), Effect::Assign { stamp: Stamp { time: HybridTime(1), mark }, value }),
            66 => (ColumnId(33), Effect::Remove { value, seen }),
            _ => (ColumnId(33), Effect::Insert { value, mark }),
        };
        (column, Operation::Merge(effect.into()))
    }

    proptest! {
        #[test]
        fn no_operation_adds_more_to_a_row_than_is_said(
            steps in prop_oneof![Just(0u32..60), Just(60..70)].prop_flat_map(|kinds| prop::collection::vec((kinds, any::<(u32, u32)>(), "[a\u{1fa91}]{0,4}|a{0,80}"), 1..60)),
        ) {
            let mut row = Row::default();
            for (kind, numbers, content) in steps {
                let (column, operation) = operation(&row, kind, numbers, &content);
                let key = RowKey::new(&[Value::Int(1)]).expect("short");
                let write = Write { cell: Cell { table: TableId(1), row: key, column }, operation };
                let before = row_bytes(&row);
                row.apply(column, &write.operation).expect("each column has its type");
                prop_assert!(row_bytes(&row) <= before + growth_bytes(&write), "{} after {before}: {write:?}", row_bytes(&row));
            }
        }
    }
}
