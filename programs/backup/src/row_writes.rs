//! The operations that make a row what it was.
//!
//! Invariant: applied in their order to no row at all, they give the row, cell for cell: a collection that is empty is one still.

use iolite_values::{
    Author, Cell, CellState, ColumnId, Edit, ListOrder, Operation, Row, RowKey, TableId, Unit, UnitRange, Value, Write,
};

/// In the order in which they have to be applied.
pub fn writes_of<'a>(table: TableId, key: &'a RowKey, row: &'a Row) -> impl Iterator<Item = Write> + 'a {
    let life = row.exists().then_some((ColumnId::ROW, Operation::Create));
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
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::*;

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
}
