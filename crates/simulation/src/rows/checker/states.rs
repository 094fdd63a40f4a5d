//! The rows of one history of the store, at every timestamp.

use std::collections::BTreeMap;

use iolite_values::{Row, RowKey, TableId, Timestamp, Write};

#[derive(Debug, Default)]
pub struct States {
    rows: BTreeMap<(TableId, RowKey), BTreeMap<Timestamp, Row>>,
}

impl States {
    /// Applies a commit, which is later than those before it.
    pub fn apply(&mut self, at: Timestamp, writes: &[Write]) {
        for write in writes {
            let states = self.rows.entry((write.cell.table, write.cell.row.clone())).or_default();
            let mut row = states.last_key_value().map(|(_, row)| row.clone()).unwrap_or_default();
            row.apply(write.cell.column, &write.operation).expect("committed writes fit the schema");
            states.insert(at, row);
        }
    }

    /// A row before a commit.
    pub fn before(&self, table: TableId, key: &RowKey, at: Timestamp) -> Row {
        let states = self.rows.get(&(table, key.clone()));
        states.and_then(|states| states.range(..at).next_back()).map(|(_, row)| row.clone()).unwrap_or_default()
    }

    /// A row as a commit left it.
    pub fn at(&self, table: TableId, key: &RowKey, at: Timestamp) -> Row {
        let states = self.rows.get(&(table, key.clone()));
        states.and_then(|states| states.range(..=at).next_back()).map(|(_, row)| row.clone()).unwrap_or_default()
    }

    /// All that a row was, for people.
    pub fn of(&self, table: TableId, key: &RowKey) -> Option<&BTreeMap<Timestamp, Row>> {
        self.rows.get(&(table, key.clone()))
    }

    pub fn last(&self, table: TableId, key: &RowKey) -> Row {
        self.at(table, key, Timestamp::MAX)
    }

    /// Whether a row was gone at some time of these, both included.
    pub fn was_gone(&self, table: TableId, key: &RowKey, from: Timestamp, to: Timestamp) -> bool {
        let is_gone = |row: Row| !row.exists();
        let between = self.rows.get(&(table, key.clone())).into_iter().flat_map(|states| states.range(from..=to));
        is_gone(self.at(table, key, from)) || between.into_iter().any(|(_, row)| !row.exists())
    }

    /// All rows that were ever in a table, with everything that they were.
    pub fn ever(&self, table: TableId) -> impl Iterator<Item = (&RowKey, &Row)> {
        let own = self.rows.iter().filter(move |((of, _), _)| *of == table);
        own.flat_map(|((_, key), states)| states.values().map(move |row| (key, row)))
    }
}
