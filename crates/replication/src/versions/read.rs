//! Reading interests at a timestamp.
//!
//! Invariant: so many rows are looked at as was asked for and no more, answers or not: who reads much lets others in between. Of a query, what was written
//! since the timestamp is looked at beside them, and all of the table when its index is asked for the first time.

use std::borrow::Borrow;
use std::ops::Bound;

use iolite_store::{ReadLimit, ReadReply, RowAt, TooOld};
use iolite_values::{Direction, Interest, KeyRange, Row, RowKey, TableId, Timestamp};

use super::{VersionedRow, Versions};
use crate::node::Piece;

impl Versions {
    /// The rows of an interest that hold anything, as of `at`, through the one that passes the limit, or as far as `looks` rows of the table reach:
    /// at least one, so that who asks on comes to the end.
    ///
    /// # Errors
    /// [`TooOld`] below the low watermark.
    pub fn read_at(
        &mut self,
        interest: &Interest,
        at: Timestamp,
        limit: ReadLimit,
        looks: usize,
    ) -> Result<Piece, TooOld> {
        self.read_and_count(interest, at, limit, looks).map(|(piece, _)| piece)
    }

    /// And how many rows were looked at.
    pub(crate) fn read_and_count(
        &mut self,
        interest: &Interest,
        at: Timestamp,
        limit: ReadLimit,
        looks: usize,
    ) -> Result<(Piece, usize), TooOld> {
        if at < self.low_watermark {
            return Err(TooOld { low_watermark: self.low_watermark });
        }
        Ok(match interest {
            Interest::Cell(cell) => {
                let row = self.row(cell.table, &cell.row).map(|row| row.at(at).with_only(cell.column));
                let rows = row.into_iter().filter_map(|row| row_at(cell.table, &cell.row, row)).collect();
                (ReadReply { at, rows, is_cut: false }.into(), 1)
            }
            Interest::Range { table, range } => {
                let rows = self.rows_in(*table, range);
                let rows = rows.map(|(key, row)| (key.as_bytes(), row_at(*table, key, row.at(at).into_owned())));
                match limit.direction {
                    Direction::Ascending => look_through(at, rows, limit, looks),
                    Direction::Descending => look_through(at, rows.rev(), limit, looks),
                }
            }
            Interest::Query(query) => self.answers(query, at, limit, looks),
        })
    }

    /// A table's rows between two bounds, in key order. Bounds are bytes, and not always those of a key.
    pub(super) fn rows_in<'a>(
        &'a self,
        table: TableId,
        range: &'a KeyRange,
    ) -> impl DoubleEndedIterator<Item = (&'a RowKey, &'a VersionedRow)> {
        let rows = self.tables.get(&table).filter(|_| !range.is_empty());
        rows.into_iter().flat_map(move |rows| rows.range::<[u8], _>(bounds(range)))
    }
}

/// The answers among rows of a table, each with its place in the order that they are looked at in, through the one that passes the limit; and
/// how many rows were looked at.
pub(super) fn look_through<P: Borrow<[u8]>>(
    at: Timestamp,
    rows: impl IntoIterator<Item = (P, Option<RowAt>)>,
    limit: ReadLimit,
    looks: usize,
) -> (Piece, usize) {
    let (mut rows, looks, mut looked, mut last) = (rows.into_iter(), looks.max(1), 0, None);
    let reply = ReadReply::taking(at, limit, || {
        while looked < looks {
            let (place, answer) = rows.next()?;
            (looked, last) = (looked + 1, Some(place));
            if answer.is_some() {
                return answer;
            }
        }
        None
    });
    let reaches = last.filter(|_| looked == looks && !reply.is_cut);
    (Piece { looked_through: reaches.map(|place| place.borrow().into()), reply }, looked)
}

/// As a map of bytes takes them.
pub(super) fn bounds(range: &KeyRange) -> (Bound<&[u8]>, Bound<&[u8]>) {
    let upper = range.upper.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
    (Bound::Included(&*range.lower), upper)
}

pub(super) fn row_at(table: TableId, key: &RowKey, row: Row) -> Option<RowAt> {
    (!row.is_empty()).then(|| RowAt { table, key: key.clone(), row })
}
