//! The queries that are held, and their answers in the order of their indexes.
//!
//! Invariants: the members of a query are its answers, as far as its rows are known whole, each under the key at which it stands in the index; a row that is
//! a member is held whole. So an answer is read at the cost of the answer, and a change costs a look from each query of the table that is held.
//! Which rows may become members is for the cache to say: only it knows which ones it has whole.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::Arc;

use iolite_values::{Direction, IndexKey, Interest, KeyRange, Query, Row, RowKey, TableId};
use iolite_wire::message::SubscriptionId;

use super::RowId;

#[derive(Debug, Default)]
pub(super) struct LiveQueries {
    queries: BTreeMap<SubscriptionId, LiveQuery>,
    by_table: BTreeMap<TableId, BTreeSet<SubscriptionId>>,
    /// The queries that have every row of their primary keys.
    of_all_rows: BTreeMap<TableId, BTreeSet<SubscriptionId>>,
    /// Of each row the queries that it is an answer of.
    of_row: BTreeMap<RowId, BTreeSet<SubscriptionId>>,
    /// Rows that lost their last query with a query that ended, until the cache has looked at them.
    left: BTreeSet<RowId>,
    /// Those that have more than twice as many members as when this was last asked.
    grown: BTreeSet<SubscriptionId>,
}

#[derive(Debug)]
struct LiveQuery {
    query: Arc<Query>,
    order: BTreeSet<IndexKey>,
    places: BTreeMap<RowKey, IndexKey>,
    /// How many members there were when it had last grown, or the fewest since.
    members: usize,
}

impl LiveQuery {
    /// The members in a part of its range.
    fn within(&self, range: &KeyRange) -> impl DoubleEndedIterator<Item = &IndexKey> + use<'_> {
        let lower: Bound<&[u8]> = Bound::Included(&range.lower);
        let upper = range.upper.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
        let found = (!range.is_empty()).then(|| self.order.range::<[u8], _>((lower, upper)));
        found.into_iter().flatten()
    }
}

impl LiveQueries {
    pub(super) fn insert(&mut self, id: SubscriptionId, query: &Arc<Query>) {
        let new = LiveQuery { query: query.clone(), order: BTreeSet::new(), places: BTreeMap::new(), members: 0 };
        self.queries.insert(id, new);
        self.by_table.entry(query.table).or_default().insert(id);
        if query.has_all_rows() {
            self.of_all_rows.entry(query.table).or_default().insert(id);
        }
    }

    pub(super) fn remove(&mut self, id: SubscriptionId) {
        self.clear_members(id);
        self.grown.remove(&id);
        let Some(gone) = self.queries.remove(&id) else { return };
        for by_table in [&mut self.by_table, &mut self.of_all_rows] {
            if let Some(of_table) = by_table.get_mut(&gone.query.table) {
                of_table.remove(&id);
            }
        }
    }

    pub(super) fn clear(&mut self) {
        *self = LiveQueries::default();
    }

    /// The rows that no query has any more since queries ended.
    pub(super) fn take_left(&mut self) -> BTreeSet<RowId> {
        std::mem::take(&mut self.left)
    }

    /// All members leave.
    pub(super) fn clear_members(&mut self, id: SubscriptionId) {
        let Some(own) = self.queries.get_mut(&id) else { return };
        let table = own.query.table;
        own.order.clear();
        for key in std::mem::take(&mut own.places).into_keys() {
            self.forget((table, key), id);
        }
    }

