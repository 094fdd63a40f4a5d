//! Rows as apps read them: by column name.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use iolite_values::{Blob, CellState, Column, ColumnId, ColumnType, Id, Row, Table, Value};

use crate::error::{Abort, Result};

/// A row, and the values of its key.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    key: Vec<Value>,
    row: Row,
    /// Of the columns that were never written.
    defaults: BTreeMap<ColumnId, CellState>,
    /// What texts say, where that is known already.
    texts: BTreeMap<ColumnId, String>,
}

/// A type that a scalar or register column reads as.
pub trait FromValue: Sized {
    /// What the type is called in messages.
    const NAME: &'static str;

    /// `None` when the value is of another type.
    fn from_value(value: &Value) -> Option<Self>;
}

/// What a column that was never written holds, if its schema gives it something.
pub(crate) fn default_state(column: &Column) -> Option<CellState> {
    let default = column.default.clone()?;
    match column.kind {
        ColumnType::Scalar(_) => Some(CellState::Scalar(default)),
        ColumnType::Register(_) => Some(CellState::Register(default)),
        ColumnType::Counter | ColumnType::Set(_) | ColumnType::List { .. } | ColumnType::Map(_) | ColumnType::Text => {
            None
        }
    }
}

impl Record {
    pub(crate) fn new(table: &Table, key: Vec<Value>, row: Row) -> Record {
        let defaults = table.data_columns().filter_map(|(name, column)| {
            let (id, state) = (ColumnId::of(name), default_state(column)?);
            row.cell(id).is_none().then_some((id, state))
        });
        Record { key, defaults: defaults.collect(), row, texts: BTreeMap::new() }
    }

    pub(crate) fn with_texts(self, texts: BTreeMap<ColumnId, String>) -> Record {
        Record { texts, ..self }
    }

    /// The values of the key columns, in the schema's order.
    pub fn key(&self) -> &[Value] {
        &self.key
    }

    /// A scalar or register. A column that was never written reads as its default, or as null.
    ///
    /// # Errors
    /// [`Abort::Mistake`] when the column holds another type.
    pub fn get<T: FromValue>(&self, column: &str) -> Result<T> {
        let value = match self.cell(column) {
            Some(CellState::Scalar(value) | CellState::Register(value)) => value,
            None => &Value::Null,
            Some(other) => return Err(mistake(column, other.name(), T::NAME)),
        };
        T::from_value(value)
            .ok_or_else(|| Abort::Mistake(format!("column {column:?} holds {value:?}, not {}", T::NAME)))
    }

    /// A counter.
    ///
    /// # Errors
    /// As [`Record::get`].
    pub fn counter(&self, column: &str) -> Result<i64> {
        match self.cell(column) {
            None => Ok(0),
            Some(CellState::Counter(total)) => Ok(*total),
            Some(other) => Err(mistake(column, other.name(), "counter")),
        }
    }

    /// The members of a set, sorted.
    ///
    /// # Errors
    /// As [`Record::get`].
    pub fn set(&self, column: &str) -> Result<BTreeSet<Value>> {
        match self.cell(column) {
            None => Ok(BTreeSet::new()),
            Some(CellState::Set(set)) => Ok(set.clone()),
            Some(other) => Err(mistake(column, other.name(), "set")),
        }
    }

    /// The elements of a list.
    ///
    /// # Errors
    /// As [`Record::get`].
    pub fn list(&self, column: &str) -> Result<Vec<Value>> {
        match self.cell(column) {
            None => Ok(Vec::new()),
            Some(CellState::List(list)) => Ok(list.clone()),
            Some(other) => Err(mistake(column, other.name(), "list")),
        }
    }

    /// The entries of a map.
    ///
    /// # Errors
    /// As [`Record::get`].
    pub fn map(&self, column: &str) -> Result<BTreeMap<Arc<str>, Value>> {
        match self.cell(column) {
            None => Ok(BTreeMap::new()),
            Some(CellState::Map(map)) => Ok(map.clone()),
            Some(other) => Err(mistake(column, other.name(), "map")),
        }
    }

    /// What a text says.
    ///
    /// # Errors
    /// As [`Record::get`].
    pub fn text(&self, column: &str) -> Result<String> {
        match (self.cell(column), self.texts.get(&ColumnId::of(column))) {
            (None, _) => Ok(String::new()),
            (Some(CellState::Text(_)), Some(known)) => Ok(known.clone()),
            (Some(CellState::Text(text)), None) => Ok(iolite_text::string_of(text)),
            (Some(other), _) => Err(mistake(column, other.name(), "text")),
        }
    }

    fn cell(&self, column: &str) -> Option<&CellState> {
        let column = ColumnId::of(column);
        self.row.cell(column).or_else(|| self.defaults.get(&column))
    }
}

fn mistake(column: &str, is: &str, wants: &str) -> Abort {
    Abort::Mistake(format!("column {column:?} is a {is}, not a {wants}"))
}

macro_rules! from_value {
    ($type:ty, $name:literal, $pattern:pat => $value:expr) => {
        impl FromValue for $type {
            const NAME: &'static str = $name;

            fn from_value(value: &Value) -> Option<$type> {
                match value {
                    $pattern => Some($value),
                    _ => None,
                }
            }
        }
    };
}

from_value!(bool, "bool", Value::Bool(value) => *value);
from_value!(i64, "int", Value::Int(value) => *value);
from_value!(f64, "float", Value::Float(value) => *value);
from_value!(String, "string", Value::String(text) => text.to_string());
from_value!(Vec<u8>, "bytes", Value::Bytes(bytes) => bytes.to_vec());
from_value!(Id, "id", Value::Id(id) => *id);
from_value!(Blob, "blob", Value::Blob(blob) => Blob::clone(blob));

impl<T: FromValue> FromValue for Option<T> {
    const NAME: &'static str = T::NAME;

    fn from_value(value: &Value) -> Option<Option<T>> {
        match value {
            Value::Null => Some(None),
            value => T::from_value(value).map(Some),
        }
    }
}
