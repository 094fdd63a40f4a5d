//! Confirmed state, as far as this client holds it: rows at exactly one timestamp, and the interests that keep them current.
//!
//! Invariants:
//! - everything that a live interest includes is held, as of `at`; an `Advance` moves all of it at once, or nothing;
//! - nothing is held that no live interest includes;
//! - a row is known whole if a live range or the answer of a live query has it, and every row that is known whole is an answer of those live queries which
//!   select it. A gateway tells of every row that becomes one.
//!
//! Source: Diamond's client cache (Zhang 2017, section 3.4.2). Deviation: docs/decisions/0002-one-timestamp-cache.md.

mod held;
mod interests;
mod live_queries;
mod live_ranges;
mod narrowing;
mod past;
mod portions;
mod queries;
mod room;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use iolite_values::{Cell, ColumnId, Interest, KeyRange, Row, RowKey, TableId, Timestamp, Write};
use iolite_wire::message::{RowSnapshot, Snapshot, SubscriptionId};

use held::HeldRows;
pub use interests::{Demand, Interests, TooManyInterests};
pub(crate) use interests::{Need, with_spare};
pub(crate) use narrowing::Needs;
pub(crate) use past::{Moment, Past};
pub(crate) use portions::{SUBSCRIBE_PART, fitting_one, portions};
pub(crate) use queries::Answer;
pub(crate) use room::Room;

/// A row of a table.
pub type RowId = (TableId, RowKey);

#[derive(Debug, Default)]
pub struct Cache {
    at: Timestamp,
    rows: HeldRows,
    pub(crate) interests: Interests,
    /// Rows as the delivered view shows them.
    pub(crate) past: Past,
}

impl Cache {
    /// What was held when the client last ran. The interests count as live, as of `at`, until a gateway says otherwise. Returns also the rows of which less
    /// is held now.
    pub fn restored(at: Timestamp, rows: BTreeMap<RowId, Row>, interests: Vec<Interest>) -> (Cache, BTreeSet<RowId>) {
        let mut cache =
            Cache { at, rows: HeldRows::new(rows), interests: Interests::restored(interests), ..Cache::default() };
        let lost = cache.restore_answers();
        (cache, lost)
    }

    /// Nothing of what was held when the client last ran, with these interests.
    pub fn emptied(at: Timestamp, interests: Vec<Interest>) -> Cache {
        Cache { at, rows: HeldRows::default(), interests: Interests::stored_in_vain(interests), ..Cache::default() }
    }

    /// The timestamp of everything that is held.
    pub fn at(&self) -> Timestamp {
        self.at
    }

    pub(crate) fn row_ids(&self) -> impl Iterator<Item = &RowId> {
        self.rows.rows().keys()
    }

    pub fn row(&self, table: TableId, key: &RowKey) -> Option<&Row> {
        // A borrowed pair cannot be looked up in a map of owned pairs, so the range does it.
        self.rows_from(table, key.as_bytes()).next().filter(|(found, _)| *found == key).map(|(_, row)| row)
    }

