//! Which index answers a question: the primary key, if it says each row; else the one with most of the columns that are asked to be equal at its front, then the
//! one that is asked most of its next column ([`Next`]), then with the order. Alternatives choose none. What is asked of the first columns of the primary key is a
//! range of primary keys, whichever it is.
//!
//! Invariant: whatever index is taken, the answer is the same rows; with an order, in the same order.

use std::ops::Bound;
use std::sync::Arc;

use iolite_values::{
    AnyOf, Condition, Direction, Field, IndexRange, KeyRange, Query, Read, Row, RowKey, Schema, Table, TableId, Test,
    Value,
};

use super::{Question, QuestionError};
use crate::transaction::RunError;

/// How a question is answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    pub query: Query,
    pub direction: Direction,
    pub limit: Option<usize>,
    /// By what the answer is to be sorted, if it does not come in the order that was asked for.
    pub(super) sort: Vec<(Field, Direction)>,
}

/// An index and how much of a question it answers.
struct Candidate<'a> {
    fields: Vec<Field>,
    /// By which its rows stand: those of the fields, and then the rest of the primary key.
    columns: Vec<&'a str>,
    range: KeyRange,
    /// Conditions that the range says, by their place in the question.
    said: Vec<usize>,
    equal: usize,
    next: Next,
    is_ordered: bool,
}

/// What is asked of the column behind those that are equal. The later, the fewer rows it is thought to leave.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Next {
    Anything,
    /// One of some values, which may be most of those that there are. They stay a condition, and are looked up one by one ([`Query::stretches`]).
    Values,
    Range,
    /// One of some values, and something of the column behind it: whoever declared this index has this question in mind.
    ValuesAndMore,
    /// The primary key is equal, or ends with one of some values: each is a row.
    Keys,
}

impl Question {
    /// # Errors
    /// [`RunError::Question`]; [`RunError::Invalid`] for a condition that the column's type has not.
    pub fn plan(&self, schema: &Schema, id: TableId) -> Result<Plan, RunError> {
        let (name, table) = schema.find(id)?;
        let conditions = conditions(name, table, &self.conditions)?;
        let any_of = self.any_of(name, table)?;
        let whole = Query { conditions: conditions.clone(), any_of, ..Query::all(id, table.live) };
        schema.check_read(&Read::Query(Arc::new(whole.clone())))?;
        let order = self.open_order(name, table)?;
        let indexes = table.indexes.iter().filter_map(|(index, columns)| {
            let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
            Some((table.index_fields(index)?, columns))
        });
        let primary = self.candidate(table, Vec::new(), Vec::new(), &order);
        let (keys, said_of_keys) = (primary.range.clone(), primary.said.clone());
        let indexes = indexes.map(|(fields, columns)| self.candidate(table, fields, columns, &order));
        let candidates = std::iter::once(primary).chain(indexes);
        let is_part = self.limit.is_some() || self.after.is_some();
        let usable = candidates.filter(|own| own.is_ordered || !is_part);
        // Of equals the first: the primary key, then the indexes by name.
        let best = usable.reduce(|best, own| if own.worth() > best.worth() { own } else { best });
        let Some(best) = best else { return Err(self.no_index(name, &order).into()) };
        // Whatever the index, what is asked of the primary key tells which rows, and so which shards, are asked. In its own order the range says that.
        let keys = if best.fields.is_empty() { KeyRange::all() } else { keys };
        let is_said = |place: &usize| best.said.contains(place) || said_of_keys.contains(place);
        let kept = conditions.into_iter().enumerate().filter(|(place, _)| !is_said(place));
        let sort = if best.is_ordered { Vec::new() } else { fields_of(table, &order) };
        let query = Query {
            index: best.fields,
            range: best.range,
            keys,
            conditions: kept.map(|(_, condition)| condition).collect(),
            ..whole
        };
        let direction = order.first().filter(|_| sort.is_empty()).map_or(Direction::Ascending, |(_, own)| *own);
        let rest = self.rest(schema, (name, table), &query, &best.columns[..query.index.len()], direction)?;
        let limit = if self.any_of.iter().any(Vec::is_empty) { Some(0) } else { self.limit };
        Ok(Plan { query: query.with_range(rest), direction, limit, sort })
    }

    /// But for those of no alternatives, with which nothing is asked.
    fn any_of(&self, name: &str, table: &Table) -> Result<Vec<AnyOf>, QuestionError> {
        let some = self.any_of.iter().filter(|alternatives| !alternatives.is_empty());
        some.map(|own| own.iter().map(|asked| conditions(name, table, asked)).collect::<Result<_, _>>().map(AnyOf))
            .collect()
    }

