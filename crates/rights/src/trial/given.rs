//! Rows, keys and changes as JSON, read by the types of the schema.
//!
//! Invariant: a value is read as its column's type, or it is an error that names table and column. Nothing is guessed.

use iolite_values::{
    Author, Cell, Column, ColumnId, ColumnType, Edit, Insertion, LogId, Operation, RowKey, Scalar, Schema, Table,
    TableId, Unit, Value, Write,
};
use serde_json::{Map, Value as Json};

use super::Mistake;
use crate::RowName;

/// The changes of a column by name, as rights name them.
const OPERATIONS: &str = "add, insert, remove, append, setAt, putEntry, removeEntry or edit";

/// The authors of texts: of those that a row begins with, and of edits of these.
const FIRST_AUTHOR: Author = Author(1);
const LATER_AUTHOR: Author = Author(2);

/// A table whose rules are tried.
pub(crate) fn table<'a>(schema: &'a Schema, name: &str) -> Result<&'a Table, Mistake> {
    let Some(table) = schema.table(name) else {
        let names: Vec<&str> = schema.tables().map(|(name, _)| name).collect();
        return Err(Mistake::new(format!("the schema has no table {name:?}: there are {}", names.join(", "))));
    };
    if let Some(log) = table.log() {
        let problem = "so nobody writes it: ask about \"join\" and \"run\" of the log";
        return Err(Mistake::new(format!("table {name:?} is of log {log:?}, {problem}")));
    }
    if table.merges() {
        return Err(Mistake::new(format!(
            "table {name:?} merges, and rules of such tables are not tried yet: ask about another table"
        )));
    }
    Ok(table)
}

/// An operation of an app as a store gets it: scalars of an eventual table are registers, and the first content of a text has an author.
pub(crate) fn as_stored(table: &Table, operation: Operation) -> Operation {
    match operation {
        Operation::Put(value) => table.put(value),
        Operation::Edit(own) => match own.as_first() {
            Some(text) => edit(FIRST_AUTHOR, text),
            None => Operation::Edit(own),
        },
        operation => operation,
    }
}

/// The place of a column, for mistakes.
struct Place<'a> {
    table: &'a str,
    column: &'a str,
}

impl Place<'_> {
    fn wrong<T>(&self, problem: impl std::fmt::Display) -> Result<T, Mistake> {
        Err(Mistake::new(format!("table {:?}, column {:?}: {problem}", self.table, self.column)))
    }

    fn scalar(&self, scalar: Scalar, optional: bool, json: &Json) -> Result<Value, Mistake> {
        if json.is_null() && optional {
            return Ok(Value::Null);
        }
        let read = scalar.from_json(json).filter(|_| !json.is_null());
        read.map_or_else(|| self.wrong(format!("{} is no value of type {}", short(json), scalar.name())), Ok)
    }
}

/// A row by its key: the values of the key's columns in an array, or the value of its one column.
pub(crate) fn row_name(schema: &Schema, name: &str, key: &Json) -> Result<RowName, Mistake> {
    let table = table(schema, name)?;
    let values = match key {
        Json::Array(values) => values.as_slice(),
        one => std::slice::from_ref(one),
    };
    if values.len() != table.key.len() {
        let wanted = table.key.join(", ");
        return Err(Mistake::new(format!(
            "the key of table {name:?} has {} columns ({wanted}), and {} values were given: give these, in an array",
            table.key.len(),
            values.len()
        )));
    }
    let columns = table.key.iter().zip(table.key_types());
    let values = columns.zip(values).map(|((column, scalar), json)| {
        let place = Place { table: name, column };
        place.scalar(scalar, false, json)
    });
    let values = values.collect::<Result<Vec<_>, _>>()?;
    let key = RowKey::new(&values).map_err(|error| Mistake::new(format!("table {name:?}: {error}")))?;
    Ok(RowName { table: TableId::of(name), key })
}

/// A log by the value that names its instance.
pub(crate) fn log(schema: &Schema, name: &str, instance: &Json) -> Result<LogId, Mistake> {
    let own = schema.tables().find(|(_, table)| table.log().is_some_and(|log| **log == *name));
    let Some((table_name, table)) = own else {
        let names: Vec<&str> = schema.logs().keys().map(String::as_str).collect();
        return Err(Mistake::new(format!("the schema has no log {name:?}: there are {}", names.join(", "))));
    };
    let (Some(column), Some(scalar)) = (table.key.first(), table.key_types().next()) else {
        return Err(Mistake::new(format!("log {name:?} has no instances")));
    };
    let instance = Place { table: table_name, column }.scalar(scalar, false, instance)?;
    LogId::new(name, &instance).map_err(|error| Mistake::new(format!("log {name:?}: {error}")))
}

