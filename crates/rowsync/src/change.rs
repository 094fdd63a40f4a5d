//! Changes of one row, and how several become one.
//!
//! Invariants: a row after the fold of some changes is the row after these changes, one after the other. An update never brings a row into being.

use std::collections::BTreeMap;
use std::sync::Arc;

use iolite_values::{Blob, Cell, CellState, ColumnId, Operation, Row, RowKey, TableId, Value, Write, map_of};

use crate::Scheme;

/// The cells of a change, by column.
pub type Cells = BTreeMap<ColumnId, Value>;

/// A change of one row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// The row is there with these cells and no others.
    Insert(Cells),
    /// A row that is there gets these cells.
    Update(Cells),
    Delete,
}

impl Change {
    /// The change that a run's writes make of each row, in the order of keys.
    ///
    /// # Errors
    /// The write that is of another table, or no scalar's.
    pub(crate) fn of_writes(table: TableId, writes: &[Write]) -> Result<BTreeMap<RowKey, Change>, &Write> {
        let mut changes: BTreeMap<RowKey, Change> = BTreeMap::new();
        for write in writes {
            let next = Change::of_write(table, write).ok_or(write)?;
            let before = changes.remove(&write.cell.row);
            changes.insert(write.cell.row.clone(), before.map_or_else(|| next.clone(), |before| before.then(&next)));
        }
        Ok(changes)
    }

    fn of_write(table: TableId, write: &Write) -> Option<Change> {
        if write.cell.table != table || (write.cell.column == ColumnId::ROW) != write.operation.is_of_life() {
            return None;
        }
        match &write.operation {
            Operation::Create => Some(Change::Insert(Cells::new())),
            Operation::Delete => Some(Change::Delete),
            Operation::Put(value) | Operation::Assign(value) => {
                Some(Change::Update(Cells::from([(write.cell.column, value.clone())])))
            }
            Operation::Add(_)
            | Operation::PutTotal(_)
            | Operation::Insert(_)
            | Operation::Remove(_)
            | Operation::Append { .. }
            | Operation::SetAt { .. }
            | Operation::PutEntry { .. }
            | Operation::RemoveEntry { .. }
            | Operation::Edit(_)
            | Operation::Merge(_) => None,
        }
    }

    /// One change in place of this and the next one.
    pub(crate) fn then(self, next: &Change) -> Change {
        match (self, next) {
            (_, Change::Insert(_) | Change::Delete) => next.clone(),
            (Change::Insert(cells), Change::Update(more)) => Change::Insert(with(cells, more)),
            (Change::Update(cells), Change::Update(more)) => Change::Update(with(cells, more)),
            (Change::Delete, Change::Update(_)) => Change::Delete,
        }
    }

    /// The cells that it gives.
    pub fn cells(&self) -> Option<&Cells> {
        match self {
            Change::Insert(cells) | Change::Update(cells) => Some(cells),
            Change::Delete => None,
        }
    }

    /// The change that makes one row of another.
    pub(crate) fn between(from: &Row, to: &Row) -> Change {
        if !to.exists() {
            return Change::Delete;
        }
        let all = cells_of(to);
        if !from.exists() {
            return Change::Insert(all);
        }
        let gone = from.cells().map(|(column, _)| column).filter(|column| to.cell(*column).is_none());
        let gone: Vec<_> = gone.map(|column| (column, Value::Null)).collect();
        let other = all.into_iter().filter(|(column, value)| from.cell(*column).and_then(scalar) != Some(value));
        Change::Update(map_of(other.chain(gone)))
    }

