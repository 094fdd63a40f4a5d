//! Differences between two views, found in what is pending and undelivered.
//!
//! Invariant: a row is looked at only if a layer of one of the views has it. Both views show any other row as the cache has it.
//! Source: what an app highlights by two views of Hercules (Lebeck 2020, section 3.6.1). There the app compares all items.

use std::collections::BTreeSet;

use iolite_values::{Cell, CellState, Column, ColumnId, Interest, RowKey, Schema, Table, TableId, Text, set_of};

use super::{Reader, Unheld, View};
use crate::cache::RowId;
use crate::peek::{DifferenceError, Lack, NotHeld, Part};
use crate::transaction::RunError;

/// A value that differs between two views. Of a row that only one of them has, each column differs, those of its key too.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Difference {
    pub table: String,
    pub key: RowKey,
    pub column: String,
}

/// A view to compare, with the reason why it may lack something.
pub(crate) struct Side<'a> {
    pub(crate) view: View,
    pub(crate) reader: Reader<'a>,
    pub(crate) lack: Lack,
}

pub(crate) struct Comparison<'a> {
    pub(crate) schema: &'a Schema,
    pub(crate) sides: [Side<'a>; 2],
    /// Reads a text.
    pub(crate) says: &'a dyn Fn(&Cell, &Text) -> String,
}

impl Comparison<'_> {
    /// The values that differ, in the order of tables, keys and columns.
    ///
    /// # Errors
    /// [`DifferenceError`].
    pub(crate) fn of_table(&self, table: Option<&str>) -> Result<Vec<Difference>, DifferenceError> {
        let tables = match table {
            Some(name) => [self.find(name)?].into(),
            None => self.tables(),
        };
        for (id, side) in tables.iter().flat_map(|id| self.sides.iter().map(move |side| (id, side))) {
            if side.reader.cannot_tell_of(*id) {
                let table = self.schema.table_name(*id).unwrap_or("?").to_owned();
                return Err(NotHeld { table, part: Part::Loaded, view: side.view, why: side.lack }.into());
            }
        }
        let layers = self.sides.iter().flat_map(|side| side.reader.layers());
        let rows: BTreeSet<&RowId> = set_of(layers.flat_map(|layer| layer.rows()).map(|(id, _)| id));
        let mut found = BTreeSet::new();
        for id in rows.into_iter().filter(|(table, _)| tables.contains(table)) {
            if let Ok((name, table)) = self.schema.find(id.0) {
                found.extend(self.of_row(id, name, table));
            }
        }
        Ok(found.into_iter().collect())
    }

    fn tables(&self) -> BTreeSet<TableId> {
        let tables = self.schema.tables().filter(|(_, table)| !self.is_of_delivered() || table.has_delivered_view());
        tables.map(|(name, _)| TableId::of(name)).collect()
    }

    fn find(&self, name: &str) -> Result<TableId, DifferenceError> {
        let table = self.schema.table(name).ok_or_else(|| DifferenceError::NoTable { table: name.into() })?;
        if self.is_of_delivered() && !table.has_delivered_view() {
            return Err(DifferenceError::NotDelivered(RunError::NotDelivered { table: name.into() }));
        }
        Ok(TableId::of(name))
    }

    fn is_of_delivered(&self) -> bool {
        self.sides.iter().any(|side| side.view == View::Delivered)
    }

    fn of_row(&self, id: &RowId, name: &str, table: &Table) -> Vec<Difference> {
        let [a, b] = &self.sides;
        let made = |column: &str| Difference { table: name.into(), key: id.1.clone(), column: column.into() };
        let exist = [a, b].map(|side| side.reader.exists(id.0, &id.1));
        if !table.live && exist[0] != exist[1] {
            let is_known = self.can_compare(id, ColumnId::ROW);
            return table.columns.keys().filter(|_| is_known).map(|column| made(column)).collect();
        }
        let differs = |(column, definition): &(&str, &Column)| {
            let own = ColumnId::of(column);
            self.can_compare(id, own) && !self.is_equal(id, own, definition)
        };
        table.data_columns().filter(differs).map(|(column, _)| made(column)).collect()
    }

    /// A row that is pending can be compared. So can a cell that is held. One that was given up since the first undelivered change, or came since, cannot.
    fn can_compare(&self, (table, row): &RowId, column: ColumnId) -> bool {
        let cell = Interest::Cell(Cell { table: *table, row: row.clone(), column });
        if self.sides.iter().any(|side| side.reader.cannot_tell(&cell)) {
            return false;
        }
        let pending = self.sides.iter().filter(|side| matches!(side.reader.unheld, Unheld::Nothing));
        let mut layers = pending.flat_map(|side| side.reader.layers());
        layers.any(|layer| layer.row(*table, row).is_some()) || self.sides[0].reader.cache.interests.holds(&cell)
    }

    fn is_equal(&self, (table, row): &RowId, column: ColumnId, definition: &Column) -> bool {
        let cell = Cell { table: *table, row: row.clone(), column };
        match self.sides.each_ref().map(|side| side.reader.cell(&cell)) {
            [None, None] => true,
            [Some(CellState::Text(a)), Some(CellState::Text(b))] => {
                a == b || (self.says)(&cell, a) == (self.says)(&cell, b)
            }
            [Some(a), Some(b)] => a == b,
            [Some(state), None] | [None, Some(state)] => self.is_initial(&cell, state, definition),
        }
    }

    /// Whether a cell that was never written is read as the same.
    fn is_initial(&self, cell: &Cell, state: &CellState, definition: &Column) -> bool {
        match state {
            CellState::Scalar(value) | CellState::Register(value) => definition.initial().as_ref() == Some(value),
            CellState::Counter(total) => *total == 0,
            CellState::Set(set) => set.is_empty(),
            CellState::List(list) => list.is_empty(),
            CellState::Map(map) => map.is_empty(),
            CellState::Text(text) => (self.says)(cell, text).is_empty(),
            CellState::Merged(merged) => self.is_initial(cell, merged.plain(), definition),
            CellState::Row(_) => false,
        }
    }
}
