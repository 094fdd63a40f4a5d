//! The operations that make a row what it was.
//!
//! Invariants: applied in their order to no row at all, they give the row, cell for cell: a collection that is empty is one still; between two
//! transactions a row is never larger than in the end, so that no store refuses it on the way.

use std::collections::BTreeSet;
use std::iter::from_fn;

use iolite_values::{
    Author, Cell, CellState, ColumnId, Edit, Effect, ListOrder, Operation, Row, RowKey, TableId, Unit, UnitRange,
    Value, Write,
};
use iolite_wire::client_storage::StoredRow;

/// One transaction has about so many bytes, or so many writes.
const TRANSACTION_BYTES: usize = 256 << 10;
const TRANSACTION_WRITES: usize = 4_096;
/// What a write takes beside its key and its content.
const WRITE_BYTES: usize = 64;

/// The writes of rows, in the transactions that make them.
pub fn transactions_of(rows: &[StoredRow]) -> impl Iterator<Item = Vec<Write>> + Send + '_ {
    let writes = rows.iter().flat_map(|StoredRow { table, key, row }| writes_of(*table, key, row));
    let mut writes = writes.peekable();
    from_fn(move || {
        let (mut own, mut bytes) = (Vec::new(), 0);
        let has_room = |own: &Vec<Write>, bytes| bytes < TRANSACTION_BYTES && own.len() < TRANSACTION_WRITES;
        while let Some(write) = writes.next_if(|next| has_room(&own, bytes) || takes_back(next)) {
            bytes += WRITE_BYTES + write.cell.row.as_bytes().len() + write.operation.size_bytes();
            own.push(write);
        }
        (!own.is_empty()).then_some(own)
    })
}

/// Whether a write removes from a text what the write before it has put there.
fn takes_back(write: &Write) -> bool {
    matches!(&write.operation, Operation::Edit(edit) if edit.inserted.is_none())
}

/// In the order in which they have to be applied.
pub fn writes_of<'a>(table: TableId, key: &'a RowKey, row: &'a Row) -> impl Iterator<Item = Write> + 'a {
    // The lives of a row that merges are a cell.
    let is_created = row.exists() && row.lives().is_none();
    let life = is_created.then_some((ColumnId::ROW, Operation::Create));
    let cells = row.cells().flat_map(|(column, state)| operations_of(state).map(move |operation| (column, operation)));
    life.into_iter().chain(cells).map(move |(column, operation)| {
        let cell = Cell { table, row: key.clone(), column };
        Write { cell, operation }
    })
}

