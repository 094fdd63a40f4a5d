//! Which queries a changed row may have come into.
//!
//! Invariant: of a row that is known whole, every query is found that selects it; of one that is not, every query whose answer it may become by the columns
//! that were written. The work is in proportion to those, and to the indexes of the table; of one that is not known whole, to the queries that look at what
//! was written, until one is found that it may come into.

use std::collections::{BTreeMap, BTreeSet};

use iolite_values::{ColumnId, Field, IndexKey, Query, Row, TableId, Write};

use super::{Place, QueryId};
use crate::index::ranges::RangeIndex;

#[derive(Debug, Default)]
pub struct Candidates {
    /// By their ranges in each index.
    by_key: BTreeMap<(TableId, Vec<Field>), RangeIndex<QueryId>>,
    /// By the columns that they look at.
    by_column: BTreeMap<(TableId, ColumnId), BTreeSet<QueryId>>,
    /// Those that a row may come into whatever is written: in a live table, it is there from then on.
    live: BTreeMap<TableId, BTreeSet<QueryId>>,
}

impl Candidates {
    pub fn insert(&mut self, query: &Query, id: QueryId) {
        self.by_key.entry((query.table, query.index.clone())).or_default().insert(&query.range, id);
        for column in query.columns() {
            self.by_column.entry((query.table, column)).or_default().insert(id);
        }
        if query.live {
            self.live.entry(query.table).or_default().insert(id);
        }
    }

    pub fn remove(&mut self, query: &Query, id: QueryId) {
        let group = (query.table, query.index.clone());
        if let Some(own) = self.by_key.get_mut(&group) {
            own.remove(&query.range, id);
            if own.is_empty() {
                self.by_key.remove(&group);
            }
        }
        for column in query.columns() {
            remove_from(&mut self.by_column, &(query.table, column), id);
        }
        remove_from(&mut self.live, &query.table, id);
    }

    pub fn has_some_of(&self, table: TableId) -> bool {
        self.groups(table).next().is_some()
    }

    /// In whose ranges a row lies.
    pub fn of_row(&self, place: &Place, row: &Row) -> BTreeSet<QueryId> {
        let mut found = BTreeSet::new();
        for (fields, ranges) in self.groups(place.0) {
            let key = IndexKey::new(fields.iter().map(|field| field.value(&place.1, row)), &place.1);
            ranges.matches(key.as_bytes(), |id| {
                found.insert(id);
            });
        }
        found
    }

    /// Which may look at what these writes to one row changed; some of them more than once.
    pub fn of_writes(&self, table: TableId, writes: &[Write]) -> impl Iterator<Item = QueryId> {
        let columns: BTreeSet<ColumnId> = writes.iter().map(|write| write.cell.column).collect();
        let looking = columns.into_iter().filter_map(move |column| self.by_column.get(&(table, column)));
        looking.chain(self.live.get(&table)).flatten().copied()
    }

    pub fn is_empty(&self) -> bool {
        self.by_key.is_empty() && self.by_column.is_empty() && self.live.is_empty()
    }

    fn groups(&self, table: TableId) -> impl Iterator<Item = (&Vec<Field>, &RangeIndex<QueryId>)> {
        let from = self.by_key.range((table, Vec::new())..);
        from.take_while(move |((own, _), _)| *own == table).map(|((_, fields), ranges)| (fields, ranges))
    }
}

fn remove_from<K: Ord>(all: &mut BTreeMap<K, BTreeSet<QueryId>>, key: &K, id: QueryId) {
    let Some(own) = all.get_mut(key) else { return };
    own.remove(&id);
    if own.is_empty() {
        all.remove(key);
    }
}
