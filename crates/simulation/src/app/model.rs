//! The checker's model of the data: rows at one moment, nothing concurrent, nothing missing.
//!
//! It shares with the product only what an operation does to a row; everything about versions, conflicts, caches and rebasing is absent.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use iolite_client::{Content, Question};
use iolite_values::{Cell, CellState, KeyRange, Operation, Row, RowKey, TableId, Value, Write, row_footprint};

use super::handle::{Handle, Stop};
use super::paper::Paper;
use super::questions;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Model {
    rows: BTreeMap<RowId, Row>,
    /// What the texts among their cells say.
    papers: BTreeMap<Cell, Arc<Paper>>,
    /// What the closure that runs at the moment has written.
    written: Vec<Write>,
    /// Rows of which closures changed something, and those that they created or deleted: the latter are known whole to whoever ran them.
    changed: BTreeSet<RowId>,
    made: BTreeSet<RowId>,
    /// Rows that are no answer of a question once a closure has changed something in them.
    unknown: BTreeSet<RowId>,
    /// Rows that closures did not create because they are there.
    found_there: BTreeSet<RowId>,
    /// Of these, rows of which whoever runs closures knows nothing: they are created all the same.
    unheard_of: BTreeSet<RowId>,
}

pub type RowId = (TableId, RowKey);

impl Model {
    /// The rows of these tables alone.
    pub fn of_tables(&self, tables: &[TableId]) -> Model {
        let own = self.rows.iter().filter(|((table, _), _)| tables.contains(table));
        Model { rows: own.map(|(id, row)| (id.clone(), row.clone())).collect(), ..Model::default() }
    }

    /// Applies committed writes.
    pub fn apply(&mut self, writes: &[Write]) {
        for write in writes {
            if let Operation::Edit(edit) = &write.operation {
                Arc::make_mut(self.papers.entry(write.cell.clone()).or_default()).apply(edit);
            }
            let id = (write.cell.table, write.cell.row.clone());
            let row = self.rows.entry(id.clone()).or_default();
            row.apply(write.cell.column, &write.operation).expect("committed writes fit the schema");
            if row.is_empty() {
                self.rows.remove(&id);
            }
        }
    }

    /// As much as a client's cache counts for all rows of a table.
    pub fn footprint(&self, table: TableId) -> usize {
        let own = self.rows.iter().filter(|((of, _), _)| *of == table);
        own.map(|((_, key), row)| row_footprint(key, row)).sum()
    }

    /// A text, if it was ever edited.
    pub fn paper(&self, cell: &Cell) -> Option<&Paper> {
        self.papers.get(cell).map(|paper| &**paper)
    }

    /// What was written since this was last asked.
    pub fn take_written(&mut self) -> Vec<Write> {
        std::mem::take(&mut self.written)
    }

    /// The rows of the tables that are asked, jobs first, which closures changed.
    pub fn rows_changed(&self) -> Vec<RowId> {
        let of = |table| self.changed.iter().filter(move |id| id.0 == TableId::of(table)).cloned();
        of("jobs").chain(of("things")).chain(of("hits")).chain(of("chairs")).collect()
    }

    /// Whether closures changed a row that they did not make, of which whoever ran them may know no more.
    pub fn changed_in_part(&self) -> bool {
        self.changed.difference(&self.made).next().is_some()
    }

    /// Leaves these rows out of answers once closures have changed them.
    #[must_use]
    pub fn without_knowing(&self, unknown: BTreeSet<RowId>) -> Model {
        Model { unknown, ..self.clone() }
    }

    /// Rows that closures would have created if they had not known that they are there.
    pub fn found_there(&self) -> impl Iterator<Item = &RowId> {
        self.found_there.iter()
    }

    /// Of a closure that was run on this model's rows and came to nothing.
    pub fn note_found_there(&mut self, attempt: &Model) {
        self.found_there.extend(attempt.found_there.iter().cloned());
    }

    /// Creates these rows although they are there.
    #[must_use]
    pub fn without_having_heard_of(&self, unheard_of: BTreeSet<RowId>) -> Model {
        Model { unheard_of, ..self.clone() }
    }

    fn is_known(&self, id: &RowId) -> bool {
        !self.unknown.contains(id) || !self.changed.contains(id) || self.made.contains(id)
    }

    fn get(&self, table: TableId, key: &RowKey) -> Option<&Row> {
        self.rows.get(&(table, key.clone()))
    }

    fn state(&self, cell: &Cell) -> Option<&CellState> {
        self.get(cell.table, &cell.row)?.cell(cell.column)
    }

