//! The types that a column can have in a struct.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Deref;
use std::sync::Arc;

use iolite_values::{Blob, ColumnType, Edit, Id, ListOrder, Operation, Value, ValueError};

use crate::error::{Abort, Result};
use crate::row::{FromValue, Record};

/// A type of a column.
pub trait ColumnKind: Sized {
    /// Whether it may be null.
    const OPTIONAL: bool = false;
    /// What it is in the schema.
    fn column_type() -> ColumnType;
    /// Reads it from a row.
    ///
    /// # Errors
    /// [`Abort::Mistake`] when the column is of another type.
    fn read(record: &Record, column: &str) -> Result<Self>;
    /// What leads from nothing to this.
    ///
    /// # Errors
    /// As [`Scalar::to_value`].
    fn operations(&self, order: ListOrder) -> Checked<Vec<Operation>>;
    /// The default of a column of this type.
    #[doc(hidden)]
    fn default_value(value: Value) -> Value {
        value
    }
}

/// What can be stored.
pub(crate) type Checked<T> = std::result::Result<T, ValueError>;

/// A type of single values: bool, i64, f64, String, `Vec<u8>`, [`Id`], [`Blob`].
pub trait Scalar: FromValue + Sealed {
    /// What it is in the schema.
    const SCALAR: iolite_values::Scalar;
    /// The value.
    ///
    /// # Errors
    /// [`ValueError::NotANumber`]: a float that is NaN.
    fn to_value(&self) -> Checked<Value>;
}

/// Not for use: keeps the list of scalars closed.
#[doc(hidden)]
pub trait Sealed {}

/// A number that is added to, without conflicts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Counter(pub i64);

/// A value of which the last one written counts, without conflicts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Register<S>(pub S);

/// Members, sorted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Set<S>(pub Vec<S>);

/// Elements, in the order that the schema says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct List<S>(pub Vec<S>);

/// Entries by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Map<S>(pub BTreeMap<String, S>);

/// What several people write at the same time. Positions and lengths are in UTF-16 units, as in every language of Iolite.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Text(pub String);

macro_rules! scalar {
    ($type:ty, $scalar:ident, $own:ident => $value:expr) => {
        impl Sealed for $type {}

        impl Scalar for $type {
            const SCALAR: iolite_values::Scalar = iolite_values::Scalar::$scalar;

            fn to_value(&self) -> Checked<Value> {
                let $own = self;
                $value
            }
        }

        impl ColumnKind for $type {
            fn column_type() -> ColumnType {
                ColumnType::Scalar(<$type as Scalar>::SCALAR)
            }

            fn read(record: &Record, column: &str) -> Result<$type> {
                record.get(column)
            }

            fn operations(&self, _order: ListOrder) -> Checked<Vec<Operation>> {
                Ok(vec![Operation::Put(self.to_value()?)])
            }
        }
    };
}

scalar!(bool, Bool, value => Ok(Value::Bool(*value)));
scalar!(i64, Int, value => Ok(Value::Int(*value)));
scalar!(f64, Float, value => Value::float(*value));
scalar!(String, String, value => Ok(Value::from(value.as_str())));
scalar!(Vec<u8>, Bytes, value => Ok(Value::bytes(value)));
scalar!(Id, Id, value => Ok(Value::Id(*value)));
scalar!(Blob, Blob, value => Ok(Value::from(value.clone())));

impl<S: Scalar> ColumnKind for Option<S> {
    const OPTIONAL: bool = true;

    fn column_type() -> ColumnType {
        ColumnType::Scalar(S::SCALAR)
    }

    fn read(record: &Record, column: &str) -> Result<Option<S>> {
        record.get(column)
    }

    fn operations(&self, _order: ListOrder) -> Checked<Vec<Operation>> {
        self.iter().map(|value| value.to_value().map(Operation::Put)).collect()
    }
}

impl ColumnKind for Counter {
    fn column_type() -> ColumnType {
        ColumnType::Counter
    }

    fn read(record: &Record, column: &str) -> Result<Counter> {
        record.counter(column).map(Counter)
    }

