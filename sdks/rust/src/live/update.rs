//! Several columns of a row, put in one mutation.

use std::marker::PhantomData;

use iolite_values::{Cell, ColumnId, Operation, TableId, Write};

use super::{LiveError, LiveRow, call};
use crate::mutation::MutationHandle;
use crate::table::{Checked, Column, Register, Scalar, Table, nullable};

/// What a column of a row of table `T` is to hold.
pub struct Change<T> {
    column: &'static str,
    operation: Checked<Operation>,
    table: PhantomData<fn(T)>,
}

impl<T, C> Column<T, C> {
    fn change(self, operation: Checked<Operation>) -> Change<T> {
        Change { column: self.name(), operation, table: PhantomData }
    }
}

impl<T, S: Scalar> Column<T, S> {
    /// It is to hold this value, for [`LiveRow::update`].
    pub fn to(self, value: impl Into<S>) -> Change<T> {
        self.change(value.into().to_value().map(Operation::Put))
    }
}

impl<T, S: Scalar> Column<T, Option<S>> {
    /// It is to hold this value, `None` for null, for [`LiveRow::update`].
    pub fn to(self, value: Option<S>) -> Change<T> {
        self.change(nullable(value).map(Operation::Put))
    }
}

impl<T, S: Scalar> Column<T, Register<S>> {
    /// It is to hold this value, for [`LiveRow::update`].
    pub fn to(self, value: impl Into<S>) -> Change<T> {
        self.change(value.into().to_value().map(Operation::Assign))
    }
}

impl<T: Table> LiveRow<T> {
    /// Puts some of its scalars and registers, in one mutation: `row.update([Note::TITLE.to("new"), Note::OWNER.to(None)])`.
    ///
    /// # Errors
    /// [`LiveError::Value`] when one is NaN; [`LiveError::Call`].
    pub fn update(&self, changes: impl IntoIterator<Item = Change<T>>) -> Result<MutationHandle, LiveError> {
        let cell = |column| Cell { table: TableId::of(T::NAME), row: self.row.clone(), column: ColumnId::of(column) };
        let write = |change: Change<T>| Ok(Write { cell: cell(change.column), operation: change.operation? });
        call(&self.client, &changes.into_iter().map(write).collect::<Checked<Vec<_>>>()?)
    }
}
