//! Reading inside a transaction. Each read is noted with a digest of its answer.
//!
//! Invariant: what the closure learned is in the read set; what it wrote itself is not, because nobody else can change that.

use std::sync::Arc;

use iolite_values::{Cell, CellState, Element, Interest, KeyRange, Read, Row, RowKey, TableId, Value, Write};
use iolite_wire::limits;

use super::{Missed, Run, RunError, Transaction};
use crate::view::{Reader, View};

impl Transaction<'_> {
    /// A row with all its columns; `None` if there is none.
    ///
    /// # Errors
    /// [`RunError::Stopped`] when it is not held yet; [`RunError::Invalid`]; [`RunError::TooLarge`].
    pub fn row(&mut self, table: TableId, key: &RowKey) -> Result<Option<Row>, RunError> {
        let (name, definition) = self.schema.find(table)?;
        definition.check_key_of(name, key)?;
        self.note(Read::Range { table, range: KeyRange::one(key) })?;
        let row = self.layered().row(table, key);
        Ok(row.filter(|row| definition.live || row.exists()).cloned())
    }

    /// Whether a row exists, without reading its columns. In a live table: whether anything was ever written to it.
    ///
    /// # Errors
    /// As [`Transaction::row`].
    pub fn exists(&mut self, table: TableId, key: &RowKey) -> Result<bool, RunError> {
        let (_, definition) = self.schema.find(table)?;
        // Who writes a row of a table that syncs has read all of it.
        if definition.live || definition.syncs() {
            return self.row(table, key).map(|row| row.is_some());
        }
        self.note(Read::Cell { cell: Cell::row(table, key.clone()), element: Element::Whole })?;
        Ok(self.layered().exists(table, key))
    }

    /// One cell; `None` if nothing was ever written to it.
    ///
    /// # Errors
    /// As [`Transaction::row`].
    pub fn cell(&mut self, cell: &Cell) -> Result<Option<CellState>, RunError> {
        self.note(Read::Cell { cell: cell.clone(), element: Element::Whole })?;
        Ok(self.layered().cell(cell).cloned())
    }

    /// Whether a set holds a value: conflicts only with operations on that value.
    ///
    /// # Errors
    /// As [`Transaction::row`].
    pub fn contains(&mut self, cell: &Cell, value: &Value) -> Result<bool, RunError> {
        self.note(Read::Cell { cell: cell.clone(), element: Element::Member(value.clone()) })?;
        Ok(matches!(self.layered().cell(cell), Some(CellState::Set(set)) if set.contains(value)))
    }

    /// The member of a set at a place in its order: conflicts only with operations on it and on what comes before it.
    ///
    /// # Errors
    /// As [`Transaction::row`].
    pub fn member_at(&mut self, cell: &Cell, index: u32) -> Result<Option<Value>, RunError> {
        let whole = Read::Cell { cell: cell.clone(), element: Element::Whole };
        self.note_held(&whole)?;
        let found = match self.layered().cell(cell) {
            Some(CellState::Set(set)) => set.iter().nth(index as usize).cloned(),
            _ => None,
        };
        self.note(match &found {
            Some(member) => Read::Cell { cell: cell.clone(), element: Element::UpTo(member.clone()) },
            None => whole,
        })?;
        Ok(found)
    }

    /// A map's entry: conflicts only with operations on that entry.
    ///
    /// # Errors
    /// [`RunError::TooLong`]; otherwise as [`Transaction::row`].
    pub fn entry(&mut self, cell: &Cell, key: &Arc<str>) -> Result<Option<Value>, RunError> {
        check_map_key(key)?;
        self.note(Read::Cell { cell: cell.clone(), element: Element::Entry(key.clone()) })?;
        Ok(match self.layered().cell(cell) {
            Some(CellState::Map(map)) => map.get(key).cloned(),
            _ => None,
        })
    }

    /// A list's element: conflicts only with operations on that element, or, past the end, with any append.
    ///
    /// # Errors
    /// As [`Transaction::row`].
    pub fn element(&mut self, cell: &Cell, index: u32) -> Result<Option<Value>, RunError> {
        self.note_element(cell, index)?;
        Ok(match self.layered().cell(cell) {
            Some(CellState::List(list)) => list.get(index as usize).cloned(),
            _ => None,
        })
    }

    /// A list's elements from an index to before another, or to its end: conflicts only with operations on them, or, past the end, with any append.
    ///
    /// # Errors
    /// As [`Transaction::row`].
    pub fn elements(&mut self, cell: &Cell, from: u32, to: u32) -> Result<Vec<Value>, RunError> {
        let (to, whole) = (to.max(from), Read::Cell { cell: cell.clone(), element: Element::Whole });
        self.note_held(&whole)?;
        let stable = matches!(self.reader.cell(cell), Some(CellState::List(list)) if (to as usize) <= list.len());
        self.note(match stable {
            true => Read::Cell { cell: cell.clone(), element: Element::Slice { from, to } },
            false => whole,
        })?;
        Ok(match self.layered().cell(cell) {
            Some(CellState::List(list)) => list.iter().take(to as usize).skip(from as usize).cloned().collect(),
            _ => Vec::new(),
        })
    }

    /// An element that is there below the transaction's own writes keeps its index for good. Any other index depends on who appends next,
    /// so the whole list is noted.
    pub(super) fn note_element(&mut self, cell: &Cell, index: u32) -> Result<(), RunError> {
        let whole = Read::Cell { cell: cell.clone(), element: Element::Whole };
        self.note_held(&whole)?;
        let stable = matches!(self.reader.cell(cell), Some(CellState::List(list)) if (index as usize) < list.len());
        if stable {
            self.note(Read::Cell { cell: cell.clone(), element: Element::Index(index) })
        } else {
            self.note(whole)
        }
    }

    /// Stops the run if the read cannot be answered here. A run that was stopped already notes what else it misses, so that a closure which
    /// goes on has all of it fetched at once.
    pub(super) fn note_held(&mut self, read: &Read) -> Result<(), RunError> {
        self.schema.check_read(read)?;
        self.check_view(&read.interest())?;
        if !self.knows(read) {
            self.run.note_missed(Missed { interest: read.interest(), first: None })?;
        }
        self.run.check_going()
    }

    pub(super) fn check_view(&self, interest: &Interest) -> Result<(), RunError> {
        self.check_log_of_read(interest)?;
        let table = interest.table();
        if self.run.view == View::Delivered && !self.schema.has_delivered_view(table) {
            let table = self.schema.table_name(table).unwrap_or("?").to_owned();
            return Err(RunError::NotDelivered { table });
        }
        Ok(())
    }

    /// Whether the answer is known here.
    pub(super) fn knows(&self, read: &Read) -> bool {
        self.is_own(read) || self.reader.knows(&read.interest())
    }

    /// Notes the read with what it returns *below* the transaction's own writes.
    pub(super) fn note(&mut self, read: Read) -> Result<(), RunError> {
        self.note_held(&read)?;
        if self.run.is_peek {
            return Ok(());
        }
        if self.run.reads.contains_key(&read) || self.is_own(&read) {
            return Ok(());
        }
        if self.run.reads.len() >= Run::READS_MAX {
            return Err(RunError::TooLarge { what: "reads", limit: Run::READS_MAX });
        }
        self.run.take_room(read.size_bytes())?;
        let digest = self.reader.digest(&read);
        self.run.reads.insert(read, digest);
        Ok(())
    }

    /// Whether the answer rests on this transaction's writes alone, because it created the row.
    fn is_own(&self, read: &Read) -> bool {
        let mut created = self.run.writes.iter().filter(|write| write.operation.creates());
        created.any(|Write { cell: Cell { table, row, .. }, .. }| match read {
            Read::Cell { cell, element: _ } => (cell.table, &cell.row) == (*table, row),
            Read::Range { table: own, range } => own == table && *range == KeyRange::one(row),
            Read::Query(_) => false,
        })
    }

    pub(super) fn layered(&self) -> Reader<'_> {
        self.reader.with_own(&self.run.own)
    }
}

/// # Errors
/// [`RunError::TooLong`].
pub(super) fn check_map_key(key: &str) -> Result<(), RunError> {
    if key.len() > limits::MAP_KEY.most {
        return Err(RunError::TooLong { what: "the key of a map's entry", limit: limits::MAP_KEY.most });
    }
    Ok(())
}
