//! A store of one example: what its rights allow is applied, and what they deny is not.

use std::borrow::Cow;
use std::collections::BTreeMap;

use iolite_rights::{Claims, Judge, Judgement, Rights, RowName, Rows};
use iolite_values::{Cell, ColumnId, ColumnType, Operation, Query, Row, RowKey, Schema, TableId, Value, Write};
use serde_json::Value as Json;

pub struct Store {
    schema: Schema,
    rights: Rights,
    rows: BTreeMap<RowName, Row>,
}

impl Rows for Store {
    fn row(&self, row: &RowName) -> Option<Cow<'_, Row>> {
        Some(self.rows.get(row).map_or_else(Cow::default, Cow::Borrowed))
    }

    fn answers(&self, _: &Query) -> Option<Vec<(RowKey, Cow<'_, Row>)>> {
        Some(Vec::new())
    }
}

impl Store {
    pub fn of(golden: &str) -> Store {
        let json: Json = serde_json::from_str(golden).expect("the file is JSON");
        let schema = Schema::from_json(&json["schema"].to_string()).expect("a good schema");
        let rights = Rights::from_json(&json["rights"].to_string()).expect("good rights");
        Store { schema, rights, rows: BTreeMap::new() }
    }

    /// Somebody commits a transaction, if its rights allow it.
    pub fn commit<const N: usize>(&mut self, who: &str, writes: [Vec<Write>; N]) -> bool {
        let writes = writes.concat();
        let claims = Claims::new(who, []);
        let judge = Judge { rights: &self.rights, schema: &self.schema, claims: &claims, now_ms: 0, rows: self };
        let is_allowed = matches!(judge.transaction(&writes), Judgement::Allowed(_));
        for write in writes.into_iter().filter(|_| is_allowed) {
            let name = RowName { table: write.cell.table, key: write.cell.row };
            self.rows.entry(name).or_default().apply(write.cell.column, &write.operation).expect("its type");
        }
        is_allowed
    }

    pub fn insert(&self, table: &str, key: &[Value], columns: &[(&str, Value)]) -> Vec<Write> {
        let life = of(table, key, ColumnId::ROW, Operation::Create);
        let put = |(column, value): &(&str, Value)| self.put(table, key, column, value.clone());
        std::iter::once(life).chain(columns.iter().map(put)).collect()
    }

    pub fn update(&self, table: &str, key: &[Value], columns: &[(&str, Value)]) -> Vec<Write> {
        columns.iter().map(|(column, value)| self.put(table, key, column, value.clone())).collect()
    }

    fn put(&self, table: &str, key: &[Value], column: &str, value: Value) -> Write {
        let operation = match self.schema.table(table).expect("its table").columns[column].kind {
            ColumnType::Register(_) => Operation::Assign(value),
            _ => Operation::Put(value),
        };
        of(table, key, ColumnId::of(column), operation)
    }
}

pub fn delete(table: &str, key: &[Value]) -> Vec<Write> {
    vec![of(table, key, ColumnId::ROW, Operation::Delete)]
}

/// An operation on one cell.
pub fn does(table: &str, key: &[Value], column: &str, operation: Operation) -> Vec<Write> {
    vec![of(table, key, ColumnId::of(column), operation)]
}

fn of(table: &str, key: &[Value], column: ColumnId, operation: Operation) -> Write {
    let cell = Cell { table: TableId::of(table), row: RowKey::new(key).expect("short"), column };
    Write { cell, operation }
}
