//! Queries by columns: `tx.query::<Note>().filter(Note::OWNER.eq("ann")).order_by(Note::CREATED).limit(20).all()`.

use std::collections::BTreeMap;
use std::marker::PhantomData;

use iolite_client::{Alternative, Question};
use iolite_values::{ColumnType, Direction, Operation, Test, Value};

use super::kinds::{Checked, Counter, Register, Scalar, Set};
use super::{Column, Table};
use crate::error::{Abort, Result};
use crate::row::Record;
use crate::transaction::Transaction;

/// A type of columns that have one value in each row, which can be compared and put in order.
pub trait Comparable {
    /// The type of the values.
    type Of: Scalar;
}

/// A column of the key, of values of this type: it can be queried by, and not written.
pub struct InKey<S>(PhantomData<S>);

impl<S: Scalar> Comparable for InKey<S> {
    type Of = S;
}

impl<S: Scalar> Comparable for S {
    type Of = S;
}

impl<S: Scalar> Comparable for Option<S> {
    type Of = S;
}

impl<S: Scalar> Comparable for Register<S> {
    type Of = S;
}

impl Comparable for Counter {
    type Of = i64;
}

/// What a query asks of a row of table `T`.
pub struct Filter<T> {
    /// Of which one holds, or more.
    alternatives: Checked<Vec<Alternative>>,
    table: PhantomData<fn(T)>,
}

impl<T> Filter<T> {
    fn new(alternatives: Checked<Vec<Alternative>>) -> Filter<T> {
        Filter { alternatives, table: PhantomData }
    }

    /// This holds, or the other one, or both do. Alternatives choose no index: what else is asked does.
    pub fn or(self, other: Filter<T>) -> Filter<T> {
        let both = self.alternatives.and_then(|own| Ok((own, other.alternatives?)));
        Filter::new(both.map(|(own, others)| [own, others].concat()))
    }

    /// Both hold, which is for an alternative: what a whole query asks is one [`QueryBuilder::filter`] after the other. Where both have alternatives, each of
    /// these is asked with each of those.
    pub fn and(self, other: Filter<T>) -> Filter<T> {
        let both = self.alternatives.and_then(|own| Ok((own, other.alternatives?)));
        let pairs = |(own, others): (Vec<Alternative>, Vec<Alternative>)| {
            own.iter().flat_map(|one| others.iter().map(|other| [&one[..], other].concat())).collect()
        };
        Filter::new(both.map(pairs))
    }
}

impl<T, C> Column<T, C> {
    fn test(self, test: Checked<Test>) -> Filter<T> {
        Filter::new(test.map(|test| vec![vec![(self.name().to_owned(), test)]]))
    }
}

impl<T, C: Comparable> Column<T, C> {
    /// It has this value.
    #[allow(clippy::should_implement_trait, reason = "it makes a filter, as all its siblings do")]
    pub fn eq(self, value: impl Into<C::Of>) -> Filter<T> {
        self.test(value.into().to_value().map(Test::Equal))
    }

    /// It has another value, or is null.
    #[allow(clippy::should_implement_trait, reason = "it makes a filter, as all its siblings do")]
    pub fn ne(self, value: impl Into<C::Of>) -> Filter<T> {
        self.test(value.into().to_value().map(Test::NotEqual))
    }

    /// It is less. Null is not.
    pub fn less(self, value: impl Into<C::Of>) -> Filter<T> {
        self.test(value.into().to_value().map(Test::Less))
    }

    /// It is less or equal. Null is not.
    pub fn at_most(self, value: impl Into<C::Of>) -> Filter<T> {
        self.test(value.into().to_value().map(Test::AtMost))
    }

    /// It is greater. Null is not.
    pub fn greater(self, value: impl Into<C::Of>) -> Filter<T> {
        self.test(value.into().to_value().map(Test::Greater))
    }

    /// It is greater or equal. Null is not.
    pub fn at_least(self, value: impl Into<C::Of>) -> Filter<T> {
        self.test(value.into().to_value().map(Test::AtLeast))
    }

    /// It has one of these values.
    pub fn one_of<V: Into<C::Of>>(self, values: impl IntoIterator<Item = V>) -> Filter<T> {
        let values: Checked<_> = values.into_iter().map(|value| value.into().to_value()).collect();
        self.test(values.map(Test::OneOf))
    }
}

impl<T, C: Comparable<Of = String>> Column<T, C> {
    /// It begins with this text.
    pub fn begins_with(self, text: &str) -> Filter<T> {
        self.test(Ok(Test::BeginsWith(text.into())))
    }
}

impl<T, S: Scalar> Column<T, Option<S>> {
    /// It is null.
    pub fn is_null(self) -> Filter<T> {
        self.test(Ok(Test::Equal(Value::Null)))
    }

