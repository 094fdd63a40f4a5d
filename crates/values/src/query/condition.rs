//! Conditions: what a query asks of one field of a row.
//!
//! Invariant: a comparison by order holds for no null, whatever it is compared with; null is equal to null and to nothing else.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::Field;
use crate::{CellState, ColumnId, Row, RowKey, Value};

/// One thing that a row has to satisfy.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Condition {
    pub field: Field,
    pub test: Test,
}

/// Alternatives, of which a row has to satisfy one: each is conditions that all hold.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct AnyOf(pub Vec<Vec<Condition>>);

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Test {
    Equal(Value),
    NotEqual(Value),
    Less(Value),
    AtMost(Value),
    Greater(Value),
    AtLeast(Value),
    OneOf(BTreeSet<Value>),
    /// A string begins with this.
    BeginsWith(Arc<str>),
    /// A set has this member.
    Contains(Value),
}

impl Condition {
    pub fn holds(&self, key: &RowKey, row: &Row) -> bool {
        match (&self.test, &self.field) {
            (Test::Contains(member), Field::Cell { column, absent: _ }) => has_member(row, *column, member),
            (test, field) => test.holds(&field.value(key, row)),
        }
    }

    pub(super) fn size_bytes(&self) -> usize {
        self.field.size_bytes() + self.test.size_bytes()
    }
}

impl AnyOf {
    pub fn holds(&self, key: &RowKey, row: &Row) -> bool {
        self.0.iter().any(|alternative| alternative.iter().all(|condition| condition.holds(key, row)))
    }

    pub(super) fn size_bytes(&self) -> usize {
        let alternatives = self.0.iter().map(|own| 2 + own.iter().map(Condition::size_bytes).sum::<usize>());
        2 + alternatives.sum::<usize>()
    }
}

impl Test {
    /// Values of one [`Test::OneOf`].
    pub const VALUES_MAX: usize = 256;

    /// Whether a single value satisfies it. (None contains anything.)
    pub fn holds(&self, value: &Value) -> bool {
        match self {
            Test::Equal(other) => value == other,
            Test::NotEqual(other) => value != other,
            Test::Less(other) => is_given(value) && value < other,
            Test::AtMost(other) => is_given(value) && value <= other,
            Test::Greater(other) => is_given(value) && value > other,
            Test::AtLeast(other) => is_given(value) && value >= other,
            Test::OneOf(all) => all.contains(value),
            Test::BeginsWith(beginning) => match value {
                Value::String(text) => text.starts_with(&**beginning),
                Value::Null
                | Value::Bool(_)
                | Value::Int(_)
                | Value::Float(_)
                | Value::Bytes(_)
                | Value::Id(_)
                | Value::Blob(_) => false,
            },
            Test::Contains(_) => false,
        }
    }

    /// The values of which it asks for one, if it does.
    pub fn one_of(&self) -> Option<&BTreeSet<Value>> {
        match self {
            Test::OneOf(values) => Some(values),
            Test::Equal(_)
            | Test::NotEqual(_)
            | Test::Less(_)
            | Test::AtMost(_)
            | Test::Greater(_)
            | Test::AtLeast(_)
            | Test::BeginsWith(_)
            | Test::Contains(_) => None,
        }
    }

    /// The values that it compares with.
    pub fn values(&self) -> impl Iterator<Item = &Value> {
        let (one, all) = match self {
            Test::Equal(value)
            | Test::NotEqual(value)
            | Test::Less(value)
            | Test::AtMost(value)
            | Test::Greater(value)
            | Test::AtLeast(value)
            | Test::Contains(value) => (Some(value), None),
            Test::OneOf(all) => (None, Some(all)),
            Test::BeginsWith(_) => (None, None),
        };
        one.into_iter().chain(all.into_iter().flatten())
    }

    fn size_bytes(&self) -> usize {
        let text = match self {
            Test::BeginsWith(text) => text.len(),
            Test::Equal(_)
            | Test::NotEqual(_)
            | Test::Less(_)
            | Test::AtMost(_)
            | Test::Greater(_)
            | Test::AtLeast(_)
            | Test::OneOf(_)
            | Test::Contains(_) => 0,
        };
        1 + text + self.values().map(|value| 2 + value.size_bytes()).sum::<usize>()
    }
}

fn is_given(value: &Value) -> bool {
    *value != Value::Null
}

fn has_member(row: &Row, column: ColumnId, member: &Value) -> bool {
    matches!(row.cell(column), Some(CellState::Set(members)) if members.contains(member))
}