    /// Looks whether a row that is known whole is an answer of each query, and puts it where it belongs.
    pub(super) fn judge(&mut self, id: &RowId, row: &Row) {
        for subscription in self.by_table.get(&id.0).into_iter().flatten() {
            let own = self.queries.get_mut(subscription).expect("tables name queries that are there");
            let place = own.query.selects(&id.1, row).then(|| own.query.index_key(&id.1, row));
            if own.places.get(&id.1) == place.as_ref() {
                continue;
            }
            if let Some(old) = own.places.remove(&id.1) {
                own.order.remove(&old);
            }
            match place {
                Some(place) => {
                    own.order.insert(place.clone());
                    own.places.insert(id.1.clone(), place);
                    self.of_row.entry(id.clone()).or_default().insert(*subscription);
                    if own.order.len() > 2 * own.members {
                        self.grown.insert(*subscription);
                    }
                }
                None => {
                    own.members = own.members.min(own.order.len());
                    let of_row = self.of_row.get_mut(id).expect("it was a member");
                    of_row.remove(subscription);
                    if of_row.is_empty() {
                        self.of_row.remove(id);
                    }
                }
            }
        }
    }

    /// A row is an answer of none any more, whatever it holds.
    pub(super) fn lose(&mut self, id: &RowId) {
        for subscription in self.of_row.remove(id).into_iter().flatten() {
            let Some(own) = self.queries.get_mut(&subscription) else { continue };
            if let Some(place) = own.places.remove(&id.1) {
                own.order.remove(&place);
                own.members = own.members.min(own.order.len());
            }
        }
    }

    /// The queries that have more than twice as many members as when this was last asked.
    pub(super) fn take_grown(&mut self) -> BTreeSet<SubscriptionId> {
        let grown = std::mem::take(&mut self.grown);
        for id in &grown {
            if let Some(own) = self.queries.get_mut(id) {
                own.members = own.order.len();
            }
        }
        grown
    }

    /// How many members a query has.
    pub(super) fn count(&self, id: SubscriptionId) -> usize {
        self.queries.get(&id).map_or(0, |own| own.order.len())
    }

    /// How many of them are in a part of its range.
    pub(super) fn count_in(&self, id: SubscriptionId, range: &KeyRange) -> usize {
        self.queries.get(&id).map_or(0, |own| own.within(range).count())
    }

    /// Where so many members of a query end, from one end on.
    pub(super) fn place(&self, id: SubscriptionId, direction: Direction, members: usize) -> Option<&IndexKey> {
        let order = &self.queries.get(&id)?.order;
        match direction {
            Direction::Ascending => order.iter().nth(members.checked_sub(1)?),
            Direction::Descending => order.iter().nth_back(members.checked_sub(1)?),
        }
    }

    /// The part of a query's range that an interest is, if all of it comes with the query: a row that is a member, or of a query that has all rows a range.
    pub(super) fn range_of(&self, id: SubscriptionId, interest: &Interest) -> Option<KeyRange> {
        let own = self.queries.get(&id)?;
        self.range_of_row(own, interest).or_else(|| match interest {
            Interest::Range { table, range } => {
                let has_all = *table == own.query.table && own.query.has_all_rows();
                (has_all && own.query.row_keys().covers(range)).then(|| range.clone())
            }
            Interest::Cell(_) | Interest::Query(_) => None,
        })
    }

    fn range_of_row(&self, own: &LiveQuery, interest: &Interest) -> Option<KeyRange> {
        let (table, key) = match interest {
            Interest::Cell(cell) => (cell.table, cell.row.clone()),
            Interest::Range { table, range } => (*table, one_row(range)?),
            Interest::Query(_) => return None,
        };
        let place = (table == own.query.table).then(|| own.places.get(&key)).flatten()?.as_bytes();
        let from = KeyRange { lower: place.into(), upper: None };
        Some(from.ending_with(place, Direction::Ascending))
    }

    pub(super) fn has_row(&self, id: &RowId) -> bool {
        self.of_row.contains_key(id)
    }

    /// The queries that have this row, if any has.
    pub(super) fn with_row(&self, id: &RowId) -> Option<&BTreeSet<SubscriptionId>> {
        self.of_row.get(id)
    }

    /// Whether any query would have this row.
    pub(super) fn would_have(&self, id: &RowId, row: &Row) -> bool {
        let of_table = self.by_table.get(&id.0).into_iter().flatten();
        of_table.map(|own| &self.queries[own]).any(|own| own.query.selects(&id.1, row))
    }