    /// It is not null.
    pub fn is_some(self) -> Filter<T> {
        self.test(Ok(Test::NotEqual(Value::Null)))
    }
}

impl<T, S: Scalar> Column<T, Set<S>> {
    /// The set has this member.
    pub fn has(self, member: impl Into<S>) -> Filter<T> {
        self.test(member.into().to_value().map(Test::Contains))
    }
}

/// A query that is being put together. Nothing is read before [`QueryBuilder::all`], [`QueryBuilder::first`] or [`QueryBuilder::count`].
#[must_use]
pub struct QueryBuilder<'t, 'a, T> {
    transaction: &'t mut Transaction<'a>,
    question: Question,
    /// That something is asked for which no column holds.
    problem: Option<Abort>,
    table: PhantomData<fn(T)>,
}

impl<'a> Transaction<'a> {
    /// Begins a query of a table. Which index answers it is found out: an order with a limit needs one.
    pub fn query<T: Table>(&mut self) -> QueryBuilder<'_, 'a, T> {
        QueryBuilder { transaction: self, question: Question::default(), problem: None, table: PhantomData }
    }
}

impl<T: Table> QueryBuilder<'_, '_, T> {
    /// Only rows that satisfy this, and what else is asked.
    pub fn filter(mut self, filter: Filter<T>) -> Self {
        match filter.alternatives {
            Ok(alternatives) => self.question.ask_any_of(alternatives),
            Err(problem) => self.problem = Some(problem.into()),
        }
        self
    }

    /// In the order of a column, the least first; then of the next one.
    pub fn order_by<C: Comparable>(mut self, column: Column<T, C>) -> Self {
        self.question.order.push((column.name().to_owned(), Direction::Ascending));
        self
    }

    /// In the order of a column, the greatest first; then of the next one.
    pub fn order_by_descending<C: Comparable>(mut self, column: Column<T, C>) -> Self {
        self.question.order.push((column.name().to_owned(), Direction::Descending));
        self
    }

    /// So many rows at most.
    pub fn limit(mut self, rows: usize) -> Self {
        self.question.limit = Some(rows);
        self
    }

    /// Only the rows that come after this one in the order of the query, or all of them for `None`: the next page, after the last row of one. Of the row
    /// only the columns of the key and of the index count; it may be gone by now. As with a limit, an index is needed.
    pub fn after<'r>(mut self, row: impl Into<Option<&'r T>>) -> Self
    where
        T: 'r,
    {
        match row.into().map(values).transpose() {
            Ok(after) => self.question.after = after,
            Err(problem) => self.problem = Some(problem),
        }
        self
    }

    /// The rows.
    ///
    /// # Errors
    /// [`Abort::Run`](crate::Abort::Run): as [`Transaction::row`], and an order with a limit, or after a row, that no index has.
    /// [`Abort::Mistake`](crate::Abort::Mistake): a condition, or the row to come after, has NaN.
    pub fn all(self) -> Result<Vec<T>> {
        self.records()?.iter().map(T::from_record).collect()
    }

    /// The first row; none of a limit of 0.
    ///
    /// # Errors
    /// As [`QueryBuilder::all`].
    pub fn first(self) -> Result<Option<T>> {
        let limit = self.question.limit.map_or(1, |own| own.min(1));
        Ok(self.limit(limit).all()?.pop())
    }

    /// How many rows there are. All of them are fetched to be counted.
    ///
    /// # Errors
    /// As [`QueryBuilder::all`].
    pub fn count(self) -> Result<usize> {
        Ok(self.records()?.len())
    }

    fn records(self) -> Result<Vec<Record>> {
        match self.problem {
            Some(problem) => Err(problem),
            None => self.transaction.ask(T::NAME, &self.question),
        }
    }
}

/// What a row has in the columns by which there can be an order.
fn values<T: Table>(row: &T) -> Result<BTreeMap<String, Value>> {
    let kinds: BTreeMap<&str, ColumnType> =
        T::columns().into_iter().map(|(name, definition)| (name, definition.column().kind)).collect();
    let written = row.content()?;
    let cells =
        written.iter().filter_map(|(name, operations)| Some((*name, written_by(operations, *kinds.get(name)?)?)));
    let key = T::key_columns().into_iter().zip(row.key()?);
    Ok(key.chain(cells).map(|(name, value)| (name.to_owned(), value)).collect())
}

/// The one value that operations give a new cell.
fn written_by(operations: &[Operation], kind: ColumnType) -> Option<Value> {
    match operations {
        [] if kind == ColumnType::Counter => Some(Value::Int(0)),
        [] => Some(Value::Null),
        [Operation::Put(value) | Operation::Assign(value)] => Some(value.clone()),
        [Operation::Add(total)] => Some(Value::Int(*total)),
        [..] => None,
    }
}
