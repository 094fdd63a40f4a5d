//! Additive change: what a server's schema may become without harm to the clients that have an older one.

use std::collections::BTreeMap;

use super::{Schema, SchemaError, Table};
use crate::LogStart;

impl Schema {
    /// This schema with the tables, columns and indexes that only `newer` has.
    ///
    /// # Errors
    /// [`SchemaError`] when `newer` gives a table or column another meaning, or adds a column that old clients would have to fill.
    pub fn merged_with(&self, newer: &Schema) -> Result<Schema, SchemaError> {
        let mut tables = self.tables.clone();
        for (name, table) in &newer.tables {
            let Some(known) = tables.get_mut(name) else {
                tables.insert(name.clone(), table.clone());
                continue;
            };
            let policy = |table: &Table| {
                (table.consistency.clone(), table.isolation, table.offline, table.live, table.delivered)
            };
            if known.key != table.key || policy(known) != policy(table) {
                let problem = "its key or policy is not that of the server's schema, and cannot be changed by adding";
                return Err(SchemaError::new(name, "", problem));
            }
            for (column_name, column) in &table.columns {
                match known.columns.get(column_name) {
                    Some(same) if same == column => {}
                    Some(_) => {
                        return Err(SchemaError::new(
                            name,
                            column_name,
                            "it is defined otherwise in the server's schema",
                        ));
                    }
                    None if column.initial().is_none() => {
                        let problem = "a column that is added later has to be optional or have a default";
                        return Err(SchemaError::new(name, column_name, problem));
                    }
                    None => drop(known.columns.insert(column_name.clone(), column.clone())),
                }
            }
            known.numbers.clear();
            known.number_columns(name)?;
            known.add_indexes(name, table)?;
        }
        Schema::with_logs(tables, self.merged_logs(newer)?)
    }

    fn merged_logs(&self, newer: &Schema) -> Result<BTreeMap<String, LogStart>, SchemaError> {
        let mut logs = self.logs.clone();
        for (name, start) in &newer.logs {
            if *logs.entry(name.clone()).or_insert_with(|| start.clone()) != *start {
                let problem = format!(
                    "the log {name:?} begins otherwise in the server's schema: call the new one by another name"
                );
                return Err(SchemaError::new("", "", problem));
            }
        }
        Ok(logs)
    }

    /// Whether a client with `other` can work with a server that has this schema: every table and column of it is here, and the same.
    pub fn covers(&self, other: &Schema) -> bool {
        self.merged_with(other).is_ok_and(|merged| merged == *self)
    }
}

impl Table {
    fn add_indexes(&mut self, name: &str, newer: &Table) -> Result<(), SchemaError> {
        for (index, columns) in &newer.indexes {
            match self.indexes.get(index) {
                Some(same) if same == columns => {}
                Some(_) => {
                    let problem =
                        format!("index {index:?} is of other columns in the server's schema: rename the new one");
                    return Err(SchemaError::new(name, "", problem));
                }
                None => *self = self.clone().indexed(name, index, columns.clone())?,
            }
        }
        Ok(())
    }
}
