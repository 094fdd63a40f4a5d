//! Secondary indexes, and whether a query fits the schema.

use super::{Column, ColumnType, Scalar, SchemaError, Table, check_name};
use crate::{ColumnId, Condition, Field, IndexKey, Query, Test, Value};

/// Why a query does not fit the schema.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QueryError {
    #[error("table {table:?} has no index of the fields {fields:?}: declare one in the schema")]
    NoIndex { table: String, fields: Vec<Field> },
    #[error(
        "table {table:?} has no field {field:?} that a query could ask for: the app's schema and the server's differ"
    )]
    NoField { table: String, field: Field },
    #[error("column {column:?} of table {table:?} is a {is}, and a query asked of it whether it is {asked}")]
    Type { table: String, column: String, is: &'static str, asked: String },
    #[error("a query of table {table:?} says that its rows are {said}, and they are not")]
    Life { table: String, said: &'static str },
    #[error(
        "one alternative of a query of table {table:?} asks nothing, or there is none: every one has to ask something"
    )]
    NoAlternative { table: String },
    #[error("a query of table {table:?} has more than {max} {what}: ask for less, and filter what you get")]
    TooMany { table: String, what: &'static str, max: usize },
}

impl Table {
    pub const INDEXES_MAX: usize = 64;
    pub const INDEX_COLUMNS_MAX: usize = 8;

    /// The same table with one more index: `columns` in the order in which rows are sorted by them, and then by the primary key.
    ///
    /// # Errors
    /// A name that is taken or no name, no columns or too many, one twice, one that is not there or has no single value.
    pub fn indexed(mut self, table: &str, index: &str, columns: Vec<String>) -> Result<Table, SchemaError> {
        let error = |problem: String| Err(SchemaError::new(table, "", format!("index {index:?}: {problem}")));
        if let Err(problem) = check_name(index) {
            return error(problem);
        }
        if columns.is_empty() || columns.len() > Table::INDEX_COLUMNS_MAX {
            return error(format!("it needs 1 to {} columns", Table::INDEX_COLUMNS_MAX));
        }
        for (place, name) in columns.iter().enumerate() {
            match self.columns.get(name) {
                None => return error(format!("there is no column {name:?}")),
                Some(_) if columns[..place].contains(name) => return error(format!("it names column {name:?} twice")),
                Some(column) if !column.has_one_value() => {
                    return error(format!("column {name:?} is a {}, which has no order", column.kind.name()));
                }
                Some(_) => {}
            }
        }
        if self.indexes.len() >= Table::INDEXES_MAX {
            return error(format!("a table has at most {} indexes", Table::INDEXES_MAX));
        }
        if self.indexes.insert(index.to_owned(), columns).is_some() {
            return error("there is one of this name already".into());
        }
        Ok(self)
    }

    /// How a query names a column.
    pub fn field(&self, name: &str) -> Option<Field> {
        if let Some(place) = self.key.iter().position(|own| own == name) {
            return Some(Field::Key(u16::try_from(place).ok()?));
        }
        let column = self.columns.get(name)?;
        Some(Field::Cell { column: ColumnId::of(name), absent: column.absent() })
    }

    /// The fields of an index.
    pub fn index_fields(&self, index: &str) -> Option<Vec<Field>> {
        self.indexes.get(index)?.iter().map(|name| self.field(name)).collect()
    }

    /// # Errors
    /// [`QueryError`] naming what was asked for.
    pub(super) fn check_query(&self, name: &str, query: &Query) -> Result<(), QueryError> {
        let table = || name.to_owned();
        if query.live != self.live {
            let said = if query.live { "there without being created" } else { "created" };
            return Err(QueryError::Life { table: table(), said });
        }
        let is_declared = || self.indexes.keys().any(|own| self.index_fields(own).as_ref() == Some(&query.index));
        if !query.index.is_empty() && !is_declared() {
            return Err(QueryError::NoIndex { table: table(), fields: query.index.clone() });
        }
        if query.every_condition().count() > Query::CONDITIONS_MAX {
            return Err(QueryError::TooMany { table: table(), what: "conditions", max: Query::CONDITIONS_MAX });
        }
        if query.conditions_bytes() > Query::CONDITIONS_BYTES_MAX {
            let max = Query::CONDITIONS_BYTES_MAX;
            return Err(QueryError::TooMany { table: table(), what: "bytes in its conditions", max });
        }
        let bounds = [&query.range, &query.keys]
            .map(|range| [range.lower.len(), range.upper.as_ref().map_or(0, |own| own.len())]);
        if bounds.into_iter().flatten().any(|length| length > IndexKey::MAX_BYTES + 1) {
            return Err(QueryError::TooMany { table: table(), what: "bytes in a bound", max: IndexKey::MAX_BYTES + 1 });
        }
        if query.any_of.iter().any(|any_of| any_of.0.is_empty() || any_of.0.iter().any(Vec::is_empty)) {
            return Err(QueryError::NoAlternative { table: table() });
        }
        query.every_condition().try_for_each(|condition| self.check_condition(name, condition))
    }

