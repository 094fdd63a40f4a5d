//! Reading interests at a timestamp.

use std::ops::Bound;

use iolite_store::{ReadLimit, ReadReply, RowAt, TooOld};
use iolite_values::{ColumnId, Interest, Row, RowKey, TableId, Timestamp};

use super::{VersionedRow, Versions};

impl Versions {
    /// The rows of an interest that hold anything, as of `at`, through the one that passes the limit.
    ///
    /// # Errors
    /// [`TooOld`] below the low watermark.
    pub fn read_at(&self, interest: &Interest, at: Timestamp, limit: ReadLimit) -> Result<ReadReply, TooOld> {
        if at < self.low_watermark {
            return Err(TooOld { low_watermark: self.low_watermark });
        }
        let rows = match interest {
            Interest::Cell(cell) => {
                let row = self.row(cell.table, &cell.row).map(|row| cell_of(&row.at(at), cell.column));
                row.into_iter().filter_map(|row| row_at(cell.table, &cell.row, row)).collect()
            }
            Interest::Range { table, range } => {
                let rows = self.rows_from(*table, &range.lower).take_while(|(key, _)| range.contains(key));
                let rows = rows.filter_map(|(key, row)| row_at(*table, key, row.at(at).into_owned()));
                through_limit(rows, limit).collect()
            }
        };
        Ok(ReadReply { at, rows })
    }

    /// A table's rows from a bound on, in key order. The bound is bytes, and not always those of a key.
    fn rows_from<'a>(
        &'a self,
        table: TableId,
        lower: &'a [u8],
    ) -> impl Iterator<Item = (&'a RowKey, &'a VersionedRow)> {
        self.tables
            .get(&table)
            .into_iter()
            .flat_map(move |rows| rows.range::<[u8], _>((Bound::Included(lower), Bound::Unbounded)))
    }
}

/// Through the one that passes the limit.
pub fn through_limit(rows: impl Iterator<Item = RowAt>, limit: ReadLimit) -> impl Iterator<Item = RowAt> {
    rows.scan((0, 0), move |(rows, bytes), row| {
        let passed = *rows > limit.rows || *bytes > limit.bytes;
        (*rows, *bytes) = (*rows + 1, *bytes + row.row.size_bytes());
        (!passed).then_some(row)
    })
}

/// The row with that cell only.
fn cell_of(row: &Row, column: ColumnId) -> Row {
    let cell = row.cell(column).map(|state| (column, state.clone()));
    Row::from_parts(row.exists(), cell.into_iter().collect())
}

fn row_at(table: TableId, key: &RowKey, row: Row) -> Option<RowAt> {
    (!row.is_empty()).then(|| RowAt { table, key: key.clone(), row })
}