    /// The order, without columns that are equal in all answers.
    fn open_order(&self, name: &str, table: &Table) -> Result<Vec<(&str, Direction)>, QuestionError> {
        for (column, _) in &self.order {
            let own = table.columns.get(column);
            let own = own.ok_or_else(|| QuestionError::NoColumn { table: name.into(), column: column.clone() })?;
            if !own.has_one_value() {
                let (table, column, is) = (name.into(), column.clone(), own.kind.name());
                return Err(QuestionError::NoOrder { table, column, is });
            }
        }
        let open = self.order.iter().filter(|(column, _)| self.equal(column).is_none());
        Ok(open.map(|(column, direction)| (column.as_str(), *direction)).collect())
    }

    fn candidate<'a>(
        &self,
        table: &'a Table,
        fields: Vec<Field>,
        mut columns: Vec<&'a str>,
        order: &[(&str, Direction)],
    ) -> Candidate<'a> {
        let is_primary = fields.is_empty();
        // Rows stand by the columns of the index, and then by those of the primary key.
        let ranged = if is_primary { table.key.len() } else { columns.len() };
        let key = table.key.iter().map(String::as_str).filter(|own| !columns.contains(own)).collect::<Vec<_>>();
        columns.extend(key);
        let front = columns[..ranged].iter().map_while(|column| self.equal(column));
        let (mut said, equal): (Vec<usize>, Vec<Value>) = front.unzip();
        let behind = &columns[equal.len()..ranged];
        let (asked, from, to) = behind.first().map_or((Next::Anything, None, None), |column| self.next(column));
        said.extend(from.iter().chain(&to).map(|(place, _)| *place).filter(|_| asked == Next::Range));
        let next = self.rank(asked, is_primary, behind);
        let open = columns[equal.len()..].iter().filter(|column| self.equal(column).is_none());
        let one_direction = order.iter().all(|(_, direction)| *direction == order[0].1);
        let is_ordered = one_direction && order.iter().zip(open).all(|((asked, _), own)| asked == own);
        let (from, to) = (from.map(|(_, bound)| bound), to.map(|(_, bound)| bound));
        let found = if is_primary { of_keys(&equal, from, to) } else { Some(of_index(&equal, from, to)) };
        let (equal, next) = if found.is_some() { (equal.len(), next) } else { (0, Next::Anything) };
        let (range, is_exact) = found.unwrap_or((KeyRange::all(), false));
        if !is_exact {
            said.clear();
        }
        Candidate { fields, columns, range, said, equal, next, is_ordered }
    }

    /// What is asked of the columns of an index behind those that are equal, of the first of which it is this.
    fn rank(&self, of_first: Next, is_primary: bool, behind: &[&str]) -> Next {
        match (of_first, behind) {
            (_, []) | (Next::Values, [_]) if is_primary => Next::Keys,
            (Next::Values, [_, second, ..]) if !is_primary && self.is_asked_of(second) => Next::ValuesAndMore,
            (other, _) => other,
        }
    }

    pub(super) fn equal(&self, column: &str) -> Option<(usize, Value)> {
        let of_column = self.conditions.iter().enumerate().filter(|(_, (own, _))| own == column);
        let mut values = of_column.filter_map(|(place, (_, test))| match test {
            Test::Equal(value) => Some((place, value.clone())),
            Test::OneOf(values) if values.len() == 1 => Some((place, values.first()?.clone())),
            Test::NotEqual(_)
            | Test::Less(_)
            | Test::AtMost(_)
            | Test::Greater(_)
            | Test::AtLeast(_)
            | Test::OneOf(_)
            | Test::BeginsWith(_)
            | Test::Contains(_) => None,
        });
        values.next()
    }

    /// Whether a column is to be equal, one of some values, or in a range.
    fn is_asked_of(&self, column: &str) -> bool {
        self.equal(column).is_some() || self.next(column).0 != Next::Anything
    }

    /// What is asked of the column behind those that are equal, and between what it lies.
    fn next(&self, column: &str) -> (Next, Option<Limit>, Option<Limit>) {
        let of_column = self.conditions.iter().enumerate().filter(|(_, (own, _))| own == column);
        let mut ends = of_column.filter_map(|(place, (_, test))| {
            let values = test.one_of()?;
            Some((place, values.first()?, values.last()?))
        });
        if let Some((place, first, last)) = ends.next() {
            let end = |value: &Value| Some((place, Bound::Included(value.clone())));
            return (Next::Values, end(first), end(last));
        }
        let (from, to) = self.bounds(column);
        let next = if from.is_some() || to.is_some() { Next::Range } else { Next::Anything };
        (next, from, to)
    }

    /// The first lower and the first upper bound of a column; what else is asked of it stays a condition.
    fn bounds(&self, column: &str) -> (Option<Limit>, Option<Limit>) {
        let (mut from, mut to) = (None, None);
        for (place, (_, test)) in self.conditions.iter().enumerate().filter(|(_, (own, _))| own == column) {
            let (lower, upper) = match test {
                Test::Less(value) => (None, Some(Bound::Excluded(value.clone()))),
                Test::AtMost(value) => (None, Some(Bound::Included(value.clone()))),
                Test::Greater(value) => (Some(Bound::Excluded(value.clone())), None),
                Test::AtLeast(value) => (Some(Bound::Included(value.clone())), None),
                Test::BeginsWith(text) if from.is_none() && to.is_none() => {
                    let end = end_of_beginning(text).map(Value::from);
                    (Some(Bound::Included(Value::from(&**text))), Some(end.map_or(Bound::Unbounded, Bound::Excluded)))
                }
                Test::Equal(_) | Test::NotEqual(_) | Test::OneOf(_) | Test::BeginsWith(_) | Test::Contains(_) => {
                    (None, None)
                }
            };
            from = from.or(lower.map(|bound| (place, bound)));
            to = to.or(upper.map(|bound| (place, bound)));
        }
        (from, to)
    }

    fn no_index(&self, name: &str, order: &[(&str, Direction)]) -> QuestionError {
        if order.iter().any(|(_, direction)| *direction != order[0].1) {
            return QuestionError::TwoDirections { table: name.into() };
        }
        let mut columns: Vec<String> = Vec::new();
        let equal = self.conditions.iter().filter(|(_, test)| matches!(test, Test::Equal(_)));
        for column in equal.map(|(column, _)| column.as_str()).chain(order.iter().map(|(column, _)| *column)) {
            if !columns.iter().any(|own| own == column) {
                columns.push(column.into());
            }
        }
        QuestionError::NoIndex { table: name.into(), columns }
    }
}