    fn check_condition(&self, name: &str, Condition { field, test }: &Condition) -> Result<(), QueryError> {
        let named = match field {
            Field::Key(place) => {
                self.key.get(usize::from(*place)).and_then(|own| Some((own.as_str(), self.columns.get(own)?)))
            }
            Field::Cell { column, absent: _ } => self.column(*column),
        };
        let Some((column_name, column)) = named.filter(|(own, _)| self.field(own).as_ref() == Some(field)) else {
            return Err(QueryError::NoField { table: name.into(), field: field.clone() });
        };
        if matches!(test, Test::OneOf(all) if all.len() > Test::VALUES_MAX) {
            return Err(QueryError::TooMany { table: name.into(), what: "values to be one of", max: Test::VALUES_MAX });
        }
        if column.can_be_asked(test) {
            return Ok(());
        }
        let (is, asked) = (column.kind.name(), in_words(test));
        Err(QueryError::Type { table: name.into(), column: column_name.into(), is, asked })
    }
}

impl Column {
    /// What its cell counts as where nothing was written.
    pub fn absent(&self) -> Value {
        match self.kind {
            ColumnType::Counter => Value::Int(0),
            ColumnType::Scalar(_)
            | ColumnType::Register(_)
            | ColumnType::Set(_)
            | ColumnType::List { .. }
            | ColumnType::Map(_)
            | ColumnType::Text => self.initial().unwrap_or(Value::Null),
        }
    }

    /// The type of its one value, if queries may look at it.
    fn scalar(&self) -> Option<Scalar> {
        match self.kind {
            ColumnType::Scalar(Scalar::Blob) | ColumnType::Register(Scalar::Blob) => None,
            ColumnType::Scalar(scalar) | ColumnType::Register(scalar) => Some(scalar),
            ColumnType::Counter => Some(Scalar::Int),
            ColumnType::Set(_) | ColumnType::List { .. } | ColumnType::Map(_) | ColumnType::Text => None,
        }
    }

    /// Whether rows can be ordered by it. A blob's order says nothing of its content.
    pub fn has_one_value(&self) -> bool {
        self.scalar().is_some()
    }

    fn can_be_asked(&self, test: &Test) -> bool {
        match (test, self.kind, self.scalar()) {
            (Test::Contains(value), ColumnType::Set(of), _) => of.holds(value),
            (Test::Contains(_), _, _) => false,
            (Test::BeginsWith(_), _, scalar) => scalar == Some(Scalar::String),
            (Test::Equal(_) | Test::NotEqual(_) | Test::OneOf(_), _, Some(scalar)) => {
                test.values().all(|value| self.holds(scalar, value))
            }
            (Test::Less(_) | Test::AtMost(_) | Test::Greater(_) | Test::AtLeast(_), _, Some(scalar)) => {
                test.values().all(|value| scalar.holds(value))
            }
            (_, _, None) => false,
        }
    }
}

/// Of values their types only: they may be long, and others' secrets.
fn in_words(test: &Test) -> String {
    let (is, value) = match test {
        Test::OneOf(values) => return format!("one of {} values", values.len()),
        Test::BeginsWith(_) => return "a string with a certain beginning".into(),
        Test::Equal(value) => ("equal to", value),
        Test::NotEqual(value) => ("not equal to", value),
        Test::Less(value) => ("less than", value),
        Test::AtMost(value) => ("at most", value),
        Test::Greater(value) => ("greater than", value),
        Test::AtLeast(value) => ("at least", value),
        Test::Contains(value) => ("a set with a member", value),
    };
    format!("{is}: {}", value.kind())
}
