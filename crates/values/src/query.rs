//! Queries: the rows of a table that lie in a range of an index and satisfy conditions.
//!
//! A query says all that it takes to judge a row, so that who has no schema (a store) can. How many rows are wanted, and from which end, is not part of
//! it: whoever asks for a few is told how far the answer reaches, and has asked for the query up to there.
//! Source: Iolite's own (docs/decisions/0017-queries-and-phantoms.md).

mod bounds;
mod condition;

use std::borrow::Cow;
use std::collections::BTreeSet;

use crate::{CellState, ColumnId, IndexKey, KeyRange, Row, RowKey, TableId, Value};

pub use condition::{AnyOf, Condition, Test};

/// Rows of one table.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Query {
    pub table: TableId,
    /// Whether rows exist without being created, as in a live table.
    pub live: bool,
    /// In whose order. None: in that of the primary keys.
    pub index: Vec<Field>,
    /// Of index keys.
    pub range: KeyRange,
    /// Of primary keys. See [`Query::row_keys`].
    pub keys: KeyRange,
    /// All of them hold.
    pub conditions: Vec<Condition>,
    /// And so does one alternative, or more, of each of these.
    pub any_of: Vec<AnyOf>,
}

/// What of a row is compared.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Field {
    /// A column of the primary key, by its place there.
    Key(u16),
    /// A scalar, a register, a counter; or a set, of which only members can be asked. Where nothing was written it counts as `absent`.
    Cell { column: ColumnId, absent: Value },
}

/// In which order of an index, or of primary keys.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum Direction {
    #[default]
    Ascending,
    Descending,
}

impl Query {
    pub const CONDITIONS_MAX: usize = 32;
    /// Of all conditions together, as [`Query::conditions_bytes`] counts them.
    pub const CONDITIONS_BYTES_MAX: usize = 64 * 1024;

    /// All rows, in the order of their keys.
    pub fn all(table: TableId, live: bool) -> Query {
        let all = KeyRange::all;
        let (index, conditions, any_of) = (Vec::new(), Vec::new(), Vec::new());
        Query { table, live, index, range: all(), keys: all(), conditions, any_of }
    }

    /// The rows with these primary keys, in their order.
    pub fn of_keys(table: TableId, live: bool, keys: &KeyRange) -> Query {
        Query { range: keys.clone(), keys: keys.clone(), ..Query::all(table, live) }
    }

    /// Whether every row with one of its [`Query::row_keys`] is an answer.
    pub fn has_all_rows(&self) -> bool {
        self.index.is_empty() && self.conditions.is_empty() && self.any_of.is_empty()
    }

    /// Whether a row is among the answers.
    pub fn selects(&self, key: &RowKey, row: &Row) -> bool {
        self.selects_in_range(key, row) && self.range.contains_bytes(self.index_key(key, row).as_bytes())
    }

    /// The same of a row whose place in the index is known to lie in the range.
    pub fn selects_in_range(&self, key: &RowKey, row: &Row) -> bool {
        self.keys.contains(key)
            && (row.exists() || self.live && !row.is_empty())
            && self.conditions.iter().all(|condition| condition.holds(key, row))
            && self.any_of.iter().all(|any_of| any_of.holds(key, row))
    }

    /// Where a row stands in the index.
    pub fn index_key(&self, key: &RowKey, row: &Row) -> IndexKey {
        IndexKey::new(self.index.iter().map(|field| field.value(key, row)), key)
    }

    /// The primary keys that its answers may have. In the order of primary keys its range is one of these, too.
    pub fn row_keys(&self) -> KeyRange {
        if self.index.is_empty() { self.keys.within(&self.range) } else { self.keys.clone() }
    }

    /// The part of it with these primary keys.
    #[must_use]
    pub fn within(&self, keys: &KeyRange) -> Query {
        Query { keys: self.keys.within(keys), ..self.clone() }
    }

    /// The same in another range of its index.
    #[must_use]
    pub fn with_range(&self, range: KeyRange) -> Query {
        Query { range, ..self.clone() }
    }

    /// Those of its alternatives, too.
    pub fn every_condition(&self) -> impl Iterator<Item = &Condition> {
        self.conditions.iter().chain(self.any_of.iter().flat_map(|any_of| any_of.0.iter().flatten()))
    }

    /// The columns that it looks at.
    pub fn columns(&self) -> BTreeSet<ColumnId> {
        let conditions = self.every_condition().map(|condition| &condition.field);
        self.index.iter().chain(conditions).filter_map(Field::column).collect()
    }

    /// Whether every answer of `other` is one of this.
    pub fn covers(&self, other: &Query) -> bool {
        let alike = self.table == other.table && self.live == other.live && self.index == other.index;
        let asks_no_more = self.conditions.iter().all(|own| other.conditions.contains(own))
            && self.any_of.iter().all(|own| other.any_of.contains(own));
        alike && asks_no_more && self.range.covers(&other.range) && self.keys.covers(&other.keys)
    }

    /// The part of another query, from one end of its range on, of which every answer is one of this.
    pub fn part_of(&self, other: &Query, direction: Direction) -> Option<Query> {
        let part = other.with_range(self.range.beginning_of(&other.range, direction)?);
        self.covers(&part).then_some(part)
    }

    /// About as many bytes as it takes to name it.
    pub fn size_bytes(&self) -> usize {
        let index: usize = self.index.iter().map(Field::size_bytes).sum();
        8 + index + self.conditions_bytes() + self.range.size_bytes() + self.keys.size_bytes()
    }

    /// Those of its conditions.
    pub fn conditions_bytes(&self) -> usize {
        let alone: usize = self.conditions.iter().map(Condition::size_bytes).sum();
        alone + self.any_of.iter().map(AnyOf::size_bytes).sum::<usize>()
    }
}

impl Field {
    /// Its value in a row; null where it is no single value.
    pub fn value<'a>(&'a self, key: &RowKey, row: &'a Row) -> Cow<'a, Value> {
        match self {
            Field::Key(place) => Cow::Owned(value_of_key(key, *place)),
            Field::Cell { column, absent } => match row.cell(*column) {
                None => Cow::Borrowed(absent),
                Some(CellState::Scalar(value) | CellState::Register(value)) => Cow::Borrowed(value),
                Some(CellState::Counter(total)) => Cow::Owned(Value::Int(*total)),
                Some(
                    CellState::Row(_)
                    | CellState::Set(_)
                    | CellState::List(_)
                    | CellState::Map(_)
                    | CellState::Text(_)
                    | CellState::Merged(_),
                ) => Cow::Owned(Value::Null),
            },
        }
    }

    /// The column of the cell that it is in.
    pub fn column(&self) -> Option<ColumnId> {
        match self {
            Field::Key(_) => None,
            Field::Cell { column, absent: _ } => Some(*column),
        }
    }

    fn size_bytes(&self) -> usize {
        match self {
            Field::Key(_) => 2,
            Field::Cell { column: _, absent } => 4 + absent.size_bytes(),
        }
    }
}

fn value_of_key(key: &RowKey, place: u16) -> Value {
    let values = key.values().unwrap_or_default();
    values.into_iter().nth(place.into()).unwrap_or(Value::Null)
}

#[cfg(test)]
mod tests;
