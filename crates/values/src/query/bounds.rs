//! Where the answers of a query stand: in its own index, and in one that it need not have asked for, as far as it tells by its bounds, so that many queries can
//! be kept in order.
//!
//! Invariant: every answer stands there, for the range of its index and its conditions say so; other rows may, too.

use std::collections::BTreeSet;
use std::ops::Bound;

use super::{Field, Query, Test};
use crate::index_key::{encode_indexed, fixed_values, split_value};
use crate::key::{ABOVE_ALL, STRING, above, encode, encode_escaped};
use crate::{IndexKey, IndexRange, KeyRange, Value};

impl Query {
    /// In an index of these fields: the narrower, the more of the first ones the query leaves one value only.
    pub fn range_in(&self, fields: &[Field]) -> KeyRange {
        let mut prefix = Vec::new();
        for field in fields {
            let values = self.values_of(field);
            if !is_one_value(&values) {
                return behind(&prefix, &values);
            }
            prefix.extend_from_slice(&values.lower);
        }
        behind(&prefix, &self.row_keys())
    }

    /// The parts of its range in which its answers stand, in the order of its index: one for each value, where a condition names those of the first field of
    /// which the range leaves more than one, as narrow as the next field allows. So who looks for few values looks at few rows, wherever they are.
    pub fn stretches(&self) -> Vec<KeyRange> {
        let range = if self.index.is_empty() { self.row_keys() } else { self.range.clone() };
        let fixed = fixed_values(&range);
        let (prefix, place) = (fixed.concat(), fixed.len());
        let named = self.values_named(&self.field_at(place));
        // Long values may look alike. What a primary key cannot hold is in none.
        let fronts = named.map_or_else(
            || BTreeSet::from([prefix.clone()]),
            |values| values.iter().filter_map(|value| self.with_value(&prefix, place, value)).collect(),
        );
        let next = place + usize::from(named.is_some());
        let rest = match self.index.get(next) {
            Some(field) => self.values_of(field),
            None if next == self.index.len() => self.row_keys(),
            None => KeyRange::all(),
        };
        let parts = fronts.into_iter().map(|front| behind(&front, &rest).within(&range));
        parts.filter(|part| !part.is_empty()).collect()
    }

    /// The parts of the primary keys in which its answers are, whichever its index is.
    pub fn key_stretches(&self) -> Vec<KeyRange> {
        Query { index: Vec::new(), range: self.row_keys(), ..self.clone() }.stretches()
    }

    /// A beginning of keys of its index with one more value, as it stands at that place.
    fn with_value(&self, prefix: &[u8], place: usize, value: &Value) -> Option<Vec<u8>> {
        let mut bytes = prefix.to_vec();
        if place < self.index.len() {
            encode_indexed(value, &mut bytes);
        } else {
            encode(value, &mut bytes).ok()?;
        }
        Some(bytes)
    }

    /// By what rows stand at a place of its index: behind its fields come those of the primary key.
    fn field_at(&self, place: usize) -> Field {
        let of_key = || Field::Key(u16::try_from(place - self.index.len()).unwrap_or(u16::MAX));
        self.index.get(place).cloned().unwrap_or_else(of_key)
    }

    fn values_named(&self, field: &Field) -> Option<&BTreeSet<Value>> {
        self.conditions.iter().filter(|own| own.field == *field).find_map(|own| own.test.one_of())
    }

    /// Whether a field has the same value in all answers, as far as it is in an index.
    pub fn leaves_one_value(&self, field: &Field) -> bool {
        is_one_value(&self.values_of(field))
    }

    /// The parts of [`Query::values_of`] that a field is in: one for each value, where a condition names them.
    pub fn stretches_of(&self, field: &Field) -> Vec<KeyRange> {
        let all = self.values_of(field);
        let Some(named) = self.values_named(field) else { return vec![all] };
        let single = |value: &Value| Test::Equal(value.clone()).range().within(&all);
        named.iter().map(single).filter(|own| !own.is_empty()).collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// What a field lies between, as an index of it alone begins.
    pub fn values_of(&self, field: &Field) -> KeyRange {
        let conditions = self.conditions.iter().filter(|own| own.field == *field).map(|own| own.test.range());
        let places = self.index.iter().enumerate().filter(|(_, own)| *own == field);
        let of_index = places.map(|(place, _)| values_at(&self.range, place));
        conditions.chain(of_index).fold(KeyRange::all(), |all, own| all.within(&own))
    }
}

impl Test {
    /// In an index of the field.
    fn range(&self) -> KeyRange {
        let between = |from, to| IndexRange::new(&[], from, to).range;
        match self {
            Test::Equal(value) => between(Bound::Included(value), Bound::Included(value)),
            Test::Less(value) => between(Bound::Unbounded, Bound::Excluded(value)),
            Test::AtMost(value) => between(Bound::Unbounded, Bound::Included(value)),
            Test::Greater(value) => between(Bound::Excluded(value), Bound::Unbounded),
            Test::AtLeast(value) => between(Bound::Included(value), Bound::Unbounded),
            Test::OneOf(all) => match (all.first(), all.last()) {
                (Some(first), Some(last)) => between(Bound::Included(first), Bound::Included(last)),
                (None, _) | (_, None) => KeyRange::all(),
            },
            Test::BeginsWith(text) => {
                let mut lower = Vec::new();
                let length = text.len().min(IndexKey::VALUE_BYTES_MAX);
                encode_escaped(STRING, &text.as_bytes()[..length], &mut lower);
                lower.pop();
                KeyRange { upper: Some(above(&lower)), lower: lower.into() }
            }
            Test::NotEqual(_) | Test::Contains(_) => KeyRange::all(),
        }
    }
}

/// What the field at a place of an index lies between in all keys of a range.
fn values_at(range: &KeyRange, place: usize) -> KeyRange {
    let fixed = fixed_values(range);
    if let Some(value) = fixed.get(place) {
        return KeyRange { lower: (*value).into(), upper: Some(above(value)) };
    }
    if place > fixed.len() {
        return KeyRange::all();
    }
    let prefix = fixed.concat();
    let lower = range.lower.strip_prefix(&prefix[..]).unwrap_or_default();
    let lower = split_value(lower).map_or(lower, |(value, _)| value);
    let upper = range.upper.as_ref().and_then(|upper| upper.strip_prefix(&prefix[..]));
    let upper = upper.filter(|upper| upper.first() != Some(&ABOVE_ALL)).map(|upper| match split_value(upper) {
        Some((value, behind)) if !behind.is_empty() => above(value),
        Some(_) | None => upper.into(),
    });
    KeyRange { lower: lower.into(), upper }
}

fn is_one_value(values: &KeyRange) -> bool {
    let is_whole = || split_value(&values.lower).is_some_and(|(_, behind)| behind.is_empty());
    values.upper.as_ref().is_some_and(|upper| *upper == above(&values.lower)) && is_whole()
}

/// The keys that begin so, and go on in the range.
fn behind(prefix: &[u8], range: &KeyRange) -> KeyRange {
    let upper = match &range.upper {
        Some(upper) => Some([prefix, upper].concat().into()),
        None if prefix.is_empty() => None,
        None => Some(above(prefix)),
    };
    KeyRange { lower: [prefix, &range.lower].concat().into(), upper }
}
