//! Read rules as conditions of queries.
//!
//! Invariant: a query with the conditions selects the rows that the query selects and the rule allows, no more and no less.
//! Source: partial evaluation of the rule under claims, sets, and what the query itself fixes.

use std::collections::BTreeSet;
use std::sync::Arc;

use iolite_values::{AnyOf, Condition, Field, Query, RowKey, Table, Test, Value};

use crate::judge::Mine;
use crate::{Asked, Comparison, Judge, Needs, Operand, Relation, Right, Rule, Set, TableRights};

/// The rest of a read rule for one user and one query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effective {
    /// The query itself: every answer may be seen.
    True,
    /// No answer may be seen.
    False,
    /// The query with more conditions, all of which hold, and of each list of alternatives one.
    Conditions { conditions: Vec<Condition>, any_of: Vec<AnyOf> },
    /// The query cannot be followed. The sentence says what to ask instead.
    Declined(String),
    /// Some sets have to be known.
    Needs(Needs),
}

/// A rule of which the known parts are gone.
enum Left {
    True,
    False,
    One(Condition),
    All(Vec<Left>),
    Any(Vec<Left>),
}

/// Why a rule has no conditions.
enum Stop {
    Needs(Needs),
    Declined(String),
}

/// The alternatives of a rule, each with conditions that all hold.
type Alternatives = Vec<Vec<Condition>>;

impl Judge<'_> {
    /// The rest of the read rule of a query's table.
    pub fn effective(&self, query: &Query) -> Effective {
        let Some(name) = self.schema.table_name(query.table) else { return Effective::False };
        let rule = match self.rights.tables.get(name) {
            Some(TableRights::Open) => return Effective::True,
            Some(TableRights::Rules(rules)) => rules.rule(Right::Read),
            None => None,
        };
        let (Some(rule), Some(table)) = (rule, self.schema.table_by_id(query.table)) else { return Effective::False };
        match (Reading { judge: self, table, name, query }).left(rule, false) {
            Ok(left) => finish(left, name, query),
            Err(Stop::Needs(needs)) => Effective::Needs(needs),
            Err(Stop::Declined(why)) => Effective::Declined(why),
        }
    }
}

impl Effective {
    /// The query that has only what may be seen. None: nothing, or it is declined or not known yet.
    pub fn apply(&self, query: &Query) -> Option<Query> {
        match self {
            Effective::True => Some(query.clone()),
            Effective::Conditions { conditions, any_of } => {
                let mut query = query.clone();
                query.conditions.extend(conditions.iter().cloned());
                query.any_of.extend(any_of.iter().cloned());
                Some(query)
            }
            Effective::False | Effective::Declined(_) | Effective::Needs(_) => None,
        }
    }
}

struct Reading<'a> {
    judge: &'a Judge<'a>,
    table: &'a Table,
    name: &'a str,
    query: &'a Query,
}

