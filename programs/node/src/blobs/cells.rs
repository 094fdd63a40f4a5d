//! The name of a cell, for people.

use std::fmt;

use iolite_store::RowAt;
use iolite_values::{ColumnId, Schema, Value};

/// Table, key and column, as messages show them.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CellName {
    pub table: String,
    pub key: String,
    pub column: String,
}

impl CellName {
    pub fn of(schema: &Schema, row: &RowAt, column: ColumnId) -> CellName {
        let table = schema.table_by_id(row.table);
        let column = table.and_then(|table| table.column(column)).map_or("?", |(name, _)| name);
        let name = schema.table_name(row.table).unwrap_or("?");
        let key = row.key.values().unwrap_or_default();
        let key: Vec<String> = key.iter().map(shown).collect();
        CellName { table: name.into(), key: key.join(", "), column: column.into() }
    }
}

/// `photos [7] photo`.
impl fmt::Display for CellName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} [{}] {}", self.table, self.key, self.column)
    }
}

/// A value of a key, for people.
fn shown(value: &Value) -> String {
    match value {
        Value::Null => "null".into(),
        Value::Bool(value) => value.to_string(),
        Value::Int(value) => value.to_string(),
        Value::Float(value) => value.to_string(),
        Value::String(text) => format!("{text:?}"),
        Value::Bytes(bytes) => format!("0x{}", bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>()),
        Value::Id(id) => id.to_string(),
        // No key has any.
        Value::Blob(blob) => format!("{blob:?}"),
    }
}
