//! The queries that sessions follow, and which rows are their answers.
//!
//! Of an answer only what its queries look at is kept, once for all sessions that follow one query, and no longer than one does.
//! Invariant: a row is an answer here exactly when it is one in the store as of the gateway's position, unless it is lacked. What is lacked is read before
//! the position moves on.
//! Source: Iolite's own (docs/protocols/gateway.md, "Queries").

mod candidates;
mod turnover;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use iolite_values::{ColumnId, Query, Row, RowKey, TableId, Write};

use crate::following::index::Target;
use candidates::Candidates;
pub use turnover::{Changes, Turnover};

/// Which row.
pub type Place = (TableId, RowKey);

/// Names a query among those that are followed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
struct QueryId(u64);

/// Moves on with every query that is begun, and when rows come to be lacked: then more may have to be read for a segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Revision(u64);

#[derive(Debug, Default)]
pub struct Queries {
    ids: BTreeMap<Arc<Query>, QueryId>,
    last: QueryId,
    revision: Revision,
    followed: BTreeMap<QueryId, Followed>,
    /// Rows that are answers, and what each query that they answer sees of them.
    answers: BTreeMap<Place, BTreeMap<QueryId, Row>>,
    candidates: Candidates,
    /// Rows that may be answers of what these follow, and are not known whole to them.
    lacking: BTreeMap<Place, BTreeSet<(Target, QueryId)>>,
    /// How often a query was looked at for a changed row.
    #[cfg(test)]
    pub looked_at: std::cell::Cell<usize>,
}

#[derive(Debug)]
struct Followed {
    query: Arc<Query>,
    columns: BTreeSet<ColumnId>,
    answers: BTreeSet<RowKey>,
    followers: BTreeSet<Target>,
}

impl Queries {
    /// Begins to follow a query whose answers as of now are these rows, and perhaps some of those that are lacked.
    pub fn follow(
        &mut self,
        query: &Arc<Query>,
        target: Target,
        rows: &BTreeMap<RowKey, Row>,
        lacking: &BTreeSet<RowKey>,
    ) {
        let id = self.ids.get(query).copied().unwrap_or_else(|| self.begin(query));
        self.followed.get_mut(&id).expect("it was begun").followers.insert(target);
        for (key, row) in rows {
            self.add_answer(id, key, row);
        }
        if !lacking.is_empty() {
            self.move_on();
        }
        for key in lacking {
            self.lacking.entry((query.table, key.clone())).or_default().insert((target, id));
        }
    }

    pub fn unfollow(&mut self, query: &Arc<Query>, target: Target) {
        let Some(id) = self.ids.get(query).copied() else { return };
        self.lacking.retain(|_, who| {
            who.remove(&(target, id));
            !who.is_empty()
        });
        let Some(own) = self.followed.get_mut(&id) else { return };
        own.followers.remove(&target);
        if own.followers.is_empty() {
            self.end(id);
        }
    }

    pub fn revision(&self) -> Revision {
        self.revision
    }

    pub fn is_lacking(&self) -> bool {
        !self.lacking.is_empty()
    }

    /// Whether changes of this table may concern anybody.
    pub fn has_some_of(&self, table: TableId) -> bool {
        self.candidates.has_some_of(table)
    }

    pub fn has_follower(&self, query: &Arc<Query>, target: Target) -> bool {
        let own = self.ids.get(query).and_then(|id| self.followed.get(id));
        own.is_some_and(|own| own.followers.contains(&target))
    }

    /// How many subscriptions follow any.
    pub fn followers(&self) -> usize {
        self.followed.values().map(|own| own.followers.len()).sum()
    }

    pub fn validate(&self) {
        assert_eq!(self.ids.len(), self.followed.len(), "queries have names");
        let kept: usize = self.followed.values().map(|own| own.answers.len()).sum();
        assert_eq!(kept, self.answers.values().map(BTreeMap::len).sum::<usize>(), "answers are those of queries");
        assert!(self.followed.values().all(|own| !own.followers.is_empty()), "nothing is kept for nobody");
        assert!(self.followed.is_empty() == self.candidates.is_empty(), "no query is looked for that is not followed");
    }

    /// How many queries a row is an answer of.
    #[cfg(test)]
    pub fn answers_of(&self, place: &Place) -> usize {
        self.answers.get(place).map_or(0, BTreeMap::len)
    }

    fn note_look(&self) {
        #[cfg(test)]
        self.looked_at.set(self.looked_at.get() + 1);
    }

    fn begin(&mut self, query: &Arc<Query>) -> QueryId {
        self.last = QueryId(self.last.0 + 1);
        self.move_on();
        let (columns, answers, followers) = (query.columns(), BTreeSet::new(), BTreeSet::new());
        self.candidates.insert(query, self.last);
        self.ids.insert(query.clone(), self.last);
        self.followed.insert(self.last, Followed { query: query.clone(), columns, answers, followers });
        self.last
    }

    fn move_on(&mut self) {
        self.revision = Revision(self.revision.0 + 1);
    }

    fn end(&mut self, id: QueryId) {
        let Some(own) = self.followed.remove(&id) else { return };
        for key in own.answers {
            self.drop_answer(id, &(own.query.table, key));
        }
        self.candidates.remove(&own.query, id);
        self.ids.remove(&own.query);
    }

    fn add_answer(&mut self, id: QueryId, key: &RowKey, row: &Row) {
        let Some(own) = self.followed.get_mut(&id) else { return };
        let place = (own.query.table, key.clone());
        self.answers.entry(place).or_default().insert(id, own.seen_of(row));
        own.answers.insert(key.clone());
    }

    fn drop_answer(&mut self, id: QueryId, place: &Place) {
        if let Some(own) = self.followed.get_mut(&id) {
            own.answers.remove(&place.1);
        }
        let Some(seen) = self.answers.get_mut(place) else { return };
        seen.remove(&id);
        if seen.is_empty() {
            self.answers.remove(place);
        }
    }
}

impl Followed {
    /// What of an answer the query looks at. One of a live table is there without having been created, whatever else it holds, until it is emptied: so it
    /// counts as created here.
    fn seen_of(&self, row: &Row) -> Row {
        let seen = row.cells().filter(|(column, _)| self.columns.contains(column));
        let exists = row.exists() || self.query.live;
        Row::from_parts(exists, seen.map(|(column, state)| (column, state.clone())))
    }
}

/// The row after these writes, if they tell all of it: it was created or deleted.
pub fn whole_after(writes: &[Write]) -> Option<Row> {
    let is_life = |write: &Write| write.cell.column == ColumnId::ROW && write.operation.is_of_life();
    let begins = writes.iter().rposition(is_life)?;
    let mut row = Row::default();
    apply_all(&mut row, &writes[begins..]);
    Some(row)
}

pub fn apply_all<'a>(row: &mut Row, writes: impl IntoIterator<Item = &'a Write>) {
    for write in writes {
        // An operation of another type changes nothing, here as in the store.
        let _ = row.apply(write.cell.column, &write.operation);
    }
}
