//! Whether keys, reads and writes fit the schema. Clients check before they send and gateways before they commit: the same rules.

use super::{Column, ColumnType, QueryError, Scalar, Schema, Table};
use crate::{ColumnId, Effect, Element, Interest, KeyError, ListOrder, Operation, Read, RowKey, TableId, Value, Write};

/// Why a read or write does not fit the schema.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OperationError {
    #[error("there is no table with the number {0:?}: the app's schema and the server's differ")]
    UnknownTable(TableId),
    #[error("table {table:?} has no column with the number {column:?}: the app's schema and the server's differ")]
    UnknownColumn { table: String, column: ColumnId },
    #[error("column {column:?} of table {table:?} is a {is}, and it was asked {wants}")]
    Type { table: String, column: String, is: &'static str, wants: String },
    #[error("the key {key:?} does not fit the primary key of table {table:?}: {problem}")]
    Key { table: String, key: RowKey, problem: String },
    #[error(
        "table {table:?} merges, and was written by something else than an effect: use a client that makes effects"
    )]
    NoEffect { table: String },
    #[error(
        "column {column:?} of table {table:?} is written when its row is inserted, as the table merges: make it a register, a set or a counter"
    )]
    InsertedOnly { table: String, column: String },
    #[error("rows of the live table {table:?} are neither created nor deleted")]
    LifeOfLiveRow { table: String },
    #[error("one mutation writes to tables {first} and {other}, which do not commit together: make it two mutations")]
    TwoDomains { first: String, other: String },
    #[error(transparent)]
    Query(#[from] QueryError),
    #[error(transparent)]
    Malformed(#[from] KeyError),
}

impl Schema {
    /// # Errors
    /// [`OperationError`] naming the table, the column and what was asked of it.
    pub fn check_write(&self, write: &Write) -> Result<(), OperationError> {
        let (name, table) = self.find(write.cell.table)?;
        table.check_key_of(name, &write.cell.row)?;
        if table.merges() {
            let Operation::Merge(effect) = &write.operation else {
                return Err(OperationError::NoEffect { table: name.into() });
            };
            return table.check_effect(name, write.cell.column, effect);
        }
        let life = write.operation.is_of_life();
        if write.cell.column == ColumnId::ROW && life && table.live {
            return Err(OperationError::LifeOfLiveRow { table: name.into() });
        }
        if write.cell.column == ColumnId::ROW && life {
            return Ok(());
        }
        let (column_name, column) = table.find_column(name, write.cell.column)?;
        if column.accepts(table.stored_kind(column.kind), &write.operation) {
            return Ok(());
        }
        Err(column.refuses(name, column_name, &write.operation))
    }

    /// # Errors
    /// As [`Schema::check_write`].
    pub fn check_read(&self, read: &Read) -> Result<(), OperationError> {
        self.check_interest(&read.interest())?;
        let Read::Cell { cell, element } = read else { return Ok(()) };
        let (name, table) = self.find(cell.table)?;
        if cell.column == ColumnId::ROW {
            return Ok(());
        }
        let (column_name, column) = table.find_column(name, cell.column)?;
        let fits = match (element, column.kind) {
            (Element::Whole, _)
            | (Element::Entry(_), ColumnType::Map(_))
            | (Element::Index(_) | Element::Slice { .. }, ColumnType::List { .. })
            | (Element::Author(_), ColumnType::Text) => true,
            (Element::Member(value) | Element::UpTo(value), ColumnType::Set(of)) => of.holds(value),
            (
                Element::Member(_)
                | Element::UpTo(_)
                | Element::Entry(_)
                | Element::Index(_)
                | Element::Slice { .. }
                | Element::Author(_),
                _,
            ) => false,
        };
        if fits {
            return Ok(());
        }
        let wants = part_in_words(element);
        Err(OperationError::Type { table: name.into(), column: column_name.into(), is: column.kind.name(), wants })
    }

    /// # Errors
    /// As [`Schema::check_write`].
    pub fn check_interest(&self, interest: &Interest) -> Result<(), OperationError> {
        let (name, table) = self.find(interest.table())?;
        match interest {
            Interest::Range { .. } => Ok(()),
            Interest::Query(query) => Ok(table.check_query(name, query)?),
            Interest::Cell(cell) => {
                table.check_key_of(name, &cell.row)?;
                if cell.column != ColumnId::ROW {
                    table.find_column(name, cell.column)?;
                }
                Ok(())
            }
        }
    }

    /// The table's name and definition.
    ///
    /// # Errors
    /// [`OperationError::UnknownTable`].
    pub fn find(&self, id: TableId) -> Result<(&str, &Table), OperationError> {
        let name = self.table_name(id).ok_or(OperationError::UnknownTable(id))?;
        Ok((name, self.table_by_id(id).ok_or(OperationError::UnknownTable(id))?))
    }
}

impl Table {
    /// # Errors
    /// [`OperationError::Key`] when the number or the types of the values are not those of the primary key.
    pub fn check_key_of(&self, name: &str, row: &RowKey) -> Result<(), OperationError> {
        self.key_problem(&row.values()?)
            .map_or(Ok(()), |problem| Err(OperationError::Key { table: name.into(), key: row.clone(), problem }))
    }

    fn check_effect(&self, name: &str, column: ColumnId, effect: &Effect) -> Result<(), OperationError> {
        let (column_name, is, fits) = match column {
            ColumnId::ROW => ("", "row", effect.is_of_lives()),
            _ => {
                let (column_name, column) = self.find_column(name, column)?;
                (column_name, column.kind.name(), column.merges(effect))
            }
        };
        if fits {
            return Ok(());
        }
        let wants = "for an effect of another type".into();
        Err(OperationError::Type { table: name.into(), column: column_name.into(), is, wants })
    }

    fn key_problem(&self, values: &[Value]) -> Option<String> {
        if values.len() != self.key.len() {
            return Some(format!("it has {} values and the primary key {} columns", values.len(), self.key.len()));
        }
        let wrong = self.key_types().zip(values).zip(&self.key).find(|((scalar, value), _)| !scalar.holds(value));
        wrong.map(|((scalar, value), column)| {
            format!("column {column:?} is of type {}, not {}", scalar.name(), value.kind())
        })
    }

    pub(super) fn find_column(&self, name: &str, id: ColumnId) -> Result<(&str, &Column), OperationError> {
        let found = self.column(id).filter(|(column, _)| !self.key.iter().any(|key| key == column));
        found.ok_or_else(|| OperationError::UnknownColumn { table: name.into(), column: id })
    }
}

impl Column {
    pub(super) fn holds(&self, scalar: Scalar, value: &Value) -> bool {
        scalar.holds(value) || (self.optional && *value == Value::Null)
    }

    pub(super) fn refuses(&self, table: &str, own: &str, operation: &Operation) -> OperationError {
        let (is, wants) = (self.kind.name(), in_words(operation));
        OperationError::Type { table: table.into(), column: own.into(), is, wants }
    }

    pub(super) fn accepts(&self, kind: ColumnType, operation: &Operation) -> bool {
        match (operation, kind) {
            (Operation::Put(value), ColumnType::Scalar(scalar))
            | (Operation::Assign(value), ColumnType::Register(scalar)) => self.holds(scalar, value),
            (Operation::Add(_) | Operation::PutTotal(_), ColumnType::Counter) => true,
            (Operation::Insert(value) | Operation::Remove(value), ColumnType::Set(of)) => of.holds(value),
            (Operation::Append { value, order }, ColumnType::List { of, order: own }) => {
                *order == own && of.holds(value)
            }
            (Operation::SetAt { index: _, value }, ColumnType::List { of, order: _ }) => of.holds(value),
            (Operation::PutEntry { key: _, value }, ColumnType::Map(of)) => of.holds(value),
            (Operation::RemoveEntry { .. }, ColumnType::Map(_)) => true,
            (Operation::Edit(edit), ColumnType::Text) => edit.check().is_ok(),
            (
                Operation::Create
                | Operation::Delete
                | Operation::Put(_)
                | Operation::Assign(_)
                | Operation::Add(_)
                | Operation::PutTotal(_)
                | Operation::Insert(_)
                | Operation::Remove(_)
                | Operation::Append { .. }
                | Operation::SetAt { .. }
                | Operation::PutEntry { .. }
                | Operation::RemoveEntry { .. }
                | Operation::Edit(_)
                | Operation::Merge(_),
                _,
            ) => false,
        }
    }
}

/// Of values their types only: they may be long, and others' secrets.
fn in_words(operation: &Operation) -> String {
    let (what, value) = match operation {
        Operation::Create => return "to create the row".into(),
        Operation::Delete => return "to delete the row".into(),
        Operation::Add(_) => return "to add to a counter".into(),
        Operation::PutTotal(_) => return "to put a counter's total".into(),
        Operation::RemoveEntry { key: _ } => return "to remove an entry".into(),
        Operation::Edit(_) => return "to edit a text".into(),
        Operation::Merge(_) => return "to merge an effect".into(),
        Operation::Put(value) => ("put", value),
        Operation::Assign(value) => ("assign", value),
        Operation::Insert(value) => ("insert a member", value),
        Operation::Remove(value) => ("remove a member", value),
        Operation::Append { value, order: ListOrder::Strict } => ("append in strict order", value),
        Operation::Append { value, order: ListOrder::Commit } => ("append in the order of commits", value),
        Operation::SetAt { index: _, value } => ("set an element", value),
        Operation::PutEntry { key: _, value } => ("put an entry", value),
    };
    format!("to {what}: {}", type_of(value))
}

fn part_in_words(element: &Element) -> String {
    match element {
        Element::Whole => "for all that it holds".into(),
        Element::Member(value) | Element::UpTo(value) => format!("for a member: {}", type_of(value)),
        Element::Entry(_) => "for an entry".into(),
        Element::Index(_) => "for an element".into(),
        Element::Slice { .. } => "for a part of a list".into(),
        Element::Author(_) => "for what an author wrote".into(),
    }
}

fn type_of(value: &Value) -> String {
    match value {
        Value::Float(number) if Value::float(*number).is_ok_and(|made| made == *value) => "float".into(),
        Value::Float(number) => format!("{number:?}, which has no encoding"),
        Value::Null
        | Value::Bool(_)
        | Value::Int(_)
        | Value::String(_)
        | Value::Bytes(_)
        | Value::Id(_)
        | Value::Blob(_) => value.kind().to_string(),
    }
}