/// The same of a key that an operator types: an array in JSON, or the one value as it is.
pub(crate) fn typed_key(schema: &Schema, name: &str, text: &str) -> Result<Json, Mistake> {
    let table = table(schema, name)?;
    if text.trim_start().starts_with('[')
        && let Ok(array @ Json::Array(_)) = serde_json::from_str(text)
    {
        return Ok(array);
    }
    let types: Vec<Scalar> = table.key_types().collect();
    match types[..] {
        [Scalar::String | Scalar::Id | Scalar::Bytes | Scalar::Blob] => Ok(text.into()),
        [Scalar::Bool | Scalar::Int | Scalar::Float] => Ok(serde_json::from_str(text).unwrap_or_else(|_| text.into())),
        _ => Err(Mistake::new(format!(
            "the key of table {name:?} has {} columns: write it as JSON, [{}]",
            types.len(),
            table.key.iter().map(|column| format!("\"{column}\"")).collect::<Vec<_>>().join(", ")
        ))),
    }
}

/// The writes that make a row, its key's columns included. Columns that may be left out have what an insertion gives them.
pub(crate) fn creation(schema: &Schema, name: &str, row: &Json) -> Result<Vec<Write>, Mistake> {
    let table = table(schema, name)?;
    let given = object(name, "a row", row)?;
    known_columns(name, table, given)?;
    let key = table.key.iter().map(|column| match given.get(column) {
        Some(value) => Ok(value.clone()),
        None => Place { table: name, column }.wrong("it is of the key, so give it a value"),
    });
    let RowName { table: id, key } = row_name(schema, name, &Json::Array(key.collect::<Result<_, _>>()?))?;
    let cell = |column| Cell { table: id, row: key.clone(), column };
    let mut writes = Vec::new();
    if !table.live {
        writes.push(Write { cell: cell(ColumnId::ROW), operation: Operation::Create });
    }
    for (column, definition) in table.data_columns() {
        let place = Place { table: name, column };
        let operations = match given.get(column) {
            Some(json) => content(&place, table, definition, json)?,
            None if definition.initial().is_none() => {
                return place.wrong("it is required, so give it a value");
            }
            None => definition.initial_operations().into_iter().map(|own| as_stored(table, own)).collect(),
        };
        writes.extend(operations.into_iter().map(|operation| Write { cell: cell(ColumnId::of(column)), operation }));
    }
    Ok(writes)
}

/// The writes that change a row: of each column a value, an operation as rights name it, or several of these in an array.
pub(crate) fn update(schema: &Schema, name: &str, key: &Json, changes: &Json) -> Result<Vec<Write>, Mistake> {
    let table = table(schema, name)?;
    let changes = object(name, "what changes", changes)?;
    known_columns(name, table, changes)?;
    let row = row_name(schema, name, key)?;
    let mut writes = Vec::new();
    for (column, json) in changes {
        let place = Place { table: name, column };
        let Some((_, definition)) = table.data_columns().find(|(own, _)| own == column) else {
            return place.wrong("it is of the key, which no update changes: leave it out");
        };
        let cell = Cell { table: row.table, row: row.key.clone(), column: ColumnId::of(column) };
        let operations = match json {
            Json::Array(several) => {
                let each = several.iter().map(|own| change(&place, table, definition, own));
                each.collect::<Result<Vec<_>, _>>()?.concat()
            }
            own => change(&place, table, definition, own)?,
        };
        writes.extend(operations.into_iter().map(|operation| Write { cell: cell.clone(), operation }));
    }
    if writes.is_empty() {
        return Err(Mistake::new(format!("table {name:?}: no column changes, so there is nothing to judge: name one")));
    }
    Ok(writes)
}

pub(crate) fn deletion(schema: &Schema, name: &str, key: &Json) -> Result<Vec<Write>, Mistake> {
    let row = row_name(schema, name, key)?;
    Ok(vec![Write { cell: Cell::row(row.table, row.key), operation: Operation::Delete }])
}

fn object<'a>(table: &str, what: &str, json: &'a Json) -> Result<&'a Map<String, Json>, Mistake> {
    json.as_object().ok_or_else(|| {
        Mistake::new(format!("table {table:?}: {what} is an object of columns and values, not {}", short(json)))
    })
}

fn known_columns(name: &str, table: &Table, given: &Map<String, Json>) -> Result<(), Mistake> {
    match given.keys().find(|column| !table.columns.contains_key(*column)) {
        None => Ok(()),
        Some(column) => {
            let names: Vec<&str> = table.columns.keys().map(String::as_str).collect();
            Err(Mistake::new(format!("table {name:?} has no column {column:?}: there are {}", names.join(", "))))
        }
    }
}

