//! Secondary indexes: where the latest state of each row stands.
//!
//! Derived from the rows, and so never written down: made when an index is first asked for, kept with every write from then on, dropped when others were
//! asked for since. A replica that nobody asks has none, and pays nothing.
//! Invariant: an index has the key of every row of its table that holds anything, by the row's latest state, and no others.

use std::collections::{BTreeMap, BTreeSet};

use iolite_values::{ColumnId, Field, IndexKey, Row, RowKey, TableId};

use super::VersionedRow;

/// So many indexes are kept. The one that was not asked for the longest is dropped for the next, and made again when it is asked for.
pub const INDEXES_MAX: usize = 256;

#[derive(Clone, Debug, Default)]
pub struct Indexes {
    all: BTreeMap<(TableId, Vec<Field>), Index>,
    asked: u64,
}

#[derive(Clone, Debug)]
struct Index {
    keys: BTreeSet<IndexKey>,
    last_asked: u64,
}

/// What the rows say, they say alone.
impl PartialEq for Indexes {
    fn eq(&self, _: &Indexes) -> bool {
        true
    }
}

impl Eq for Indexes {}

/// The keys of a row before a write, in the indexes that the write may move it in.
pub struct Moving(Vec<(Vec<Field>, Option<IndexKey>)>);

impl Indexes {
    /// An index is asked for. It is made of the table's rows if it is not there. Returns how many rows that took.
    pub fn ask_for(
        &mut self,
        table: TableId,
        fields: &[Field],
        rows: Option<&BTreeMap<RowKey, VersionedRow>>,
    ) -> usize {
        self.asked += 1;
        let asked = self.asked;
        let name = (table, fields.to_vec());
        let is_new = !self.all.contains_key(&name);
        if is_new {
            self.make_room();
        }
        let index = self.all.entry(name).or_insert_with(|| Index { keys: keys(fields, rows), last_asked: asked });
        index.last_asked = asked;
        rows.filter(|_| is_new).map_or(0, BTreeMap::len)
    }

    /// The keys of an index that was asked for.
    pub fn keys(&self, table: TableId, fields: &[Field]) -> Option<&BTreeSet<IndexKey>> {
        self.all.get(&(table, fields.to_vec())).map(|index| &index.keys)
    }

    /// A write to this column of a row is about to come.
    pub fn before(&self, table: TableId, key: &RowKey, row: &Row, column: ColumnId) -> Moving {
        let moves = |fields: &[Field]| {
            // An empty row is in no index, and one that begins or ends comes or goes.
            row.is_empty() || column == ColumnId::ROW || fields.iter().any(|field| field.column() == Some(column))
        };
        let own = self.of_table(table).filter(|(fields, _)| moves(fields));
        Moving(own.map(|(fields, _)| (fields.to_vec(), key_of(fields, key, row))).collect())
    }

    /// It has come, or has changed nothing.
    pub fn after(&mut self, table: TableId, key: &RowKey, row: &Row, moving: Moving) {
        for (fields, before) in moving.0 {
            let after = key_of(&fields, key, row);
            if before == after {
                continue;
            }
            let Some(index) = self.all.get_mut(&(table, fields)) else { continue };
            before.map(|before| index.keys.remove(&before));
            index.keys.extend(after);
        }
    }

    /// Rows of the table come from elsewhere.
    pub fn drop_of(&mut self, table: TableId) {
        self.all.retain(|(own, _), _| *own != table);
    }

    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// # Panics
    /// When an index is not what the rows say.
    pub fn validate(&self, tables: &BTreeMap<TableId, BTreeMap<RowKey, VersionedRow>>) {
        for ((table, fields), index) in &self.all {
            assert_eq!(keys(fields, tables.get(table)), index.keys, "an index is not what the rows of {table:?} say");
        }
        assert!(self.all.len() <= INDEXES_MAX);
    }

    fn of_table(&self, table: TableId) -> impl Iterator<Item = (&[Field], &Index)> {
        let own = self.all.range((table, Vec::new())..).take_while(move |((own, _), _)| *own == table);
        own.map(|((_, fields), index)| (&fields[..], index))
    }

    fn make_room(&mut self) {
        if self.all.len() < INDEXES_MAX {
            return;
        }
        let oldest = self.all.iter().min_by_key(|(_, index)| index.last_asked).map(|(name, _)| name.clone());
        oldest.map(|oldest| self.all.remove(&oldest));
    }
}

fn keys(fields: &[Field], rows: Option<&BTreeMap<RowKey, VersionedRow>>) -> BTreeSet<IndexKey> {
    let rows = rows.into_iter().flatten();
    rows.filter_map(|(key, row)| key_of(fields, key, row.latest())).collect()
}

fn key_of(fields: &[Field], key: &RowKey, row: &Row) -> Option<IndexKey> {
    (!row.is_empty()).then(|| IndexKey::new(fields.iter().map(|field| field.value(key, row)), key))
}
