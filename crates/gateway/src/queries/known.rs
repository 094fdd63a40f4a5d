//! What is known of a row from some writes to it alone.

use std::collections::BTreeSet;

use iolite_values::{ColumnId, Operation, Row, Write};

/// Of a row that was neither created nor deleted by them.
#[derive(Debug, Default)]
pub struct Known {
    row: Row,
    columns: BTreeSet<ColumnId>,
    written: BTreeSet<ColumnId>,
}

impl Known {
    pub fn of(writes: &[Write]) -> Known {
        let mut own = Known::default();
        for write in writes {
            let column = write.cell.column;
            own.written.insert(column);
            let is_set = matches!(write.operation, Operation::Put(_) | Operation::Assign(_) | Operation::PutTotal(_));
            if is_set || own.is_known(column) {
                own.columns.insert(column);
                // An operation of another type changes nothing, here as in the store.
                let _ = own.row.apply(column, &write.operation);
            }
        }
        own
    }

    /// As far as it is known.
    pub fn row(&self) -> &Row {
        &self.row
    }

    pub fn is_known(&self, column: ColumnId) -> bool {
        self.columns.contains(&column)
    }

    pub fn is_written(&self, column: ColumnId) -> bool {
        self.written.contains(&column)
    }
}
