//! The rows of `_access` that count what a user has sealed of blobs.
//!
//! Invariant: additions to the count commute, so two seals of a user never conflict by it.
//!
//! | Key | Columns |
//! |---|---|
//! | `"blobs"`, the digest of a subject | `bytes`, a counter |

use iolite_values::{Cell, CellState, ColumnId, Id, Interest, KeyRange, Operation, Row, RowKey, Value, Write};

use crate::AccessRows;

const BLOBS: &str = "blobs";
const BYTES: &str = "bytes";

/// The row that is to be read for a subject, by its digest.
pub fn blob_bytes_interest(subject: Id) -> Interest {
    Interest::Range { table: AccessRows::table(), range: KeyRange::one(&key(subject)) }
}

/// The bytes that a row counts.
pub fn blob_bytes_of(row: &Row) -> u64 {
    match row.cell(ColumnId::of(BYTES)) {
        Some(CellState::Counter(bytes)) => u64::try_from(*bytes).unwrap_or(0),
        Some(_) | None => 0,
    }
}

/// The write that counts so many bytes more.
pub fn more_blob_bytes(subject: Id, bytes: u64) -> Write {
    let cell = Cell { table: AccessRows::table(), row: key(subject), column: ColumnId::of(BYTES) };
    Write { cell, operation: Operation::Add(i64::try_from(bytes).unwrap_or(i64::MAX)) }
}

fn key(subject: Id) -> RowKey {
    RowKey::new(&[Value::string(BLOBS), Value::Id(subject)]).expect("a short key")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_counted_in_a_row_of_their_subject_and_no_gateway_holds_it() {
        let mut row = Row::default();
        for bytes in [5, 7] {
            let write = more_blob_bytes(Id::from_u128(1), bytes);
            assert!(blob_bytes_interest(Id::from_u128(1)).includes(&write.cell));
            assert!(!blob_bytes_interest(Id::from_u128(2)).includes(&write.cell));
            assert!(!AccessRows::interest().includes(&write.cell));
            row.apply(write.cell.column, &write.operation).expect("a counter");
        }
        assert_eq!((blob_bytes_of(&row), blob_bytes_of(&Row::default())), (12, 0));
    }
}