    fn operations(&self, _order: ListOrder) -> Checked<Vec<Operation>> {
        Ok(if self.0 == 0 { Vec::new() } else { vec![Operation::Add(self.0)] })
    }
}

impl ColumnKind for Text {
    fn column_type() -> ColumnType {
        ColumnType::Text
    }

    fn read(record: &Record, column: &str) -> Result<Text> {
        record.text(column).map(Text)
    }

    fn operations(&self, _order: ListOrder) -> Checked<Vec<Operation>> {
        Ok(if self.0.is_empty() { Vec::new() } else { vec![Operation::Edit(Edit::first(&self.0).into())] })
    }
}

impl Deref for Text {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Text {
        Text(text.to_owned())
    }
}

impl<S: Scalar> ColumnKind for Register<S> {
    fn column_type() -> ColumnType {
        ColumnType::Register(S::SCALAR)
    }

    fn read(record: &Record, column: &str) -> Result<Register<S>> {
        record.get(column).map(Register)
    }

    fn operations(&self, _order: ListOrder) -> Checked<Vec<Operation>> {
        Ok(vec![Operation::Assign(self.0.to_value()?)])
    }
}

impl<S: Scalar> ColumnKind for Set<S> {
    fn column_type() -> ColumnType {
        ColumnType::Set(S::SCALAR)
    }

    fn read(record: &Record, column: &str) -> Result<Set<S>> {
        values(column, record.set(column)?.iter()).map(Set)
    }

    fn operations(&self, _order: ListOrder) -> Checked<Vec<Operation>> {
        let members: BTreeSet<Value> = self.0.iter().map(Scalar::to_value).collect::<Checked<_>>()?;
        Ok(members.into_iter().map(Operation::Insert).collect())
    }
}

impl<S: Scalar> ColumnKind for List<S> {
    fn column_type() -> ColumnType {
        ColumnType::List { of: S::SCALAR, order: ListOrder::Strict }
    }

    fn read(record: &Record, column: &str) -> Result<List<S>> {
        values(column, record.list(column)?.iter()).map(List)
    }

    fn operations(&self, order: ListOrder) -> Checked<Vec<Operation>> {
        self.0.iter().map(|value| Ok(Operation::Append { value: value.to_value()?, order })).collect()
    }
}

impl<S: Scalar> ColumnKind for Map<S> {
    fn column_type() -> ColumnType {
        ColumnType::Map(S::SCALAR)
    }

    fn read(record: &Record, column: &str) -> Result<Map<S>> {
        let entries = record.map(column)?;
        entries.iter().map(|(key, entry)| Ok((key.to_string(), value(column, entry)?))).collect::<Result<_>>().map(Map)
    }

    fn operations(&self, _order: ListOrder) -> Checked<Vec<Operation>> {
        let entries = self.0.iter();
        entries
            .map(|(key, value)| Ok(Operation::PutEntry { key: Arc::from(key.as_str()), value: value.to_value()? }))
            .collect()
    }
}

fn values<'a, S: Scalar>(column: &str, values: impl Iterator<Item = &'a Value>) -> Result<Vec<S>> {
    values.map(|own| value(column, own)).collect()
}

/// `None` is null.
pub(crate) fn nullable<S: Scalar>(value: Option<S>) -> Checked<Value> {
    value.map_or(Ok(Value::Null), |value| value.to_value())
}

pub(crate) fn value<S: FromValue>(column: &str, value: &Value) -> Result<S> {
    S::from_value(value).ok_or_else(|| Abort::Mistake(format!("column {column:?} holds {value:?}, not {}", S::NAME)))
}

macro_rules! collection {
    ($name:ident, $content:ty) => {
        impl<S> Deref for $name<S> {
            type Target = $content;

            fn deref(&self) -> &$content {
                &self.0
            }
        }

        impl<S> Default for $name<S> {
            fn default() -> $name<S> {
                $name(Default::default())
            }
        }
    };
}

collection!(Set, Vec<S>);
collection!(List, Vec<S>);
collection!(Map, BTreeMap<String, S>);
