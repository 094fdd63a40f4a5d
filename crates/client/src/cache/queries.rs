//! Answers of queries, as a cache holds them.
//!
//! Invariant: what is an answer is judged on rows that are known whole, when all that one `Advance` writes to them is there.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use iolite_values::{IndexKey, Interest, Query, Row, RowKey, map_of, set_of};
use iolite_wire::message::{GoneRow, RowSnapshot, SubscriptionId};

use super::{Cache, RowId};

/// A row that is an answer, and where it stands.
pub(crate) type Answer<'a> = (IndexKey, &'a RowKey, &'a Row);

impl Cache {
    /// The answers of a query that is held whole, in its order: from the query that holds it, or else from the rows of the range that does.
    pub(crate) fn answers<'a>(&'a self, query: &Query) -> Box<dyn DoubleEndedIterator<Item = Answer<'a>> + 'a> {
        let Some((held, places)) = self.interests.live_queries.members(query) else {
            let asked = query.clone();
            let rows = self.range(query.table, &query.row_keys());
            let rows = rows.filter(move |(key, row)| asked.selects(key, row));
            if query.index.is_empty() {
                return Box::new(rows.map(|(key, row)| (IndexKey::new([], key), key, row)));
            }
            let sorted: BTreeMap<IndexKey, (&RowKey, &Row)> =
                map_of(rows.map(|(key, row)| (query.index_key(key, row), (key, row))));
            return Box::new(sorted.into_iter().map(|(place, (key, row))| (place, key, row)));
        };
        let alike = held.conditions == query.conditions && held.any_of == query.any_of && held.keys == query.keys;
        let asks_more = (!alike).then(|| query.clone());
        let rows = places.filter_map(|place| {
            let ((_, key), row) =
                self.rows.rows().get_key_value(&(held.table, RowKey::bound(place.row_key_bytes())))?;
            Some((place.clone(), key, row))
        });
        Box::new(rows.filter(move |(_, key, row)| asks_more.as_ref().is_none_or(|query| query.selects(key, row))))
    }

    /// These rows are whole, and answers of queries from now on.
    pub(crate) fn enter(&mut self, rows: Vec<RowSnapshot>) -> Vec<RowId> {
        let enter = |snapshot: RowSnapshot| {
            let id = (snapshot.table, snapshot.key);
            self.put_whole(id.clone(), snapshot.row);
            id
        };
        rows.into_iter().map(enter).collect()
    }

    /// Takes rows out of everything that is held, and out of all views: somebody else may have hidden them.
    pub(crate) fn take_away(&mut self, rows: Vec<GoneRow>) -> Vec<RowId> {
        let take = |GoneRow { table, key }| {
            let id = (table, key);
            self.interests.live_queries.lose(&id);
            self.rows.remove(&id);
            self.past.forget(&id);
            id
        };
        rows.into_iter().map(take).collect()
    }

    /// A row is this now, and that is all of it. It stays only if somebody has it whole; otherwise as far as it is held.
    pub(super) fn put_whole(&mut self, id: RowId, row: Row) {
        self.note_past(&id);
        self.interests.live_queries.judge(&id, &row);
        self.rows.put(id.clone(), row);
        self.keep_held(&id);
    }

    /// Of the rows that queries have no more, what is held by others.
    pub(super) fn keep_left(&mut self) -> Vec<RowId> {
        let left: Vec<RowId> = self.interests.live_queries.take_left().into_iter().collect();
        for id in &left {
            self.keep_held(id);
        }
        left
    }

    /// Rows changed: those that are known whole come, go and move in the answers, and what nobody holds any more is not held.
    pub(super) fn judge<'a>(&mut self, ids: impl Iterator<Item = &'a RowId>) {
        let nothing = Row::default();
        for id in ids.collect::<BTreeSet<_>>() {
            if self.interests.holds_row(id) {
                self.interests.live_queries.judge(id, self.rows.get(id).unwrap_or(&nothing));
                self.keep_held(id);
            }
        }
    }

    /// Finds the answers among rows that were stored together with the queries. A row of which single cells are held may be stored in part, and nothing
    /// tells whether it is: a query that it seems to be an answer of, and that no range brings, is not held. A query of all rows of its keys is no matter of
    /// doubt: the life of a row is stored with any cell of it, so a row that is there is an answer, and was brought whole.
    pub(super) fn restore_answers(&mut self) -> BTreeSet<RowId> {
        let queries = self.interests.live().filter_map(|(id, interest)| match interest {
            Interest::Query(query) => Some((id, query.clone())),
            Interest::Cell(_) | Interest::Range { .. } => None,
        });
        let mut queries: Vec<(SubscriptionId, Arc<Query>)> = queries.collect();
        if queries.is_empty() {
            return BTreeSet::new();
        }
        let of_all_rows: Vec<Arc<Query>> =
            queries.iter().map(|(_, query)| query.clone()).filter(|query| query.has_all_rows()).collect();
        let is_brought_whole = |id: &RowId| {
            let is_of = |query: &Arc<Query>| query.table == id.0 && query.row_keys().contains(&id.1);
            self.rows
                .get(id)
                .is_some_and(|row| of_all_rows.iter().any(|query| is_of(query) && query.selects(&id.1, row)))
        };
        let partial: BTreeSet<RowId> = self
            .interests
            .live()
            .filter_map(|(_, interest)| match interest {
                Interest::Cell(cell) => Some((cell.table, cell.row.clone())),
                Interest::Range { .. } | Interest::Query(_) => None,
            })
            .filter(|id| !self.interests.holds_row(id) && !is_brought_whole(id))
            .collect();
        let is_doubtful = |query: &Query| {
            let rows = partial.iter().filter(|id| id.0 == query.table);
            rows.filter_map(|id| Some((id, self.rows.get(id)?))).any(|(id, row)| query.selects(&id.1, row))
        };
        let (doubtful, sure): (Vec<_>, Vec<_>) = queries.drain(..).partition(|(_, query)| is_doubtful(query));
        let all_sure = doubtful.is_empty();
        for (id, _) in doubtful {
            self.interests.want_again(id);
        }
        let tables: BTreeSet<_> = set_of(sure.iter().map(|(_, query)| query.table));
        let rows: Vec<RowId> = self.rows.rows().keys().cloned().collect();
        for id in rows.iter().filter(|id| tables.contains(&id.0) && !partial.contains(id)) {
            self.interests.live_queries.judge(id, &self.rows.rows()[id]);
        }
        if all_sure {
            return BTreeSet::new();
        }
        let lost = |id: &&RowId| {
            let before = self.rows.get(id).cloned();
            self.keep_held(id);
            before.as_ref() != self.rows.get(id)
        };
        rows.iter().filter(lost).cloned().collect()
    }
}