    /// The writes that make this change of a row as it is in the store. None if nothing is different then.
    pub(crate) fn writes(&self, scheme: Scheme, table: TableId, key: &RowKey, of: &Row) -> Vec<Write> {
        let life = |operation| Write { cell: Cell::row(table, key.clone()), operation };
        let put = |(column, value): (ColumnId, Value)| Write {
            cell: Cell { table, row: key.clone(), column },
            operation: scheme.put(value),
        };
        match self {
            Change::Delete if of.exists() => vec![life(Operation::Delete)],
            Change::Delete => Vec::new(),
            Change::Update(_) if !of.exists() => Vec::new(),
            Change::Update(cells) => cells.clone().into_iter().map(put).collect(),
            Change::Insert(cells) if of.exists() => {
                let gone = of.cells().map(|(column, _)| column).filter(|column| !cells.contains_key(column));
                let gone = gone.map(|column| (column, Value::Null));
                cells.clone().into_iter().chain(gone).map(put).collect()
            }
            Change::Insert(cells) => {
                [life(Operation::Create)].into_iter().chain(cells.clone().into_iter().map(put)).collect()
            }
        }
    }

    /// The same change with other blobs. None if one of them is not to be had.
    pub(crate) fn with_blobs(&self, mut of: impl FnMut(ColumnId, &Arc<Blob>) -> Option<Arc<Blob>>) -> Option<Change> {
        let mut changed = self.clone();
        let cells = match &mut changed {
            Change::Insert(cells) | Change::Update(cells) => cells,
            Change::Delete => return Some(changed),
        };
        for (column, value) in cells {
            if let Value::Blob(blob) = value {
                *blob = of(*column, blob)?;
            }
        }
        Some(changed)
    }

    pub(crate) fn size_bytes(&self) -> usize {
        self.cells().map_or(1, |cells| cells.values().map(|value| Row::CELL_BYTES + value.size_bytes()).sum())
    }
}

/// Puts a change on a row, as the store does with its writes.
pub(crate) fn apply(row: &mut Row, scheme: Scheme, change: &Change) {
    // The key and the table do not matter to a row's cells.
    let key = RowKey::bound(&[]);
    for write in change.writes(scheme, TableId(0), &key, row) {
        row.apply(write.cell.column, &write.operation).expect("each cell of such a table is of one type");
    }
}

/// The scalar of a cell.
pub(crate) fn scalar(state: &CellState) -> Option<&Value> {
    match state {
        CellState::Scalar(value) | CellState::Register(value) => Some(value),
        CellState::Row(_)
        | CellState::Counter(_)
        | CellState::Set(_)
        | CellState::List(_)
        | CellState::Map(_)
        | CellState::Text(_)
        | CellState::Merged(_) => None,
    }
}

fn cells_of(row: &Row) -> Cells {
    map_of(row.cells().filter_map(|(column, state)| Some((column, scalar(state)?.clone()))))
}

fn with(mut cells: Cells, more: &Cells) -> Cells {
    cells.extend(more.iter().map(|(column, value)| (*column, value.clone())));
    cells
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: ColumnId = ColumnId(7);

    fn cells(text: &str) -> Cells {
        Cells::from([(TEXT, Value::from(text))])
    }

    /// All chains of three changes, on a row that is there and on none.
    #[test]
    fn a_fold_leaves_the_row_that_the_changes_leave() {
        let changes = || [Change::Insert(cells("a")), Change::Update(cells("b")), Change::Delete];
        for scheme in [Scheme::Causal, Scheme::Eventual] {
            let mut there = Row::default();
            apply(&mut there, scheme, &Change::Insert(cells("c")));
            for before in [Row::default(), there] {
                for [one, two, three] in changes()
                    .map(|one| changes().map(|two| changes().map(|three| [one.clone(), two.clone(), three])))
                    .into_iter()
                    .flatten()
                    .flatten()
                {
                    let (mut each, mut folded) = (before.clone(), before.clone());
                    [&one, &two, &three].into_iter().for_each(|change| apply(&mut each, scheme, change));
                    let fold = one.clone().then(&two).then(&three);
                    apply(&mut folded, scheme, &fold);
                    assert_eq!(folded, each, "{before:?}: {one:?}, {two:?}, {three:?}");
                }
            }
        }
    }

    #[test]
    fn an_update_writes_nothing_where_no_row_is() {
        let key = RowKey::new(&[Value::Int(1)]).expect("short");
        let writes = Change::Update(cells("a")).writes(Scheme::Eventual, TableId(1), &key, &Row::default());
        assert_eq!(writes, []);
    }
}
