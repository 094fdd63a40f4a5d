//! Ranges of primary keys inside a transaction.
//!
//! Invariants: what is noted as read ends with the last row that is returned; and what is asked for is no more than the rows that are missing, with some
//! to spare. So the first rows of a range are asked for as those of a query in the order of the primary key, behind the rows that are held.

use iolite_values::{Direction, KeyRange, Query, Read, Row, RowKey, TableId};
use iolite_wire::limits;

use super::{RunError, Transaction};

/// A range that is held in so many pieces is asked for anew as one.
const MANY_PIECES: usize = 16;

impl Transaction<'_> {
    /// The rows of a range, in key order or against it. What is noted as read ends at the last row that is returned.
    ///
    /// # Errors
    /// As [`Transaction::row`].
    pub fn range(
        &mut self,
        table: TableId,
        range: &KeyRange,
        limit: Option<usize>,
        reverse: bool,
    ) -> Result<Vec<(RowKey, Row)>, RunError> {
        self.schema.find(table)?;
        let bound = range.lower.len().max(range.upper.as_ref().map_or(0, |upper| upper.len()));
        if bound > limits::RANGE_BOUND.most {
            return Err(RunError::TooLong { what: "a bound of a range", limit: limits::RANGE_BOUND.most });
        }
        let direction = if reverse { Direction::Descending } else { Direction::Ascending };
        let read = Read::Range { table, range: range.clone() };
        match limit {
            Some(limit) if !self.knows(&read) => self.first_of_range(table, range, limit, direction),
            Some(_) | None => {
                self.note_held(&read)?;
                let most = limit.unwrap_or(usize::MAX);
                let rows = self.rows_of(table, range, direction, most);
                self.note(Read::Range { table, range: seen(range, &rows, most, direction) })?;
                Ok(rows)
            }
        }
    }

    /// The first rows of a range that is not held whole, from the pieces of it that are.
    fn first_of_range(
        &mut self,
        table: TableId,
        range: &KeyRange,
        limit: usize,
        direction: Direction,
    ) -> Result<Vec<(RowKey, Row)>, RunError> {
        let read = Read::Range { table, range: range.clone() };
        self.schema.check_read(&read)?;
        self.check_view(&read.interest())?;
        let pieces = self.reader.pieces_of(table, range, direction, MANY_PIECES);
        let (mut found, mut rest, mut noted) = (Vec::new(), range.clone(), Ok(()));
        for piece in &pieces {
            let most = limit - found.len();
            if most == 0 {
                break;
            }
            let rows = self.rows_of(table, piece, direction, most);
            let read = self.note(Read::Range { table, range: seen(piece, &rows, most, direction) });
            noted = noted.and(read);
            found.extend(rows);
            rest = rest.behind_part(piece, direction);
        }
        if found.len() == limit || rest.is_empty() {
            return noted.map(|()| found);
        }
        let (asked, rows) = if pieces.len() < MANY_PIECES { (&rest, limit - found.len()) } else { (range, limit) };
        let (_, definition) = self.schema.find(table)?;
        let missed = self.missed(&Query::of_keys(table, definition.live, asked), direction, rows);
        self.run.note_missed(missed)?;
        Err(RunError::Stopped)
    }

    /// The first rows of a range that is known.
    fn rows_of(&self, table: TableId, range: &KeyRange, direction: Direction, most: usize) -> Vec<(RowKey, Row)> {
        let live = self.schema.table_by_id(table).is_some_and(|definition| definition.live);
        let reverse = direction == Direction::Descending;
        let rows = self.layered();
        let rows = rows.range(table, range, reverse).filter(|(_, row)| live || row.exists());
        rows.take(most).map(|(key, row)| (key.clone(), row.clone())).collect()
    }
}

/// As far as a range was looked through for its first rows.
fn seen(range: &KeyRange, rows: &[(RowKey, Row)], most: usize, direction: Direction) -> KeyRange {
    let last = rows.last().filter(|_| rows.len() == most);
    last.map_or_else(|| range.clone(), |(last, _)| range.ending_with(last.as_bytes(), direction))
}
