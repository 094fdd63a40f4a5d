//! The rows of the catalog: the key is the version, the column `json` the canonical schema, the column `rights` the canonical rights, if there are any.

use std::sync::Arc;

use iolite_rights::Rights;
use iolite_store::RowAt;
use iolite_values::{Cell, CellState, ColumnId, Operation, Row, RowKey, Schema, Value, Write};

use crate::{Catalog, CatalogError, restoring};

const JSON: &str = "json";
const RIGHTS: &str = "rights";

/// What makes a row of a version.
pub fn writes(key: &RowKey, schema: &Schema, rights: Option<&Rights>) -> Vec<Write> {
    let table = Catalog::table();
    let text = |column: &str, text: String| Write {
        cell: Cell { table, row: key.clone(), column: ColumnId::of(column) },
        operation: Operation::Put(Value::string(text)),
    };
    let create = Write { cell: Cell::row(table, key.clone()), operation: Operation::Create };
    let rights = rights.map(|rights| text(RIGHTS, rights.to_json()));
    [create, text(JSON, schema.to_json())].into_iter().chain(rights).collect()
}

fn read(row: &Row) -> Result<(Schema, Option<Arc<Rights>>), String> {
    let schema = match row.cell(ColumnId::of(JSON)) {
        Some(CellState::Scalar(Value::String(json))) => Schema::from_json(json).map_err(|error| error.to_string())?,
        other => return Err(format!("{other:?} in the place of its JSON")),
    };
    let rights = match row.cell(ColumnId::of(RIGHTS)) {
        None => None,
        Some(CellState::Scalar(Value::String(json))) => {
            Some(Arc::new(Rights::from_json(json).map_err(|error| error.to_string())?))
        }
        other => return Err(format!("{other:?} in the place of its rights")),
    };
    Ok((schema, rights))
}

impl Catalog {
    /// Makes the highest version the current one, and knows all of them.
    pub(crate) fn read_versions(&mut self) -> Result<(), CatalogError> {
        let mut latest: Option<(i64, Schema, Option<Arc<Rights>>, i64)> = None;
        for (key, row) in self.rows.iter().filter(|(_, row)| row.exists()) {
            let mark = RowAt { table: Catalog::table(), key: key.clone(), row: row.clone() };
            if let Some(backup) = restoring(&mark) {
                return Err(CatalogError::Restoring { backup });
            }
            let version = match key.values().ok().as_deref() {
                Some([Value::Int(version)]) => *version,
                _ => return Err(CatalogError::Unreadable { version: 0, problem: format!("{key:?} is no version") }),
            };
            let (schema, rights) = read(row).map_err(|problem| CatalogError::Unreadable { version, problem })?;
            self.known.insert(schema.hash());
            let as_before = latest.filter(|(_, _, before, _)| *before == rights).map(|(_, _, _, since)| since);
            latest = Some((version, schema, rights, as_before.unwrap_or(version)));
        }
        if let Some((version, schema, rights, since)) = latest {
            self.version = version;
            self.schema = schema;
            (self.rights, self.rights_version) = (rights, since);
        }
        Ok(())
    }
}