/// What makes a cell from nothing.
fn operations_of(state: &CellState) -> Box<dyn Iterator<Item = Operation> + Send + '_> {
    match state {
        // No cell of a column holds it.
        CellState::Row(_) => Box::new(std::iter::empty()),
        CellState::Scalar(value) => Box::new(std::iter::once(Operation::Put(value.clone()))),
        CellState::Register(value) => Box::new(std::iter::once(Operation::Assign(value.clone()))),
        CellState::Counter(total) => Box::new(std::iter::once(Operation::Add(*total))),
        CellState::Set(set) => {
            let none = set.is_empty().then_some(Operation::Remove(Value::Null));
            Box::new(none.into_iter().chain(set.iter().map(|value| Operation::Insert(value.clone()))))
        }
        CellState::List(list) => {
            let none = list.is_empty().then_some(Operation::SetAt { index: 0, value: Value::Null });
            // Nobody else appends meanwhile.
            let append = |value: &Value| Operation::Append { value: value.clone(), order: ListOrder::Commit };
            Box::new(none.into_iter().chain(list.iter().map(append)))
        }
        CellState::Map(map) => {
            let none = map.is_empty().then(|| Operation::RemoveEntry { key: "".into() });
            let entry = |(key, value): (&std::sync::Arc<str>, &Value)| Operation::PutEntry {
                key: key.clone(),
                value: value.clone(),
            };
            Box::new(none.into_iter().chain(map.iter().map(entry)))
        }
        CellState::Text(text) => {
            let edits = text.edits();
            // One that fits no empty text changes nothing.
            let nothing = || Edit { inserted: None, removed: vec![UnitRange::one(Unit::new(Author(1), 0))] };
            let none = edits.is_empty().then(|| Operation::Edit(nothing().into()));
            Box::new(none.into_iter().chain(edits.into_iter().map(Operation::Edit)))
        }
        CellState::Merged(merged) => {
            let effects = merged.state().effects();
            // An empty set is one still.
            let none = effects.is_empty().then(|| Effect::Remove { value: Value::Null, seen: BTreeSet::new() });
            Box::new(none.into_iter().chain(effects).map(|effect| Operation::Merge(effect.into())))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use iolite_store::size::{ROW_BYTES_MAX, row_bytes};
    use iolite_values::{HybridTime, Insertion, Lives, Mark, Stamp, Text};

    use super::*;

    /// A text of this author, who wrote so much again and again and removed it each time.
    fn rewritten(author: u32, bytes: usize, times: u32) -> CellState {
        let (author, length) = (Author(author.into()), bytes as u32);
        let mut text = Text::default();
        for first in (0..times).map(|number| number * length) {
            let left = first.checked_sub(1).map(|last| Unit::new(author, last));
            let (first, written) = (Unit::new(author, first), "x".repeat(bytes).into());
            let inserted = Some(Insertion { first, left, right: None, text: written });
            text.apply(&Edit { inserted, removed: Vec::new() }.into());
            let removed = vec![UnitRange { author, from: first.number, length }];
            text.apply(&Edit { inserted: None, removed }.into());
        }
        CellState::Text(Box::new(text))
    }

    #[test]
    fn a_row_whose_text_lost_much_is_never_too_large_while_it_is_made_again() {
        let long = CellState::Scalar(Value::string("x".repeat(ROW_BYTES_MAX - 1_000)));
        let texts = [rewritten(1, 250 << 10, 5), rewritten(2, 100, 3)];
        for cells in [vec![texts[0].clone()], vec![long, texts[0].clone(), texts[1].clone()]] {
            let cells = (1..).map(ColumnId).zip(cells);
            let key = RowKey::new(&[Value::Int(1)]).expect("short");
            let rows = [StoredRow { table: TableId(7), key, row: Row::from_parts(true, cells) }];
            let (mut made, mut largest) = (Row::default(), 0);
            for writes in transactions_of(&rows) {
                for write in writes {
                    made.apply(write.cell.column, &write.operation).expect("of one type");
                }
                largest = largest.max(row_bytes(&made));
            }
            assert!(largest <= row_bytes(&rows[0].row), "{largest} bytes on the way");
            assert_eq!(made, rows[0].row);
        }
    }

    #[test]
    fn a_row_is_made_again_cell_for_cell() {
        let value = Value::from("x");
        let states = [
            CellState::Scalar(Value::Null),
            CellState::Register(Value::Int(-3)),
            CellState::Counter(0),
            CellState::Counter(i64::MIN),
            CellState::Set(BTreeSet::new()),
            CellState::Set([value.clone(), Value::Int(1)].into()),
            CellState::List(Vec::new()),
            CellState::List(vec![value.clone(), Value::Null, value.clone()]),
            CellState::Map(BTreeMap::new()),
            CellState::Map([("a".into(), value.clone()), ("".into(), Value::Null)].into()),
        ];
        let key = RowKey::new(&[Value::Int(1)]).expect("short");
        let cells: BTreeMap<ColumnId, CellState> =
            states.into_iter().enumerate().map(|(number, state)| (ColumnId(number as u32 + 1), state)).collect();
        for exists in [true, false] {
            for cells in [BTreeMap::new(), cells.clone()] {
                let row = Row::from_parts(exists, cells);
                let mut made = Row::default();
                for write in writes_of(TableId(7), &key, &row) {
                    assert_eq!((write.cell.table, &write.cell.row), (TableId(7), &key));
                    made.apply(write.cell.column, &write.operation).expect("of one type");
                }
                assert_eq!(made, row);
            }
        }
    }

    /// A row of two lives, with a counter of both, a register, a set that two inserted a member into, and a set that is empty again; and the same, deleted.
    #[test]
    fn a_row_that_merges_is_made_again_effect_for_effect() {
        let key = RowKey::new(&[Value::Int(1)]).expect("short");
        let stamp = Stamp { time: HybridTime(4), mark: Mark(5) };
        let insert = |mark| Effect::Insert { value: Value::Int(7), mark: Mark(mark) };
        let mut row = Row::default();
        for (column, effect) in [
            (ColumnId::ROW, Lives::insertion(Mark(1))),
            (ColumnId::ROW, Lives::insertion(Mark(2))),
            (ColumnId(1), Effect::Add { life: Mark(1), amount: 3 }),
            (ColumnId(1), Effect::Add { life: Mark(2), amount: -8 }),
            (ColumnId(2), Effect::Assign { stamp, value: Value::from("x") }),
            (ColumnId(3), insert(6)),
            (ColumnId(3), insert(7)),
            (ColumnId(4), insert(8)),
            (ColumnId(4), Effect::Remove { value: Value::Int(7), seen: [Mark(8)].into() }),
        ] {
            row.apply(column, &Operation::Merge(effect.into())).expect("its type");
        }
        let mut deleted = row.clone();
        let deletion = row.lives().expect("it has lives").deletion();
        deleted.apply(ColumnId::ROW, &Operation::Merge(deletion.into())).expect("its type");
        for row in [row, deleted] {
            let mut made = Row::default();
            for write in writes_of(TableId(7), &key, &row) {
                made.apply(write.cell.column, &write.operation).expect("of one type");
            }
            assert_eq!(made, row);
        }
    }
}
