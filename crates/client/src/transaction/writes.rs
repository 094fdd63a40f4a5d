//! Writing inside a transaction. Writes are visible to its own later reads, and to nobody else until it ends.

use iolite_rowsync::{RowVersion, row_version};
use iolite_values::{
    Cell, CellState, ColumnId, Element, KeyRange, Operation, Read, RowKey, Table, TableId, Value, Write,
};

use super::reads::check_map_key;
use super::{Content, Lives, Run, RunError, RunOf, Transaction};
use crate::text::Splice;

impl Transaction<'_> {
    /// Applies an operation to a column of a row that exists.
    ///
    /// # Errors
    /// [`RunError::RowMissing`] except in live tables; [`RunError::ReadOnly`] in a reactive transaction; [`RunError::Invalid`] when the column
    /// is of another type; [`RunError::Stopped`] when it is not known whether the row exists; [`RunError::TooLarge`].
    pub fn write(&mut self, cell: Cell, operation: Operation) -> Result<(), RunError> {
        self.check_writable()?;
        if self.schema.merges(cell.table) {
            return self.change(&cell, &operation);
        }
        let (table, key) = (cell.table, cell.row.clone());
        let write = Write { operation: self.as_stored(table, operation), cell };
        self.schema.check_write(&write)?;
        let (name, definition) = self.schema.find(table)?;
        if !definition.live && !self.exists(table, &key)? {
            return Err(RunError::RowMissing { table: name.into(), key });
        }
        if let Operation::SetAt { index, value: _ } = write.operation {
            self.check_element(&write.cell, index)?;
        }
        if let Operation::Edit(edit) = &write.operation {
            self.check_edit(&write.cell, edit)?;
        }
        if self.is_held_blob(&write)? {
            return Ok(());
        }
        self.push(write)
    }

    /// Whether it puts the blob that the cell has. A row that is put whole says so of the blobs that it does not change: that is a read of them.
    fn is_held_blob(&mut self, write: &Write) -> Result<bool, RunError> {
        let (Operation::Put(Value::Blob(blob)) | Operation::Assign(Value::Blob(blob))) = &write.operation else {
            return Ok(false);
        };
        if blob.bytes().is_some() || blob.waits_for_lease() {
            return Ok(false);
        }
        let held = self.cell(&write.cell)?;
        Ok(
            matches!(held, Some(CellState::Scalar(Value::Blob(own)) | CellState::Register(Value::Blob(own))) if own == *blob),
        )
    }

    /// Creates a row. Columns that are not given begin with their default, null or empty. Where it is not known here whether there is one, there is none for
    /// all that is known: the store takes it only if that is true, and otherwise it runs again where it is known.
    ///
    /// # Errors
    /// [`RunError::RowExists`]; [`RunError::ColumnMissing`]; otherwise as [`Transaction::write`], but for [`RunError::Stopped`] only in an attempt after one
    /// that was refused.
    pub fn insert(&mut self, table: TableId, key: &RowKey, content: Content) -> Result<(), RunError> {
        self.check_writable()?;
        let (name, definition) = self.schema.find(table)?;
        if !definition.live {
            self.check_complete(name, definition, &content)?;
            if self.may_exist(table, key)? {
                return Err(RunError::RowExists { table: name.into(), key: key.clone() });
            }
            if definition.merges() {
                return self.insert_merging(table, key, content);
            }
            self.push_checked(Write { cell: Cell::row(table, key.clone()), operation: Operation::Create })?;
        }
        for (column, operations) in content {
            for operation in operations {
                let cell = Cell { table, row: key.clone(), column };
                if let Some(first) = first_of(&operation) {
                    self.splice(&cell, &Splice { at: 0, removed: 0, inserted: first })?;
                    continue;
                }
                self.push_checked(Write { operation: self.as_stored(table, operation), cell })?;
            }
        }
        Ok(())
    }

    /// Scalars of an eventual table are registers to the store.
    fn as_stored(&self, table: TableId, operation: Operation) -> Operation {
        match (operation, self.schema.table_by_id(table)) {
            (Operation::Put(value), Some(table)) => table.put(value),
            (operation, _) => operation,
        }
    }

    /// The version of a row, by which an app says later which one its user saw. `None`: there is none.
    ///
    /// # Errors
    /// As [`Transaction::row`].
    pub fn version(&mut self, table: TableId, key: &RowKey) -> Result<Option<RowVersion>, RunError> {
        Ok(self.row(table, key)?.map(|row| row_version(&row)))
    }

    /// Says which version of a row the user saw who makes this change, in a table that syncs. If the server's row is another, it is a conflict.
    pub fn base(&mut self, key: &RowKey, version: RowVersion) {
        self.run.bases.insert(key.clone(), version);
    }

    /// Deletes a row and all that it holds.
    ///
    /// # Errors
    /// [`RunError::RowMissing`]; otherwise as [`Transaction::write`].
    pub fn delete(&mut self, table: TableId, key: &RowKey) -> Result<(), RunError> {
        self.check_writable()?;
        let (name, definition) = self.schema.find(table)?;
        let write = Write { cell: Cell::row(table, key.clone()), operation: Operation::Delete };
        if !definition.merges() {
            self.schema.check_write(&write)?;
        }
        if !self.exists(table, key)? {
            return Err(RunError::RowMissing { table: name.into(), key: key.clone() });
        }
        if definition.merges() { self.bury(table, key) } else { self.push(write) }
    }

    /// Whether a row is there as far as is known here.
    fn may_exist(&mut self, table: TableId, key: &RowKey) -> Result<bool, RunError> {
        let life = match self.schema.syncs(table) {
            true => Read::Range { table, range: KeyRange::one(key) },
            false => Read::Cell { cell: Cell::row(table, key.clone()), element: Element::Whole },
        };
        if self.run.lives == Lives::AsFarAsKnown && !self.knows(&life) {
            self.schema.check_read(&life)?;
            self.run.check_going()?;
            self.run.assumed.insert((table, key.clone()));
            return Ok(false);
        }
        self.exists(table, key)
    }

    fn check_writable(&self) -> Result<(), RunError> {
        match self.run.of {
            RunOf::Mutation(_) | RunOf::Replay(_) => Ok(()),
            RunOf::Reaction(_) => Err(RunError::ReadOnly),
        }
    }

    /// The index has to be one of the list's, and to stay that element's until the commit.
    fn check_element(&mut self, cell: &Cell, index: u32) -> Result<(), RunError> {
        let length = match self.layered().cell(cell) {
            Some(CellState::List(list)) => list.len(),
            _ => 0,
        };
        if (index as usize) < length {
            return self.note_element(cell, index);
        }
        self.note_element(cell, index)?;
        Err(RunError::IndexMissing { index, length })
    }

    fn check_complete(&self, name: &str, table: &Table, content: &Content) -> Result<(), RunError> {
        let needed = table.data_columns().filter(|(_, column)| column.initial().is_none());
        for (column, _) in needed {
            if !content.contains_key(&ColumnId::of(column)) {
                return Err(RunError::ColumnMissing { table: name.into(), column: column.into() });
            }
        }
        Ok(())
    }

    pub(super) fn push_checked(&mut self, write: Write) -> Result<(), RunError> {
        self.schema.check_write(&write)?;
        self.push(write)
    }

    fn push(&mut self, write: Write) -> Result<(), RunError> {
        self.run.check_going()?;
        self.check_log_of_write(&write)?;
        self.schema.check_domain(&self.run.writes, &write)?;
        if self.run.writes.len() >= Run::WRITES_MAX {
            return Err(RunError::TooLarge { what: "operations", limit: Run::WRITES_MAX });
        }
        if let Operation::PutEntry { key, .. } | Operation::RemoveEntry { key } = &write.operation {
            check_map_key(key)?;
        }
        self.run.take_room(write.operation.size_bytes() + write.cell.row.as_bytes().len())?;
        let below = || self.reader.row(write.cell.table, &write.cell.row);
        let applied = self.run.own.apply(&write, below);
        applied.expect("the schema's check lets only operations of the column's type pass");
        self.run.writes.push(write);
        Ok(())
    }
}

/// What a text begins with, if the operation says that.
fn first_of(operation: &Operation) -> Option<&str> {
    match operation {
        Operation::Edit(edit) => edit.as_first(),
        Operation::Create
        | Operation::Delete
        | Operation::Put(_)
        | Operation::Assign(_)
        | Operation::Add(_)
        | Operation::PutTotal(_)
        | Operation::Insert(_)
        | Operation::Remove(_)
        | Operation::Append { .. }
        | Operation::SetAt { .. }
        | Operation::PutEntry { .. }
        | Operation::RemoveEntry { .. }
        | Operation::Merge(_) => None,
    }
}
