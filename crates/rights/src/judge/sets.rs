//! Whether a value is in a set, and what that rests on.
//!
//! Invariant: a value that is in a set rests on one row that has it; one that is not rests on there being no such row. What others have in the table
//! matters to neither.

use std::collections::BTreeSet;
use std::ops::Bound;
use std::sync::Arc;

use iolite_values::{
    Cell, ColumnId, Condition, Element, Field, IndexRange, KeyRange, Query, Read, RowKey, Table, TableId, Test, Value,
};

use super::outcome::Outcome;
use super::scene::Scene;
use super::{Judge, Needs};
use crate::{Asked, Operand, Set};

/// The query that has the rows of a set, and the field of them that is in the set.
pub(crate) struct Mine {
    pub(crate) query: Query,
    pub(crate) field: Field,
}

impl Mine {
    /// None: the schema lacks what it names, or the user's token lacks a claim.
    pub(crate) fn of(judge: &Judge<'_>, table: &str, column: &str, conditions: &[Asked]) -> Option<Mine> {
        let definition = judge.schema.table(table)?;
        let conditions =
            conditions.iter().map(|asked| condition(judge, definition, asked)).collect::<Option<Vec<_>>>()?;
        let mut query = Query::all(TableId::of(table), definition.live);
        let (index, range) = place(definition, &conditions)?;
        if index.is_empty() {
            (query.range, query.keys) = (range.clone(), range);
        } else {
            (query.index, query.range) = (index, range);
        }
        query.conditions = conditions;
        Some(Mine { query, field: definition.field(column)? })
    }

    /// The reads that tell that a row has the value, or that none has.
    fn reads(&self, witness: Option<&RowKey>, value: &Value) -> Vec<Read> {
        let Some(row) = witness else {
            let mut query = self.query.clone();
            query.conditions.push(Condition { field: self.field.clone(), test: Test::Equal(value.clone()) });
            return vec![Read::Query(Arc::new(query))];
        };
        if self.query.live {
            return vec![Read::Range { table: self.query.table, range: KeyRange::one(row) }];
        }
        let asked = self.query.conditions.iter().map(|own| &own.field).chain([&self.field]);
        let columns: BTreeSet<_> = asked.filter_map(Field::column).collect();
        // Without columns, it rests on the row's life alone.
        let columns = if columns.is_empty() { BTreeSet::from([ColumnId::ROW]) } else { columns };
        let cell = |column| Cell { table: self.query.table, row: row.clone(), column };
        columns.into_iter().map(|column| Read::Cell { cell: cell(column), element: Element::Whole }).collect()
    }
}

fn condition(judge: &Judge<'_>, table: &Table, asked: &Asked) -> Option<Condition> {
    let with = match &asked.is.with {
        Operand::Claim(name) => judge.claims.value(name)?,
        Operand::Literal(value) => value.clone(),
        Operand::Column { .. } | Operand::Followed { .. } | Operand::Now | Operand::Part(_) => return None,
    };
    Some(Condition { field: table.field(&asked.column)?, test: asked.is.relation.test(with)? })
}

/// The index, and the range of it, that begins with a value that the conditions fix: the primary key, or a secondary index.
fn place(table: &Table, conditions: &[Condition]) -> Option<(Vec<Field>, KeyRange)> {
    let fixed = |field: &Field| {
        conditions.iter().find_map(|own| match &own.test {
            Test::Equal(value) if own.field == *field => Some(value.clone()),
            Test::Equal(_)
            | Test::NotEqual(_)
            | Test::Less(_)
            | Test::AtMost(_)
            | Test::Greater(_)
            | Test::AtLeast(_)
            | Test::OneOf(_)
            | Test::BeginsWith(_)
            | Test::Contains(_) => None,
        })
    };
    if let Some(first) = fixed(&Field::Key(0)) {
        return Some((Vec::new(), KeyRange::prefix(&[first]).ok()?));
    }
    let mut indexes = table.indexes.keys().filter_map(|name| table.index_fields(name));
    let (fields, first) = indexes.find_map(|fields| fixed(fields.first()?).map(|first| (fields, first)))?;
    let range = IndexRange::new(&[first], Bound::Unbounded, Bound::Unbounded).range;
    Some((fields, range))
}

impl Scene<'_> {
    pub(super) fn within(&self, of: &Operand, set: &Set, negated: bool) -> Outcome {
        let seen = match self.value(of) {
            Ok(seen) => seen,
            Err(needs) => return Outcome::unknown(needs),
        };
        let Some(value) = seen.value else { return Outcome::missing(seen.reads) };
        let (has, reads) = match set {
            Set::Values(values) => (values.contains(&value), Vec::new()),
            Set::Claim(name) => match (self.judge.claims.texts(name), &value) {
                (Some(texts), Value::String(text)) => (texts.contains(&**text), Vec::new()),
                (Some(_), _) => (false, Vec::new()),
                (None, _) => return Outcome::missing(Vec::new()),
            },
            Set::Mine { table, column, conditions } => {
                let Some(mine) = Mine::of(self.judge, table, column, conditions) else {
                    return Outcome::missing(Vec::new());
                };
                let Some(answers) = self.judge.rows.answers(&mine.query) else {
                    return Outcome::unknown(Needs { sets: [Arc::new(mine.query)].into(), ..Needs::default() });
                };
                let witness = answers.iter().find(|(key, row)| *mine.field.value(key, row) == value);
                (witness.is_some(), mine.reads(witness.map(|(key, _)| key), &value))
            }
        };
        Outcome::known(has != negated, [seen.reads, reads].concat())
    }
}