    /// The queries that hold all of an interest: one row, a cell, a range, or all answers of another query.
    pub(super) fn covering<'a>(&'a self, interest: &Interest) -> Box<dyn Iterator<Item = &'a Arc<Query>> + 'a> {
        let of_row = |id: RowId| {
            let all = self.of_row.get(&id).into_iter().flatten();
            Box::new(all.map(|own| &self.queries[own].query))
        };
        match interest {
            Interest::Cell(cell) => of_row((cell.table, cell.row.clone())),
            Interest::Range { table, range } => {
                let (table, own) = (*table, range.clone());
                let with_all = self.of_all_rows(table).filter(move |query| query.row_keys().covers(&own));
                let with_row = one_row(range).map(|key| of_row((table, key)));
                Box::new(with_row.into_iter().flatten().chain(with_all))
            }
            Interest::Query(query) => {
                let query = query.clone();
                Box::new(self.of_table(query.table).map(|own| &own.query).filter(move |own| own.covers(&query)))
            }
        }
    }

    /// As far as the answer to a query is held from one end on: the query with that range.
    pub(super) fn part_of(&self, query: &Query, direction: Direction) -> Option<Query> {
        let parts = self.of_table(query.table).filter_map(|own| own.query.part_of(query, direction));
        parts.reduce(|one, other| if one.range.covers(&other.range) { one } else { other })
    }

    /// The members that are answers of a query which is held, or part of one, in its order; the rest is for the caller to judge.
    pub(super) fn members<'a>(
        &'a self,
        query: &Query,
    ) -> Option<(&'a Query, impl DoubleEndedIterator<Item = &'a IndexKey> + use<'a>)> {
        let narrowest =
            self.of_table(query.table).filter(|own| own.query.covers(query)).min_by_key(|own| own.order.len());
        let own = narrowest?;
        Some((&own.query, own.within(&query.range)))
    }

    /// The queries that have every row of their primary keys.
    pub(super) fn of_all_rows(&self, table: TableId) -> impl Iterator<Item = &Arc<Query>> {
        self.of_all_rows.get(&table).into_iter().flatten().map(|own| &self.queries[own].query)
    }

    fn of_table(&self, table: TableId) -> impl Iterator<Item = &LiveQuery> {
        self.by_table.get(&table).into_iter().flatten().map(|own| &self.queries[own])
    }

    fn forget(&mut self, row: RowId, id: SubscriptionId) {
        let Some(of_row) = self.of_row.get_mut(&row) else { return };
        of_row.remove(&id);
        if of_row.is_empty() {
            self.of_row.remove(&row);
            self.left.insert(row);
        }
    }

    /// `rows` are those that are held, and whether each is known whole.
    pub(super) fn validate<'a>(&self, rows: impl Iterator<Item = (&'a RowId, &'a Row, bool)>) {
        assert!(self.left.is_empty(), "what queries left was looked at");
        let mut members = 0;
        for (id, row, whole) in rows {
            for (subscription, own) in &self.queries {
                let place = (own.query.table == id.0).then(|| own.places.get(&id.1)).flatten();
                let expected = (own.query.table == id.0 && whole && own.query.selects(&id.1, row))
                    .then(|| own.query.index_key(&id.1, row));
                assert_eq!(place, expected.as_ref(), "row {id:?} in {:?}", own.query);
                assert!(place.is_none_or(|place| own.order.contains(place)), "the order has the member");
                let back = self.of_row.get(id).is_some_and(|all| all.contains(subscription));
                assert_eq!(back, place.is_some(), "the row knows its queries");
                members += usize::from(place.is_some());
            }
        }
        assert_eq!(members, self.queries.values().map(|own| own.order.len()).sum::<usize>(), "members are held rows");
        assert_eq!(members, self.of_row.values().map(BTreeSet::len).sum::<usize>());
    }
}

/// The row that a range is of, if it is of one.
fn one_row(range: &KeyRange) -> Option<RowKey> {
    let key = RowKey::bound(&range.lower);
    (KeyRange::one(&key) == *range).then_some(key)
}