    fn push(&mut self, write: Write) {
        self.apply(std::slice::from_ref(&write));
        let id = (write.cell.table, write.cell.row.clone());
        if write.operation.is_of_life() {
            self.made.insert(id.clone());
        }
        self.changed.insert(id);
        self.written.push(write);
    }

    fn is_live(table: TableId) -> bool {
        let names = ["hits", "things", "visits", "shelves", "scores", "pages"];
        names.into_iter().any(|name| TableId::of(name) == table)
    }
}

impl Handle for Model {
    fn row(&mut self, table: TableId, key: &RowKey) -> Result<Option<Row>, Stop> {
        let row = self.get(table, key).filter(|row| Model::is_live(table) || row.exists());
        Ok(row.cloned())
    }

    fn exists(&mut self, table: TableId, key: &RowKey) -> Result<bool, Stop> {
        self.row(table, key).map(|row| row.is_some())
    }

    fn cell(&mut self, cell: &Cell) -> Result<Option<CellState>, Stop> {
        Ok(self.state(cell).cloned())
    }

    fn contains(&mut self, cell: &Cell, value: &Value) -> Result<bool, Stop> {
        Ok(matches!(self.state(cell), Some(CellState::Set(set)) if set.contains(value)))
    }

    fn entry(&mut self, cell: &Cell, key: &Arc<str>) -> Result<Option<Value>, Stop> {
        let Some(CellState::Map(map)) = self.state(cell) else { return Ok(None) };
        Ok(map.get(key).cloned())
    }

    fn element(&mut self, cell: &Cell, index: u32) -> Result<Option<Value>, Stop> {
        let Some(CellState::List(list)) = self.state(cell) else { return Ok(None) };
        Ok(list.get(index as usize).cloned())
    }

    fn text(&mut self, cell: &Cell) -> Result<String, Stop> {
        Ok(self.paper(cell).map(Paper::string).unwrap_or_default())
    }

    fn range(
        &mut self,
        table: TableId,
        range: &KeyRange,
        limit: Option<usize>,
        reverse: bool,
    ) -> Result<Vec<(RowKey, Row)>, Stop> {
        let inside = |(id, row): &(&(TableId, RowKey), &Row)| {
            id.0 == table && range.contains(&id.1) && (Model::is_live(table) || row.exists())
        };
        let mut rows: Vec<_> = self.rows.iter().filter(inside).map(|(id, row)| (id.1.clone(), row.clone())).collect();
        if reverse {
            rows.reverse();
        }
        rows.truncate(limit.unwrap_or(usize::MAX));
        Ok(rows)
    }

    fn ask(&mut self, table: TableId, question: &Question) -> Result<Vec<(RowKey, Row)>, Stop> {
        let there =
            |(id, row): &(&RowId, &Row)| id.0 == table && (Model::is_live(table) || row.exists()) && self.is_known(id);
        let rows = self.rows.iter().filter(there).map(|(id, row)| (id.1.clone(), row.clone()));
        Ok(questions::answer(question, rows))
    }

    fn write(&mut self, cell: Cell, operation: Operation) -> Result<(), Stop> {
        if !self.exists(cell.table, &cell.row)? && !Model::is_live(cell.table) {
            return Err(Stop::Abort("no such row".into()));
        }
        if let Operation::SetAt { index, value: _ } = &operation {
            let length = match self.state(&cell) {
                Some(CellState::List(list)) => list.len(),
                _ => 0,
            };
            if *index as usize >= length {
                return Err(Stop::Abort("no such element".into()));
            }
        }
        if let Operation::Edit(edit) = &operation {
            let checked = self.paper(&cell).map_or_else(|| Paper::default().check(edit), |paper| paper.check(edit));
            checked.map_err(|unfit| Stop::Abort(unfit.to_string()))?;
        }
        self.push(Write { cell, operation });
        Ok(())
    }

    fn insert(&mut self, table: TableId, key: &RowKey, content: Content) -> Result<(), Stop> {
        let id = (table, key.clone());
        let is_heard_of = self.made.contains(&id) || !self.unheard_of.contains(&id);
        if self.exists(table, key)? && is_heard_of {
            self.found_there.insert(id);
            return Err(Stop::Abort("the row exists".into()));
        }
        self.push(Write { cell: Cell::row(table, key.clone()), operation: Operation::Create });
        for (column, operations) in content {
            for operation in operations {
                self.push(Write { cell: Cell { table, row: key.clone(), column }, operation });
            }
        }
        Ok(())
    }

    fn delete(&mut self, table: TableId, key: &RowKey) -> Result<(), Stop> {
        if !self.exists(table, key)? {
            return Err(Stop::Abort("no such row".into()));
        }
        self.push(Write { cell: Cell::row(table, key.clone()), operation: Operation::Delete });
        Ok(())
    }
}