type Limit = (usize, Bound<Value>);

impl Candidate<'_> {
    /// The more, the fewer rows it is thought to read, and then the less it sorts.
    fn worth(&self) -> (bool, usize, Next, bool) {
        (self.next == Next::Keys, self.equal, self.next, self.is_ordered)
    }
}

impl Plan {
    /// Puts the answer in the order that was asked for. Rows that are equal in it stay in that of the index.
    pub(crate) fn sort(&self, rows: &mut [(RowKey, Row)]) {
        rows.sort_by(|(key, row), (other_key, other)| {
            let compared = self.sort.iter().map(|(field, direction)| {
                let order = field.value(key, row).cmp(&field.value(other_key, other));
                match direction {
                    Direction::Ascending => order,
                    Direction::Descending => order.reverse(),
                }
            });
            compared.into_iter().find(|order| order.is_ne()).unwrap_or(std::cmp::Ordering::Equal)
        });
    }
}

fn conditions(name: &str, table: &Table, asked: &[(String, Test)]) -> Result<Vec<Condition>, QuestionError> {
    let condition = |(column, test): &(String, Test)| {
        let unknown = || QuestionError::NoColumn { table: name.into(), column: column.clone() };
        Ok(Condition { field: table.field(column).ok_or_else(unknown)?, test: test.clone() })
    };
    asked.iter().map(condition).collect()
}

fn fields_of(table: &Table, order: &[(&str, Direction)]) -> Vec<(Field, Direction)> {
    order.iter().filter_map(|(column, direction)| Some((table.field(column)?, *direction))).collect()
}

/// The range, and whether it says all that its bounds do. No comparison by order holds for null.
fn of_index(equal: &[Value], from: Option<Bound<Value>>, to: Option<Bound<Value>>) -> (KeyRange, bool) {
    let from = match (from, &to) {
        (Some(from), _) => from,
        (None, Some(_)) => Bound::Excluded(Value::Null),
        (None, None) => Bound::Unbounded,
    };
    let found = IndexRange::new(equal, from.as_ref(), to.as_ref().map_or(Bound::Unbounded, Bound::as_ref));
    (found.range, !found.is_cut)
}

/// Of primary keys. None: a value is too long for a key.
fn of_keys(equal: &[Value], from: Option<Bound<Value>>, to: Option<Bound<Value>>) -> Option<(KeyRange, bool)> {
    let with = |value: &Value| KeyRange::prefix(&[equal, std::slice::from_ref(value)].concat()).ok();
    let all = KeyRange::prefix(equal).ok()?;
    let lower = match from {
        None | Some(Bound::Unbounded) => all.lower.clone(),
        Some(Bound::Included(value)) => with(&value)?.lower,
        Some(Bound::Excluded(value)) => with(&value)?.upper?,
    };
    let upper = match to {
        None | Some(Bound::Unbounded) => all.upper,
        Some(Bound::Included(value)) => with(&value)?.upper,
        Some(Bound::Excluded(value)) => Some(with(&value)?.lower),
    };
    Some((KeyRange { lower, upper }, true))
}

/// What all strings that begin so sort below, and no other string that sorts behind them does.
fn end_of_beginning(text: &str) -> Option<String> {
    let mut letters: Vec<char> = text.chars().collect();
    while let Some(last) = letters.pop() {
        let next = (u32::from(last) + 1..=u32::from(char::MAX)).find_map(char::from_u32);
        if let Some(next) = next {
            letters.push(next);
            return Some(letters.into_iter().collect());
        }
    }
    None
}
