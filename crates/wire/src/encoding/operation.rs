//! Writes: an operation and its cell.

use std::sync::Arc;

use iolite_values::{ListOrder, Operation, Write};

use crate::DecodeError;
use crate::generated::proto::{self, write::Operation as Field};
use crate::limits::MAP_KEY;

use super::reader::{each, required};
use super::{Reader, Writer, merge, text, value};

impl Writer {
    pub(crate) fn writes(&mut self, writes: &[Write]) -> Vec<proto::Write> {
        writes.iter().map(|write| self.write(write)).collect()
    }

    fn write(&mut self, write: &Write) -> proto::Write {
        let cell = self.cell(&write.cell);
        proto::Write { cell: cell.number, name: cell.name, operation: Some(self.operation_field(&write.operation)) }
    }

    /// An operation whose cell is said elsewhere.
    pub(crate) fn operation(&mut self, operation: &Operation) -> proto::Write {
        proto::Write { cell: 0, name: None, operation: Some(self.operation_field(operation)) }
    }

    fn operation_field(&mut self, operation: &Operation) -> Field {
        match operation {
            Operation::Create => Field::Life(true),
            Operation::Delete => Field::Life(false),
            Operation::Put(value) => Field::Put(value::write(value)),
            Operation::Assign(value) => Field::Assign(value::write(value)),
            Operation::Add(amount) => Field::Add(*amount),
            Operation::PutTotal(total) => Field::PutTotal(*total),
            Operation::Insert(value) => Field::Insert(value::write(value)),
            Operation::Remove(value) => Field::Remove(value::write(value)),
            Operation::Append { value, order: ListOrder::Strict } => Field::AppendStrictly(value::write(value)),
            Operation::Append { value, order: ListOrder::Commit } => Field::AppendInCommitOrder(value::write(value)),
            Operation::SetAt { index, value } => {
                Field::SetAt(Box::new(proto::ListElement { index: *index, value: Some(value::write(value)) }))
            }
            Operation::PutEntry { key, value } => Field::PutEntry(Box::new(self.map_entry(key, value))),
            Operation::RemoveEntry { key } => Field::RemoveEntry(self.text(key, MAP_KEY)),
            Operation::Edit(edit) => Field::Edit(Box::new(text::write_edit(edit))),
            Operation::Merge(effect) => Field::Merge(Box::new(merge::write_effect(effect))),
        }
    }
}

impl Reader {
    pub(crate) fn writes(&mut self, writes: Vec<proto::Write>) -> Result<Vec<Write>, DecodeError> {
        each(writes, |write| self.write(write))
    }

    fn write(&mut self, write: proto::Write) -> Result<Write, DecodeError> {
        let cell = self.cell(write.cell, write.name)?;
        Ok(Write { cell, operation: self.operation_field(write.operation)? })
    }

    pub(crate) fn operation(&self, write: proto::Write) -> Result<Operation, DecodeError> {
        if write.cell != 0 || write.name.is_some() {
            return Err(DecodeError::malformed("a cell is given twice"));
        }
        self.operation_field(write.operation)
    }

    fn operation_field(&self, operation: Option<Field>) -> Result<Operation, DecodeError> {
        Ok(match required(operation, "a write of no known operation")? {
            Field::Life(true) => Operation::Create,
            Field::Life(false) => Operation::Delete,
            Field::Put(value) => Operation::Put(value::read(value)?),
            Field::Assign(value) => Operation::Assign(value::read(value)?),
            Field::Add(amount) => Operation::Add(amount),
            Field::PutTotal(total) => Operation::PutTotal(total),
            Field::Insert(value) => Operation::Insert(value::read(value)?),
            Field::Remove(value) => Operation::Remove(value::read(value)?),
            Field::AppendStrictly(value) => Operation::Append { value: value::read(value)?, order: ListOrder::Strict },
            Field::AppendInCommitOrder(value) => {
                Operation::Append { value: value::read(value)?, order: ListOrder::Commit }
            }
            Field::SetAt(element) => {
                Operation::SetAt { index: element.index, value: value::read_required(element.value)? }
            }
            Field::PutEntry(entry) => {
                let key = self.map_key(entry.key)?;
                Operation::PutEntry { key, value: value::read_required(entry.value)? }
            }
            Field::RemoveEntry(key) => Operation::RemoveEntry { key: self.map_key(key)? },
            Field::Merge(effect) => Operation::Merge(Arc::new(merge::read_effect(*effect)?)),
            Field::Edit(edit) => Operation::Edit(Arc::new(text::read_edit(*edit)?)),
        })
    }

    pub(super) fn map_key(&self, key: String) -> Result<Arc<str>, DecodeError> {
        self.text(key, MAP_KEY).map(Arc::from)
    }
}