impl Reading<'_> {
    fn left(&self, rule: &Rule, negated: bool) -> Result<Left, Stop> {
        match rule {
            Rule::And(parts) => self.joined(parts, negated, negated),
            Rule::Or(parts) => self.joined(parts, negated, !negated),
            Rule::Not(part) => self.left(part, !negated),
            Rule::Test { of, is } => self.test(of, is, negated),
            Rule::In { of, set } => self.within(of, set, negated),
            Rule::Claim { name, is } => self.test(&Operand::Claim(name.clone()), is, negated),
            Rule::Exists { .. } | Rule::Ops(_) => Err(self.declined("it follows rows, which a read rule cannot")),
        }
    }

    /// All needs are told at once; one part that decides is enough.
    fn joined(&self, parts: &[Rule], negated: bool, any: bool) -> Result<Left, Stop> {
        let (mut left, mut needs, mut declined) = (Vec::new(), Needs::default(), None);
        for part in parts {
            match self.left(part, negated) {
                Ok(Left::True) if any => return Ok(Left::True),
                Ok(Left::False) if !any => return Ok(Left::False),
                Ok(Left::True | Left::False) => {}
                Ok(own) => left.push(own),
                Err(Stop::Needs(own)) => needs.add(own),
                Err(stop @ Stop::Declined(_)) => declined = Some(stop),
            }
        }
        match declined {
            _ if !needs.is_empty() => Err(Stop::Needs(needs)),
            Some(stop) => Err(stop),
            None if left.is_empty() => Ok(if any { Left::False } else { Left::True }),
            None if any => Ok(Left::Any(left)),
            None => Ok(Left::All(left)),
        }
    }

    fn declined(&self, why: &str) -> Stop {
        Stop::Declined(format!("the read rule of table {:?} cannot be a query: {why}", self.name))
    }

    fn test(&self, of: &Operand, is: &Comparison, negated: bool) -> Result<Left, Stop> {
        let Some(with) = self.constant(&is.with)? else { return Ok(Left::False) };
        if let (Operand::Claim(name), Relation::Contains) = (of, is.relation) {
            let texts = self.judge.claims.texts(name);
            let has = |texts: &BTreeSet<String>| matches!(&with, Value::String(text) if texts.contains(&**text));
            return Ok(texts.map_or(Left::False, |texts| decided(has(texts) != negated)));
        }
        let Some(test) = is.relation.test(with) else { return Ok(Left::False) };
        let Operand::Column { of: _, column } = of else {
            let seen = self.constant(of)?;
            return Ok(seen.map_or(Left::False, |value| decided(test.holds(&value) != negated)));
        };
        let Some(field) = self.table.field(column) else { return Ok(Left::False) };
        if let Some(value) = self.fixed(&field).filter(|_| is.relation != Relation::Contains) {
            return Ok(decided(test.holds(&value) != negated));
        }
        if negated { self.negated(field, column, test) } else { Ok(Left::One(Condition { field, test })) }
    }

    /// The negation of a test, as conditions. An order has no place for null, which so satisfies the negation of each.
    fn negated(&self, field: Field, column: &str, test: Test) -> Result<Left, Stop> {
        let one = |test| Left::One(Condition { field: field.clone(), test });
        let is_optional = self.table.columns.get(column).is_some_and(|column| column.optional);
        let or_null = |test| match is_optional {
            true => Left::Any(vec![one(test), one(Test::Equal(Value::Null))]),
            false => one(test),
        };
        match test {
            Test::Equal(value) => Ok(one(Test::NotEqual(value))),
            Test::NotEqual(value) => Ok(one(Test::Equal(value))),
            Test::Less(value) => Ok(or_null(Test::AtLeast(value))),
            Test::AtMost(value) => Ok(or_null(Test::Greater(value))),
            Test::Greater(value) => Ok(or_null(Test::AtMost(value))),
            Test::AtLeast(value) => Ok(or_null(Test::Less(value))),
            Test::OneOf(values) => Ok(Left::All(values.into_iter().map(|value| one(Test::NotEqual(value))).collect())),
            Test::BeginsWith(_) | Test::Contains(_) => {
                Err(self.declined("it negates a test of a beginning or of a member"))
            }
        }
    }

    fn within(&self, of: &Operand, set: &Set, negated: bool) -> Result<Left, Stop> {
        let values = match set {
            Set::Values(values) => Some(values.iter().cloned().collect()),
            Set::Claim(name) => self.judge.claims.texts(name).map(|own| own.iter().map(Value::string).collect()),
            Set::Mine { table, column, conditions } => self.mine(table, column, conditions)?,
        };
        let Some(values): Option<BTreeSet<Value>> = values else { return Ok(Left::False) };
        let Operand::Column { of: _, column } = of else {
            let seen = self.constant(of)?;
            return Ok(seen.map_or(Left::False, |value| decided(values.contains(&value) != negated)));
        };
        let Some(field) = self.table.field(column) else { return Ok(Left::False) };
        if let Some(value) = self.fixed(&field) {
            return Ok(decided(values.contains(&value) != negated));
        }
        if values.is_empty() {
            return Ok(decided(negated));
        }
        if values.len() > Test::VALUES_MAX {
            let most = Test::VALUES_MAX;
            return Err(
                self.declined(&format!("column {column:?} may be one of more than {most} values: ask for one of them"))
            );
        }
        let test = Test::OneOf(values);
        if negated { self.negated(field, column, test) } else { Ok(Left::One(Condition { field, test })) }
    }

    fn mine(&self, table: &str, column: &str, conditions: &[Asked]) -> Result<Option<BTreeSet<Value>>, Stop> {
        let Some(mine) = Mine::of(self.judge, table, column, conditions) else { return Ok(None) };
        match self.judge.rows.answers(&mine.query) {
            Some(answers) => {
                Ok(Some(answers.iter().map(|(key, row)| mine.field.value(key, row).into_owned()).collect()))
            }
            None => Err(Stop::Needs(Needs { sets: [Arc::new(mine.query)].into(), ..Needs::default() })),
        }
    }

    /// A value that is the same for all rows. None: it is missing.
    fn constant(&self, operand: &Operand) -> Result<Option<Value>, Stop> {
        match operand {
            Operand::Claim(name) => Ok(self.judge.claims.value(name)),
            Operand::Literal(value) => Ok(Some(value.clone())),
            Operand::Now => Err(self.declined("it depends on the time")),
            Operand::Column { .. } | Operand::Followed { .. } | Operand::Part(_) => {
                Err(self.declined("it compares with something else than claims and constants"))
            }
        }
    }

    /// The value that a field has in all answers of the query, as far as the query says it.
    fn fixed(&self, field: &Field) -> Option<Value> {
        let asked = self.query.conditions.iter().filter(|own| own.field == *field);
        let equal = asked.filter_map(|own| match &own.test {
            Test::Equal(value) => Some(value.clone()),
            Test::OneOf(values) if values.len() == 1 => values.first().cloned(),
            Test::NotEqual(_)
            | Test::Less(_)
            | Test::AtMost(_)
            | Test::Greater(_)
            | Test::AtLeast(_)
            | Test::OneOf(_)
            | Test::BeginsWith(_)
            | Test::Contains(_) => None,
        });
        let of_key = || match field {
            Field::Key(place) => key_prefix(self.query).into_iter().nth(usize::from(*place)),
            Field::Cell { .. } => None,
        };
        equal.into_iter().next().or_else(of_key)
    }
}

