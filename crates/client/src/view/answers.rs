//! Answers of queries through layers.
//!
//! Invariant: a row that a layer changes is judged as it looks there, and only if it is known whole: because the cache holds all of it, or because a layer
//! created or deleted it. A row of which only some cells are known is no answer, though it may become one once it is confirmed. A row of the past is known
//! whole if it was: what the cache holds of it now says nothing of then.

use std::collections::{BTreeMap, BTreeSet};

use iolite_values::{Direction, IndexKey, Interest, KeyRange, Query, Row, RowKey, TableId, set_of};

use super::{Reader, Unheld};
use crate::cache::Answer;

impl<'a> Reader<'a> {
    /// The first answers of a query in a direction, at most so many, as far as the cache holds it.
    pub(crate) fn answers(&self, query: &Query, direction: Direction, most: usize) -> Vec<Answer<'a>> {
        let (changed, hidden) = self.changed_answers(query);
        let below = self.cache.answers(query).filter(|(_, key, _)| !hidden.contains(*key));
        let above = changed.into_iter().map(|(place, (key, row))| (place, key, row));
        match direction {
            Direction::Ascending => merged(below, above, |a, b| a < b).take(most).collect(),
            Direction::Descending => merged(below.rev(), above.rev(), |a, b| a > b).take(most).collect(),
        }
    }

    /// As far as a query is held from one end on.
    pub(crate) fn part_of(&self, query: &Query, direction: Direction) -> Option<Query> {
        if self.holds(&Interest::Query(std::sync::Arc::new(query.clone()))) {
            return Some(query.clone());
        }
        if self.cannot_tell_of(query.table) {
            return None;
        }
        self.cache.interests.part_of(query, direction)
    }

    /// A range of primary keys as far as it is held from one end on, in pieces that are each held by one interest, `most` of them at most.
    pub(crate) fn pieces_of(
        &self,
        table: TableId,
        range: &KeyRange,
        direction: Direction,
        most: usize,
    ) -> Vec<KeyRange> {
        if self.cannot_tell_of(table) {
            return Vec::new();
        }
        self.cache.interests.pieces_of(table, range, direction, most)
    }

    /// How many confirmed answers of a query layers change.
    pub(crate) fn hidden_answers(&self, query: &Query) -> usize {
        let rows = self.layers().flat_map(|layer| layer.range(query.table, &query.keys));
        let keys: BTreeSet<&RowKey> = set_of(rows.map(|(key, _)| key));
        let confirmed = |key: &&RowKey| self.cache.row(query.table, key).is_some_and(|row| query.selects(key, row));
        keys.into_iter().filter(confirmed).count()
    }

    /// The answers among rows that a layer has, and all rows that one has.
    fn changed_answers(&self, query: &Query) -> (BTreeMap<IndexKey, (&'a RowKey, &'a Row)>, BTreeSet<RowKey>) {
        let (mut answers, mut hidden) = (BTreeMap::new(), BTreeSet::new());
        for layer in self.layers() {
            for (key, row) in layer.range(query.table, &query.keys) {
                // The uppermost layer comes first.
                if !hidden.insert(key.clone()) {
                    continue;
                }
                if query.selects(key, row) && self.knows_whole(&(query.table, key.clone())) {
                    answers.insert(query.index_key(key, row), (key, row));
                }
            }
        }
        (answers, hidden)
    }

    fn knows_whole(&self, id: &crate::cache::RowId) -> bool {
        let is_held = match self.unheld {
            Unheld::Nothing => self.cache.interests.holds_row(id),
            Unheld::Loaded(_) | Unheld::Everything => false,
        };
        is_held || self.layers().any(|layer| layer.made(id))
    }
}

/// Two sequences that are each in an order, in that order.
fn merged<'a>(
    one: impl Iterator<Item = Answer<'a>>,
    other: impl Iterator<Item = Answer<'a>>,
    comes_first: impl Fn(&IndexKey, &IndexKey) -> bool,
) -> impl Iterator<Item = Answer<'a>> {
    let (mut one, mut other) = (one.peekable(), other.peekable());
    std::iter::from_fn(move || match (one.peek(), other.peek()) {
        (Some(own), Some(theirs)) if comes_first(&own.0, &theirs.0) => one.next(),
        (_, Some(_)) => other.next(),
        (_, None) => one.next(),
    })
}
