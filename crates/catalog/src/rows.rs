//! The rows of the catalog: the key is the version, the column `json` the canonical schema.

use iolite_store::RowAt;
use iolite_values::{Cell, CellState, ColumnId, Operation, Row, RowKey, Schema, Value, Write};

use crate::{Catalog, CatalogError, restoring};

const JSON: &str = "json";

/// What makes a row of a version.
pub fn writes(key: &RowKey, schema: &Schema) -> Vec<Write> {
    let table = Catalog::table();
    let json = Cell { table, row: key.clone(), column: ColumnId::of(JSON) };
    vec![
        Write { cell: Cell::row(table, key.clone()), operation: Operation::Create },
        Write { cell: json, operation: Operation::Put(Value::string(schema.to_json())) },
    ]
}

fn read(row: &Row) -> Result<Schema, String> {
    match row.cell(ColumnId::of(JSON)) {
        Some(CellState::Scalar(Value::String(json))) => Schema::from_json(json).map_err(|error| error.to_string()),
        other => Err(format!("{other:?} in the place of its JSON")),
    }
}

impl Catalog {
    /// Makes the highest version the current one, and knows all of them.
    pub(crate) fn read_versions(&mut self) -> Result<(), CatalogError> {
        let mut latest = None;
        for (key, row) in self.rows.iter().filter(|(_, row)| row.exists()) {
            let mark = RowAt { table: Catalog::table(), key: key.clone(), row: row.clone() };
            if let Some(backup) = restoring(&mark) {
                return Err(CatalogError::Restoring { backup });
            }
            let version = match key.values().ok().as_deref() {
                Some([Value::Int(version)]) => *version,
                _ => return Err(CatalogError::Unreadable { version: 0, problem: format!("{key:?} is no version") }),
            };
            let schema = read(row).map_err(|problem| CatalogError::Unreadable { version, problem })?;
            self.known.insert(schema.hash());
            latest = Some((version, schema));
        }
        if let Some((version, schema)) = latest {
            self.version = version;
            self.schema = schema;
        }
        Ok(())
    }
}