/// The values with which the keys of all answers begin.
fn key_prefix(query: &Query) -> Vec<Value> {
    let keys = query.row_keys();
    let key = RowKey::from_bytes(&keys.lower).ok();
    let values = key.and_then(|key| key.values().ok()).unwrap_or_default();
    let above: Vec<u8> = keys.lower.iter().copied().chain([u8::MAX]).collect();
    let is_prefix = keys.upper.as_deref() == Some(&above[..]) || keys.is_of_one_row() && !keys.is_empty();
    if is_prefix { values } else { Vec::new() }
}

fn decided(holds: bool) -> Left {
    if holds { Left::True } else { Left::False }
}

fn finish(left: Left, name: &str, query: &Query) -> Effective {
    let parts = match left {
        Left::True => return Effective::True,
        Left::False => return Effective::False,
        Left::All(parts) => parts,
        one @ (Left::One(_) | Left::Any(_)) => vec![one],
    };
    let (mut conditions, mut any_of) = (Vec::new(), Vec::new());
    for part in parts {
        let Some(mut alternatives) = alternatives(part) else {
            let most = Rule::ALTERNATIVES_MAX;
            return Effective::Declined(format!(
                "the read rule of table {name:?} has more than {most} alternatives: make it shorter, or ask for less"
            ));
        };
        match alternatives.len() {
            1 => conditions.extend(alternatives.remove(0)),
            _ => any_of.push(AnyOf(alternatives)),
        }
    }
    let effective = Effective::Conditions { conditions, any_of };
    let whole = effective.apply(query).unwrap_or_else(|| query.clone());
    let is_too_long = whole.conditions_bytes() > Query::CONDITIONS_BYTES_MAX;
    if is_too_long || whole.every_condition().count() > Query::CONDITIONS_MAX {
        return Effective::Declined(format!(
            "the read rule of table {name:?} and the query have too many conditions: ask for less"
        ));
    }
    effective
}

/// None: there are too many.
fn alternatives(left: Left) -> Option<Alternatives> {
    let all = match left {
        Left::True => vec![Vec::new()],
        Left::False => Vec::new(),
        Left::One(condition) => vec![vec![condition]],
        Left::Any(parts) => parts.into_iter().map(alternatives).collect::<Option<Vec<_>>>()?.concat(),
        Left::All(parts) => {
            let mut all: Alternatives = vec![Vec::new()];
            for part in parts {
                let own = alternatives(part)?;
                all =
                    all.iter().flat_map(|first| own.iter().map(move |second| [&first[..], second].concat())).collect();
                if all.len() > Rule::ALTERNATIVES_MAX {
                    return None;
                }
            }
            all
        }
    };
    (all.len() <= Rule::ALTERNATIVES_MAX).then_some(all)
}