    /// The rows of a table that hold anything, in key order, within a range.
    pub fn range<'a>(
        &'a self,
        table: TableId,
        range: &KeyRange,
    ) -> impl DoubleEndedIterator<Item = (&'a RowKey, &'a Row)> + use<'a> {
        range_of(self.rows.rows(), table, range)
    }

    fn rows_from<'a>(&'a self, table: TableId, lower: &[u8]) -> impl Iterator<Item = (&'a RowKey, &'a Row)> {
        let lower = RowKey::bound(lower);
        self.rows
            .rows()
            .range((table, lower)..)
            .take_while(move |((own, _), _)| *own == table)
            .map(|((_, key), row)| (key, row))
    }

    /// Takes the changes of an `Advance`; writes to what is not held are ignored.
    pub(crate) fn apply(&mut self, writes: &[Write]) -> Vec<RowId> {
        let mut touched = Vec::new();
        for write in writes {
            if !self.interests.live_includes(&write.cell) {
                continue;
            }
            let id = (write.cell.table, write.cell.row.clone());
            self.note_past(&id);
            // A mismatch cannot come from a gateway that checks schemas; the cell then stays as it was.
            self.rows.apply(&id, write);
            touched.push(id);
        }
        self.judge(touched.iter());
        touched
    }

    /// Replaces everything that these interests include, as far as the snapshots reach. First all of it goes, and then comes what it is now: a row that is
    /// held for one of them as it was must not be looked at when another one is replaced.
    pub(crate) fn replace(&mut self, snapshots: Vec<Snapshot>) -> Vec<RowId> {
        self.put_snapshots(snapshots, false)
    }

    /// The same where they are told because the user may see something else than before. A row that goes, goes from the past as well, and where no row
    /// comes the past can still answer.
    pub(crate) fn replace_by_rights(&mut self, snapshots: Vec<Snapshot>) -> Vec<RowId> {
        let touched = self.put_snapshots(snapshots, true);
        for id in touched.iter().filter(|id| self.rows.get(id).is_none()) {
            self.past.forget(id);
        }
        touched
    }

    fn put_snapshots(&mut self, snapshots: Vec<Snapshot>, by_rights: bool) -> Vec<RowId> {
        let more: BTreeSet<TableId> = snapshots.iter().flat_map(|own| self.more_by(own, by_rights)).collect();
        more.into_iter().for_each(|table| self.past.note_loaded(table));
        let (mut touched, mut replaced) = (Vec::new(), Vec::new());
        for Snapshot { subscription, rows, reaches } in snapshots {
            let Some(interest) = self.interests.mark_live(subscription, reaches.as_deref()) else { continue };
            touched.extend(self.forget_content(subscription, &interest));
            replaced.push((interest, rows));
        }
        touched.extend(self.keep_left());
        for (interest, rows) in replaced {
            touched.extend(self.put_content(&interest, rows));
        }
        self.judge(touched.iter());
        touched
    }

    /// The table of which more is held by a snapshot than before.
    fn more_by(&self, snapshot: &Snapshot, by_rights: bool) -> Option<TableId> {
        let table = self.interests.interest(snapshot.subscription)?.table();
        let is_known = |own: &RowSnapshot| self.rows.get(&(own.table, own.key.clone())).is_some();
        let is_less = by_rights && self.interests.is_live(snapshot.subscription) && snapshot.rows.iter().all(is_known);
        (!is_less).then_some(table)
    }

    /// Replaces what is made here: the rows of these interests are these now.
    pub(crate) fn replace_local(&mut self, interests: &[Interest], rows: Vec<RowSnapshot>) -> Vec<RowId> {
        let mut touched = Vec::new();
        for interest in interests {
            let Interest::Range { table, range } = interest else { continue };
            let keys: Vec<RowId> = self.range(*table, range).map(|(key, _)| (*table, key.clone())).collect();
            for id in &keys {
                self.note_past(id);
                self.rows.remove(id);
            }
            touched.extend(keys);
        }
        for RowSnapshot { table, key, row } in rows {
            let includes = |interest: &Interest| interest.includes(&Cell::row(table, key.clone()));
            if !interests.iter().any(includes) {
                continue;
            }
            let id = (table, key);
            self.note_past(&id);
            self.rows.put(id.clone(), row);
            touched.push(id);
        }
        self.judge(touched.iter());
        touched
    }

    /// What a snapshot brings. A row that the interest does not include is none of its business.
    fn put_content(&mut self, interest: &Interest, rows: Vec<RowSnapshot>) -> Vec<RowId> {
        if let Interest::Query(query) = interest {
            let answers = rows.into_iter().filter(|row| row.table == query.table && query.selects(&row.key, &row.row));
            return self.enter(answers.collect());
        }
        let mut touched = Vec::new();
        for snapshot in rows {
            let id = (snapshot.table, snapshot.key);
            match interest {
                Interest::Range { table, range } if *table == id.0 && range.contains(&id.1) => {
                    self.note_past(&id);
                    self.rows.put(id.clone(), snapshot.row);
                }
                Interest::Cell(cell) if (cell.table, &cell.row) == (id.0, &id.1) => self.put_cell(cell, &snapshot.row),
                Interest::Range { .. } | Interest::Cell(_) | Interest::Query(_) => continue,
            }
            touched.push(id);
        }
        touched
    }

    /// A row is this now, as far as it is held here. It is told whole if any query is to have it.
    pub(crate) fn put(&mut self, id: RowId, row: &Row) {
        if self.interests.holds_row(&id) || self.interests.live_queries.would_have(&id, row) {
            self.put_whole(id, row.clone());
            return;
        }
        let held = |column| self.interests.live_holds(&Cell { table: id.0, row: id.1.clone(), column });
        let cells = row.cells().filter(|(column, _)| held(*column)).map(|(column, state)| (column, state.clone()));
        let row = if held(ColumnId::ROW) { row.with_cells(cells) } else { Row::from_parts(false, cells) };
        self.note_past(&id);
        self.rows.put(id, row);
    }

    /// What is held of an interest that is held whole: what a snapshot of it brings.
    pub(crate) fn snapshot(&self, interest: &Interest) -> Vec<RowSnapshot> {
        match interest {
            Interest::Range { table, range } => self
                .range(*table, range)
                .map(|(key, row)| RowSnapshot { table: *table, key: key.clone(), row: row.clone() })
                .collect(),
            Interest::Cell(cell) => {
                let Some(row) = self.row(cell.table, &cell.row) else { return Vec::new() };
                let row = row.with_only(cell.column);
                vec![RowSnapshot { table: cell.table, key: cell.row.clone(), row }]
            }
            Interest::Query(query) => {
                let answers = self.answers(query);
                answers
                    .map(|(_, key, row)| RowSnapshot { table: query.table, key: key.clone(), row: row.clone() })
                    .collect()
            }
        }
    }

    /// Everything held is now as of `to`.
    pub(crate) fn advance(&mut self, to: Timestamp) {
        self.at = self.at.max(to);
    }

    /// Drops what only these interests held.
    pub(crate) fn release(&mut self, gone: &[Interest]) -> Vec<RowId> {
        gone.iter().flat_map(|interest| self.forget_unheld(interest)).collect()
    }

    /// An interest is to be asked for again, and nothing of it is held until then.
    pub(crate) fn want_again(&mut self, subscription: SubscriptionId) -> Vec<RowId> {
        let interest = self.interests.want_again(subscription);
        interest.map(|interest| self.forget_unheld(&interest)).unwrap_or_default()
    }

    /// An interest cannot be had. Returns it, who needed it, and the rows of which less is held now.
    pub(crate) fn take_out(
        &mut self,
        subscription: SubscriptionId,
    ) -> Option<(Interest, BTreeSet<Demand>, Vec<RowId>)> {
        let (interest, demands) = self.interests.take_out(subscription)?;
        let rows = self.forget_unheld(&interest);
        Some((interest, demands, rows))
    }

    /// Starts over from another history: nothing that is held means anything there.
    pub(crate) fn clear(&mut self) -> Vec<RowId> {
        self.at = Timestamp::ZERO;
        self.interests.all_wanted_again();
        let moved = self.past.end_all();
        self.rows.clear().chain(moved).collect()
    }

    fn put_cell(&mut self, cell: &Cell, source: &Row) {
        let id = (cell.table, cell.row.clone());
        self.note_past(&id);
        let before = self.rows.remove(&id).unwrap_or_default().into_cells();
        let own = source.stored(cell.column).map(|state| (cell.column, state.clone()));
        self.rows.put(id, source.with_cells(before.chain(own)));
    }

    /// Removes an interest's content before it is replaced. Of a cell: that cell, and the life of its row, which comes with every cell.
    fn forget_content(&mut self, subscription: SubscriptionId, interest: &Interest) -> Vec<RowId> {
        match interest {
            Interest::Range { table, range } => {
                let keys: Vec<RowId> = self.range(*table, range).map(|(key, _)| (*table, key.clone())).collect();
                for id in &keys {
                    self.note_past(id);
                    self.rows.remove(id);
                }
                keys
            }
            Interest::Cell(cell) => {
                let id = (cell.table, cell.row.clone());
                self.keep_cells(&id, false, |column| column != cell.column);
                vec![id]
            }
            Interest::Query(_) => {
                self.interests.live_queries.clear_members(subscription);
                Vec::new()
            }
        }
    }

    fn forget_unheld(&mut self, interest: &Interest) -> Vec<RowId> {
        let ids: Vec<RowId> = match interest {
            Interest::Range { table, range } => {
                self.range(*table, range).map(|(key, _)| (*table, key.clone())).collect()
            }
            Interest::Cell(cell) => vec![(cell.table, cell.row.clone())],
            Interest::Query(_) => self.interests.live_queries.take_left().into_iter().collect(),
        };
        for id in &ids {
            self.keep_held(id);
        }
        ids
    }

    /// Keeps of a row what live interests include.
    fn keep_held(&mut self, id: &RowId) {
        if self.interests.holds_row(id) {
            return;
        }
        let Some(row) = self.rows.get(id) else { return };
        let columns: Vec<ColumnId> = row.cells().map(|(column, _)| column).chain([ColumnId::ROW]).collect();
        let held =
            |column: &ColumnId| self.interests.live_holds(&Cell { table: id.0, row: id.1.clone(), column: *column });
        let kept: Vec<ColumnId> = columns.into_iter().filter(held).collect();
        let life = kept.contains(&ColumnId::ROW) || !kept.is_empty();
        self.keep_cells(id, true, |column| kept.contains(&column));
        if !life {
            self.note_past(id);
            self.rows.remove(id);
        }
    }

    fn keep_cells(&mut self, id: &RowId, keeps_life: bool, keep: impl Fn(ColumnId) -> bool) {
        self.note_past(id);
        let Some(row) = self.rows.remove(id) else { return };
        let life = if keeps_life { row.with_cells([]) } else { Row::default() };
        let kept = row.into_cells().filter(|(column, _)| keep(*column));
        // A life comes with its own row only.
        self.rows.put(id.clone(), life.with_cells(kept));
    }

    /// A row is about to change.
    fn note_past(&mut self, id: &RowId) {
        self.past.note(id, self.rows.get(id), || self.interests.holds_row(id));
    }

    pub(crate) fn validate(&self) {
        self.past.validate();
        self.interests.validate();
        self.rows.validate();
        for ((table, key), row) in self.rows.rows() {
            let mut columns = row.cells().map(|(column, _)| column).chain([ColumnId::ROW]);
            let held =
                columns.any(|column| self.interests.live_holds(&Cell { table: *table, row: key.clone(), column }));
            assert!(held, "row {key:?} is held without an interest");
        }
        let rows = self.rows.rows().iter().map(|(id, row)| (id, row, self.interests.holds_row(id)));
        self.interests.live_queries.validate(rows);
    }
}

/// The part of a map of rows that lies in a range of a table.
pub(crate) fn range_of<'a>(
    rows: &'a BTreeMap<RowId, Row>,
    table: TableId,
    range: &KeyRange,
) -> impl DoubleEndedIterator<Item = (&'a RowKey, &'a Row)> + use<'a> {
    let lower = (table, RowKey::bound(&range.lower));
    let upper = match &range.upper {
        Some(upper) => std::ops::Bound::Excluded((table, RowKey::bound(upper))),
        None => match table.0.checked_add(1) {
            Some(next) => std::ops::Bound::Excluded((TableId(next), RowKey::bound(&[]))),
            None => std::ops::Bound::Unbounded,
        },
    };
    let bounds = if range.is_empty() { None } else { Some((std::ops::Bound::Included(lower), upper)) };
    bounds.into_iter().flat_map(|bounds| rows.range(bounds)).map(|((_, key), row)| (key, row))
}