/// The first content of a column.
fn content(place: &Place<'_>, table: &Table, column: &Column, json: &Json) -> Result<Vec<Operation>, Mistake> {
    let elements = || match json.as_array() {
        Some(elements) => Ok(elements.iter()),
        None => place.wrong(format!("{} is no array", short(json))),
    };
    match column.kind {
        ColumnType::Scalar(of) => Ok(vec![table.put(place.scalar(of, column.optional, json)?)]),
        ColumnType::Register(of) => Ok(vec![Operation::Assign(place.scalar(of, column.optional, json)?)]),
        ColumnType::Counter => Ok(vec![Operation::Add(integer(place, json)?)]),
        ColumnType::Set(of) => {
            elements()?.map(|member| Ok(Operation::Insert(place.scalar(of, false, member)?))).collect()
        }
        ColumnType::List { of, order } => elements()?
            .map(|element| Ok(Operation::Append { value: place.scalar(of, false, element)?, order }))
            .collect(),
        ColumnType::Map(of) => {
            let Some(entries) = json.as_object() else { return place.wrong(format!("{} is no object", short(json))) };
            let entry = |(key, value): (&String, &Json)| {
                Ok(Operation::PutEntry { key: key.as_str().into(), value: place.scalar(of, false, value)? })
            };
            entries.iter().map(entry).collect()
        }
        ColumnType::Text => {
            let text = text(place, json)?;
            Ok(if text.is_empty() { Vec::new() } else { vec![edit(FIRST_AUTHOR, text)] })
        }
    }
}

/// One change of a column: a value that it gets, or an operation.
fn change(place: &Place<'_>, table: &Table, column: &Column, json: &Json) -> Result<Vec<Operation>, Mistake> {
    if let Some((name, of)) = json.as_object().filter(|own| own.len() == 1).and_then(|own| own.iter().next())
        && let Some(operation) = operation(place, column, name, of)?
    {
        return Ok(vec![operation]);
    }
    match column.kind {
        ColumnType::Scalar(_) | ColumnType::Register(_) => content(place, table, column, json),
        ColumnType::Counter => Ok(vec![Operation::PutTotal(integer(place, json)?)]),
        ColumnType::Set(_) | ColumnType::List { .. } | ColumnType::Map(_) | ColumnType::Text => {
            place.wrong(format!("a {} is changed by an operation: {OPERATIONS}", column.kind.name()))
        }
    }
}

/// None: the name is of no operation.
fn operation(place: &Place<'_>, column: &Column, name: &str, of: &Json) -> Result<Option<Operation>, Mistake> {
    let element = || place.scalar(column.kind.element(), false, of);
    let pair = || match of.as_array().map(Vec::as_slice) {
        Some([first, second]) => Ok((first, place.scalar(column.kind.element(), false, second)?)),
        Some(_) | None => place.wrong(format!("{name} takes an array of two: where, and the value")),
    };
    let fits = match name {
        "add" => column.kind == ColumnType::Counter,
        "insert" | "remove" => matches!(column.kind, ColumnType::Set(_)),
        "append" | "setAt" => matches!(column.kind, ColumnType::List { .. }),
        "putEntry" | "removeEntry" => matches!(column.kind, ColumnType::Map(_)),
        "edit" => column.kind == ColumnType::Text,
        _ => return Ok(None),
    };
    if !fits {
        return place.wrong(format!("nothing does {name:?} to a {}", column.kind.name()));
    }
    Ok(Some(match (name, column.kind) {
        ("add", _) => Operation::Add(integer(place, of)?),
        ("insert", _) => Operation::Insert(element()?),
        ("remove", _) => Operation::Remove(element()?),
        ("append", ColumnType::List { of: _, order }) => Operation::Append { value: element()?, order },
        ("setAt", _) => {
            let (index, value) = pair()?;
            let Some(index) = index.as_u64().and_then(|index| u32::try_from(index).ok()) else {
                return place.wrong(format!("{} is no place in a list", short(index)));
            };
            Operation::SetAt { index, value }
        }
        ("putEntry", _) => {
            let (key, value) = pair()?;
            Operation::PutEntry { key: text(place, key)?.into(), value }
        }
        ("removeEntry", _) => Operation::RemoveEntry { key: text(place, of)?.into() },
        _ if text(place, of)?.is_empty() => return place.wrong("an edit inserts a text, and this one is empty"),
        _ => edit(LATER_AUTHOR, text(place, of)?),
    }))
}

/// An insertion at the beginning of a text.
fn edit(author: Author, text: &str) -> Operation {
    let inserted = Insertion { first: Unit { author, number: 0 }, left: None, right: None, text: text.into() };
    Operation::Edit(Edit { inserted: Some(inserted), removed: Vec::new() }.into())
}

fn integer(place: &Place<'_>, json: &Json) -> Result<i64, Mistake> {
    match place.scalar(Scalar::Int, false, json)? {
        Value::Int(number) => Ok(number),
        other => place.wrong(format!("{other:?} is no whole number")),
    }
}

fn text<'a>(place: &Place<'_>, json: &'a Json) -> Result<&'a str, Mistake> {
    json.as_str().map_or_else(|| place.wrong(format!("{} is no text", short(json))), Ok)
}

/// For mistakes.
pub(super) fn short(json: &Json) -> String {
    let text = json.to_string();
    match text.char_indices().nth(64) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}
