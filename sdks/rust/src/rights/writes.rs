//! The writes of one mutation, as a test names them.

use iolite_values::{Cell, ColumnId, Operation, RowKey, TableId, Value, Write};

use super::RightsTestError;
use crate::key::IntoKey;
use crate::table::{Column, ColumnKind, Table};

/// The writes of one mutation. Rules that look at rows `after` it see all of it.
#[derive(Clone, Debug)]
pub struct Writes(Result<Vec<Write>, RightsTestError>);

/// A row comes.
pub fn create<T: Table>(row: &T) -> Writes {
    Writes(creation(row))
}

/// A column of a row is changed.
pub fn update<T: Table, C: ColumnKind>(column: Column<T, C>, key: impl IntoKey, operation: Operation) -> Writes {
    let write = |key| vec![Write { cell: cell::<T>(key, ColumnId::of(column.name())), operation }];
    Writes(row_key(&key.values()).map(write))
}

/// A row goes.
pub fn delete<T: Table>(key: impl IntoKey) -> Writes {
    let write = |key| vec![Write { cell: cell::<T>(key, ColumnId::ROW), operation: Operation::Delete }];
    Writes(row_key(&key.values()).map(write))
}

impl Writes {
    /// Both, in one mutation.
    #[must_use]
    pub fn and(self, other: Writes) -> Writes {
        Writes(self.0.and_then(|own| Ok([own, other.0?].concat())))
    }

    pub(super) fn whole(self) -> Result<Vec<Write>, RightsTestError> {
        self.0
    }
}

fn creation<T: Table>(row: &T) -> Result<Vec<Write>, RightsTestError> {
    let key = row_key(&row.key()?)?;
    let life = Write { cell: cell::<T>(key.clone(), ColumnId::ROW), operation: Operation::Create };
    let mut writes = if T::LIVE { Vec::new() } else { vec![life] };
    for (column, operations) in row.content()? {
        let cell = cell::<T>(key.clone(), ColumnId::of(column));
        writes.extend(operations.into_iter().map(|operation| Write { cell: cell.clone(), operation }));
    }
    Ok(writes)
}

fn cell<T: Table>(row: RowKey, column: ColumnId) -> Cell {
    Cell { table: TableId::of(T::NAME), row, column }
}

fn row_key(values: &[Value]) -> Result<RowKey, RightsTestError> {
    RowKey::new(values).map_err(|error| RightsTestError::Mistake(error.to_string()))
}
