//! The answers of a query at a timestamp.
//!
//! Of an index, and of the rows, only the stretches are looked at in which answers can stand ([`Query::stretches`]). An index has the latest state of each row.
//! What was written since the timestamp is judged row by row, and of the index only the others are taken: the work is in proportion to what is looked at and to
//! the commits since.
//! Invariant: a row is judged once, by its state at the timestamp.

use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::iter::Peekable;
use std::ops::Bound;

use iolite_store::{ReadLimit, ReadReply, RowAt};
use iolite_values::{Direction, IndexKey, Query, Timestamp};

use super::Versions;
use super::read::{bounds, look_through, row_at};
use crate::node::Piece;

impl Versions {
    /// Through the one that passes the limit, or as far as so many looks reach; and how many rows were looked at, with those of an index that was made for it and
    /// what was written since.
    pub(super) fn answers(&mut self, query: &Query, at: Timestamp, limit: ReadLimit, looks: usize) -> (Piece, usize) {
        if query.range.is_empty() || query.keys.is_empty() {
            return (ReadReply::through_limit(at, [], limit).into(), 0);
        }
        if query.index.is_empty() {
            return self.answers_by_key(query, at, limit, looks);
        }
        // The index has to be there before anything borrows the rows.
        let indexed = self.indexes.ask_for(query.table, &query.index, self.tables.get(&query.table));
        let (piece, looked) = self.answers_by_index(query, at, limit, looks);
        (piece, indexed + looked)
    }

    fn answers_by_key(&self, query: &Query, at: Timestamp, limit: ReadLimit, looks: usize) -> (Piece, usize) {
        let stretches = query.stretches();
        let rows = stretches.iter().flat_map(|keys| self.rows_in(query.table, keys)).map(|(key, row)| {
            let row = Some(row.at(at)).filter(|row| query.selects(key, row));
            (key.as_bytes(), row.and_then(|row| row_at(query.table, key, row.into_owned())))
        });
        match limit.direction {
            Direction::Ascending => look_through(at, rows, limit, looks),
            Direction::Descending => look_through(at, rows.rev(), limit, looks),
        }
    }

    fn answers_by_index(&self, query: &Query, at: Timestamp, limit: ReadLimit, looks: usize) -> (Piece, usize) {
        let (Some(rows), Some(index)) = (self.tables.get(&query.table), self.indexes.keys(query.table, &query.index))
        else {
            return (ReadReply::through_limit(at, [], limit).into(), 0);
        };
        let written = self.written_after(query, at);
        let mut moved: Vec<Looked> = Vec::new();
        for (key, row) in written.iter().filter_map(|key| rows.get_key_value(*key)) {
            let row = row.at(at);
            if query.selects(key, &row) {
                let place = query.index_key(key, &row);
                moved.push((place, Some(RowAt { table: query.table, key: key.clone(), row: row.into_owned() })));
            }
        }
        moved.sort_by(|(a, _), (b, _)| a.cmp(b));
        let stretches = query.stretches();
        let settled = stretches.iter().flat_map(|range| index.range::<[u8], _>(bounds(range)));
        let settled = settled.filter(|place| !written.contains(place.row_key_bytes())).filter_map(|place| {
            let (key, row) = rows.get_key_value(place.row_key_bytes())?;
            let row = row.latest();
            let answer = query.selects_in_range(key, row).then(|| RowAt {
                table: query.table,
                key: key.clone(),
                row: row.clone(),
            });
            Some((place.clone(), answer))
        });
        let (piece, looked) = match limit.direction {
            Direction::Ascending => look_through(at, merged(settled, moved.into_iter(), Ordering::Less), limit, looks),
            Direction::Descending => {
                let rows = merged(settled.rev(), moved.into_iter().rev(), Ordering::Greater);
                look_through(at, rows, limit, looks)
            }
        };
        (piece, looked + written.len())
    }

    /// The rows of the query's table that were written since.
    fn written_after(&self, query: &Query, at: Timestamp) -> BTreeSet<&[u8]> {
        let later = self.recent.range((Bound::Excluded(at), Bound::Unbounded));
        let cells = later.flat_map(|(_, logged)| logged.commit.writes.iter()).map(|write| &write.cell);
        let own = cells.filter(|cell| cell.table == query.table && query.keys.contains(&cell.row));
        own.map(|cell| cell.row.as_bytes()).collect()
    }
}

/// A row that is looked at, at its place, and whether it is an answer.
type Looked = (IndexKey, Option<RowAt>);

/// Two series without a place in common, put together in their order: the one whose place compares so comes first.
fn merged(
    one: impl Iterator<Item = Looked>,
    other: impl Iterator<Item = Looked>,
    first: Ordering,
) -> impl Iterator<Item = Looked> {
    let (mut one, mut other) = (one.peekable(), other.peekable());
    std::iter::from_fn(move || next_of(&mut one, &mut other, first))
}

fn next_of<A, B>(one: &mut Peekable<A>, other: &mut Peekable<B>, first: Ordering) -> Option<Looked>
where
    A: Iterator<Item = Looked>,
    B: Iterator<Item = Looked>,
{
    let is_one = match (one.peek(), other.peek()) {
        (Some((a, _)), Some((b, _))) => a.cmp(b) == first,
        (Some(_), None) => true,
        (None, _) => false,
    };
    if is_one { one.next() } else { other.next() }
}
