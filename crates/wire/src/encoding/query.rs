//! Queries.
//!
//! Invariant: what a field or a range says by being absent is not written, so one query has one encoding.

use std::collections::BTreeSet;
use std::sync::Arc;

use iolite_values::{AnyOf, ColumnId, Condition, Direction, Field, KeyRange, Query, TableId, Test, Value};

use crate::DecodeError;
use crate::generated::proto::{self, query_condition::Test as Kind, query_field::Of};
use crate::limits::INDEX_BOUND;

use super::reader::{each, required};
use super::{Reader, Writer, value};

impl Writer {
    pub(crate) fn query(&mut self, query: &Query) -> proto::Query {
        let bounds = |own: &mut Writer, range: &KeyRange| (*range != KeyRange::all()).then(|| own.key_bounds(range));
        proto::Query {
            table: query.table.0,
            live: query.live,
            index: query.index.iter().map(write_field).collect(),
            range: bounds(self, &query.range),
            keys: bounds(self, &query.keys),
            conditions: query.conditions.iter().map(write_condition).collect(),
            any_of: query.any_of.iter().map(write_any_of).collect(),
        }
    }

    pub(crate) fn key_bounds(&mut self, range: &KeyRange) -> proto::KeyBounds {
        self.count(range.lower.len(), INDEX_BOUND);
        self.count(range.upper.as_ref().map_or(0, |upper| upper.len()), INDEX_BOUND);
        proto::KeyBounds { lower: range.lower.to_vec(), upper: range.upper.as_ref().map(|upper| upper.to_vec()) }
    }
}

impl Reader {
    pub(crate) fn query(&self, query: proto::Query) -> Result<Arc<Query>, DecodeError> {
        let range = |bounds: Option<_>| bounds.map_or(Ok(KeyRange::all()), |bounds| self.key_bounds(bounds));
        Ok(Arc::new(Query {
            table: TableId(query.table),
            live: query.live,
            index: each(query.index, read_field)?,
            range: range(query.range)?,
            keys: range(query.keys)?,
            conditions: read_conditions(query.conditions)?,
            any_of: each(query.any_of, read_any_of)?,
        }))
    }

    pub(crate) fn key_bounds(&self, bounds: proto::KeyBounds) -> Result<KeyRange, DecodeError> {
        self.count(bounds.lower.len(), INDEX_BOUND)?;
        self.count(bounds.upper.as_ref().map_or(0, Vec::len), INDEX_BOUND)?;
        Ok(KeyRange { lower: Arc::from(bounds.lower), upper: bounds.upper.map(Arc::from) })
    }
}

pub(crate) fn write_direction(direction: Direction) -> bool {
    direction == Direction::Descending
}

pub(crate) fn read_direction(descending: bool) -> Direction {
    if descending { Direction::Descending } else { Direction::Ascending }
}

fn write_field(field: &Field) -> proto::QueryField {
    match field {
        Field::Key(place) => proto::QueryField { of: Some(Of::Key(u32::from(*place))), absent: None },
        Field::Cell { column, absent } => {
            let absent = (*absent != Value::Null).then(|| value::write(absent));
            proto::QueryField { of: Some(Of::Column(column.0)), absent }
        }
    }
}

fn read_field(field: proto::QueryField) -> Result<Field, DecodeError> {
    let absent = field.absent.map(value::read).transpose()?;
    match (required(field.of, "a field of nothing")?, absent) {
        (Of::Key(place), None) => {
            let place = u16::try_from(place).map_err(|_| DecodeError::malformed("a place past every primary key"))?;
            Ok(Field::Key(place))
        }
        (Of::Key(_), Some(_)) => Err(DecodeError::malformed("a primary key is never absent")),
        (Of::Column(column), absent) => {
            Ok(Field::Cell { column: ColumnId(column), absent: absent.unwrap_or(Value::Null) })
        }
    }
}

fn write_condition(condition: &Condition) -> proto::QueryCondition {
    let test = match &condition.test {
        Test::Equal(own) => Kind::Equal(value::write(own)),
        Test::NotEqual(own) => Kind::NotEqual(value::write(own)),
        Test::Less(own) => Kind::Less(value::write(own)),
        Test::AtMost(own) => Kind::AtMost(value::write(own)),
        Test::Greater(own) => Kind::Greater(value::write(own)),
        Test::AtLeast(own) => Kind::AtLeast(value::write(own)),
        Test::OneOf(all) => Kind::OneOf(proto::ValueList { values: all.iter().map(value::write).collect() }),
        Test::BeginsWith(text) => Kind::BeginsWith(text.to_string()),
        Test::Contains(own) => Kind::Contains(value::write(own)),
    };
    proto::QueryCondition { field: Some(write_field(&condition.field)), test: Some(test) }
}

fn read_condition(condition: proto::QueryCondition) -> Result<Condition, DecodeError> {
    let field = read_field(required(condition.field, "a condition on nothing")?)?;
    let test = match required(condition.test, "a condition that is not known here")? {
        Kind::Equal(own) => Test::Equal(value::read(own)?),
        Kind::NotEqual(own) => Test::NotEqual(value::read(own)?),
        Kind::Less(own) => Test::Less(value::read(own)?),
        Kind::AtMost(own) => Test::AtMost(value::read(own)?),
        Kind::Greater(own) => Test::Greater(value::read(own)?),
        Kind::AtLeast(own) => Test::AtLeast(value::read(own)?),
        Kind::OneOf(all) => Test::OneOf(read_set(all)?),
        Kind::BeginsWith(text) => Test::BeginsWith(text.into()),
        Kind::Contains(own) => Test::Contains(value::read(own)?),
    };
    Ok(Condition { field, test })
}

fn write_any_of(any_of: &AnyOf) -> proto::QueryAnyOf {
    let alternative = |own: &Vec<Condition>| {
        let conditions = own.iter().map(write_condition).collect();
        proto::QueryAlternative { conditions }
    };
    proto::QueryAnyOf { alternatives: any_of.0.iter().map(alternative).collect() }
}

fn read_any_of(any_of: proto::QueryAnyOf) -> Result<AnyOf, DecodeError> {
    let alternatives = any_of.alternatives.into_iter().map(|own| read_conditions(own.conditions));
    Ok(AnyOf(alternatives.collect::<Result<_, _>>()?))
}

fn read_conditions(conditions: Vec<proto::QueryCondition>) -> Result<Vec<Condition>, DecodeError> {
    each(conditions, read_condition)
}

fn read_set(all: proto::ValueList) -> Result<BTreeSet<Value>, DecodeError> {
    let values = each(all.values, value::read)?;
    match values.is_sorted_by(|a, b| a < b) {
        true => Ok(values.into_iter().collect()),
        false => Err(DecodeError::malformed("the values of a condition are in order, each once")),
    }
}
