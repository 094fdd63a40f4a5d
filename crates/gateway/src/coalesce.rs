//! Leaves out changes that later ones make good for, so that a session that was away gets what matters.
//!
//! Invariant: applied to any state, what is left gives the state that all changes give.

use std::collections::{BTreeMap, BTreeSet};

use iolite_values::{Cell, ColumnId, Operation, RowKey, TableId, Write};

/// The changes that still matter, in order.
pub fn coalesce(changes: Vec<Write>) -> Vec<Write> {
    let mut emptied: BTreeSet<(TableId, RowKey)> = BTreeSet::new();
    let mut overwritten: BTreeSet<Cell> = BTreeSet::new();
    // Where in `kept` the later sum of a counter's changes is.
    let mut sums: BTreeMap<Cell, usize> = BTreeMap::new();
    let mut kept: Vec<Write> = Vec::new();
    for write in changes.into_iter().rev() {
        let row = (write.cell.table, write.cell.row.clone());
        if emptied.contains(&row) || overwritten.contains(&write.cell) {
            continue;
        }
        match &write.operation {
            Operation::Create | Operation::Delete if write.cell.column == ColumnId::ROW => {
                emptied.insert(row);
            }
            Operation::Put(_) | Operation::Assign(_) => {
                overwritten.insert(write.cell.clone());
            }
            Operation::Add(earlier) => {
                if let Some(place) = sums.get(&write.cell) {
                    let later = &mut kept[*place].operation;
                    if let Operation::Add(amount) = later {
                        *amount = amount.wrapping_add(*earlier);
                    }
                    continue;
                }
                sums.insert(write.cell.clone(), kept.len());
            }
            Operation::Create
            | Operation::Delete
            | Operation::Insert(_)
            | Operation::Remove(_)
            | Operation::Append { .. }
            | Operation::SetAt { .. }
            | Operation::PutEntry { .. }
            | Operation::RemoveEntry { .. } => {}
        }
        kept.push(write);
    }
    kept.reverse();
    kept
}

#[cfg(test)]
mod tests {
    use iolite_values::{Row, Value};
    use proptest::prelude::*;

    use super::*;

    fn write(column: u32, operation: Operation) -> Write {
        let row = RowKey::new(&[Value::Int(1)]).expect("short");
        Write { cell: Cell { table: TableId(1), row, column: ColumnId(column) }, operation }
    }

    /// A column has one type, as in every schema.
    fn any_write() -> impl Strategy<Value = Write> {
        prop_oneof![
            1 => Just(write(0, Operation::Create)),
            1 => Just(write(0, Operation::Delete)),
            4 => (0i64..3).prop_map(|value| write(1, Operation::Put(Value::Int(value)))),
            4 => (0i64..3).prop_map(|value| write(2, Operation::Assign(Value::Int(value)))),
            4 => (-3i64..3).prop_map(|amount| write(3, Operation::Add(amount))),
            2 => (0i64..3).prop_map(|value| write(4, Operation::Insert(Value::Int(value)))),
            2 => (0i64..3).prop_map(|value| write(4, Operation::Remove(Value::Int(value)))),
        ]
    }

    fn after(row: &Row, changes: &[Write]) -> Row {
        let mut row = row.clone();
        for change in changes {
            row.apply(change.cell.column, &change.operation).expect("one type a column");
        }
        row
    }

    proptest! {
        #[test]
        fn what_is_left_does_the_same(
            before in proptest::collection::vec(any_write(), 0..6),
            changes in proptest::collection::vec(any_write(), 0..20),
        ) {
            let row = after(&Row::default(), &before);
            prop_assert_eq!(after(&row, &coalesce(changes.clone())), after(&row, &changes));
        }
    }

    #[test]
    fn one_change_a_cell_is_left_of_many() {
        let changes: Vec<Write> =
            (0..100).flat_map(|n| [write(1, Operation::Put(Value::Int(n))), write(3, Operation::Add(n))]).collect();
        let left = coalesce(changes);
        assert_eq!(left, vec![write(1, Operation::Put(Value::Int(99))), write(3, Operation::Add(4950))]);
    }
}
