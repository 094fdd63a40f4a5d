//! Leaves out changes that later ones make good for, so that a session that was away gets what matters.
//!
//! Invariant: applied to any state, what is left gives the state that all changes give.

use std::collections::{BTreeMap, BTreeSet};

use iolite_values::{Cell, Operation, RowKey, TableId, Write};

/// The changes that still matter, in order.
pub fn coalesce(changes: Vec<Write>) -> Vec<Write> {
    let mut later = Later::default();
    changes.into_iter().rev().for_each(|write| later.precede(write));
    later.kept.reverse();
    later.kept
}

/// The end of a list of changes, latest first.
#[derive(Default)]
struct Later {
    kept: Vec<Write>,
    /// Rows that are created or deleted later, and so lose everything before.
    emptied: BTreeSet<(TableId, RowKey)>,
    /// Cells that get another value later.
    overwritten: BTreeSet<Cell>,
    /// Where in `kept` the sum of a counter's later increments is.
    sums: BTreeMap<Cell, usize>,
}

impl Later {
    /// Puts a change before all others, if it makes a difference.
    fn precede(&mut self, write: Write) {
        let row = (write.cell.table, write.cell.row.clone());
        if self.emptied.contains(&row) || self.overwritten.contains(&write.cell) {
            return;
        }
        match &write.operation {
            Operation::Create | Operation::Delete => drop(self.emptied.insert(row)),
            Operation::Put(_) | Operation::Assign(_) | Operation::PutTotal(_) => {
                self.overwritten.insert(write.cell.clone());
            }
            Operation::Add(amount) => return self.add(write.cell, *amount),
            Operation::Insert(_)
            | Operation::Remove(_)
            | Operation::Append { .. }
            | Operation::SetAt { .. }
            | Operation::PutEntry { .. }
            | Operation::RemoveEntry { .. }
            | Operation::Edit(_)
            | Operation::Merge(_) => {}
        }
        self.kept.push(write);
    }

    fn add(&mut self, cell: Cell, amount: i64) {
        let sum = self.sums.get(&cell).and_then(|place| self.kept.get_mut(*place));
        match sum.map(|write| &mut write.operation) {
            Some(Operation::Add(later)) => *later = later.wrapping_add(amount),
            Some(_) | None => {
                self.sums.insert(cell.clone(), self.kept.len());
                self.kept.push(Write { cell, operation: Operation::Add(amount) });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use iolite_values::{ColumnId, Row, Value};
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
            1 => (-3i64..3).prop_map(|total| write(3, Operation::PutTotal(total))),
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
