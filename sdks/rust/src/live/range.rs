//! A part of a list, and the rows that it names.

use std::ops::Range;

use iolite_client::View;
use iolite_values::{ColumnType, Value};

use super::{Live, LiveError, check_kind};
use crate::client::Client;
use crate::error::Result as ClosureResult;
use crate::reaction::Reaction;
use crate::table::{Column, List, Scalar, Table, element};
use crate::transaction::Transaction;

/// A part of a list (the papers' `rmap_range`).
pub struct LiveRange<T, S> {
    client: Client,
    key: Vec<Value>,
    column: Column<T, List<S>>,
    part: Part,
}

/// The rows whose keys a part of a list holds (the papers' `rmap_objectrange`).
pub struct LiveRows<R> {
    client: Client,
    keys: Keys,
    rows: std::marker::PhantomData<fn() -> R>,
}

/// Where the keys are.
#[derive(Clone)]
struct Keys {
    table: &'static str,
    key: Vec<Value>,
    column: &'static str,
    part: Part,
}

#[derive(Clone, PartialEq, Eq)]
enum Part {
    Between(Range<u32>),
    Last(usize),
}

impl<T: Table, S: Scalar> Live<T, List<S>> {
    /// The elements from an index to before another, as far as they are there.
    pub fn range(&self, range: Range<u32>) -> LiveRange<T, S> {
        self.part(Part::Between(range))
    }

    /// The last elements, at most so many.
    pub fn last(&self, most: usize) -> LiveRange<T, S> {
        self.part(Part::Last(most))
    }

    fn part(&self, part: Part) -> LiveRange<T, S> {
        LiveRange { client: self.client.clone(), key: self.key.clone(), column: self.column, part }
    }
}

impl<T: Table + 'static, S: Scalar + Send + Sync + 'static> LiveRange<T, S> {
    /// Follows the elements.
    pub fn watch(&self, view: View) -> Reaction<Vec<S>> {
        let keys = self.keys();
        self.client.react(view, move |tx| {
            keys.read(tx)?.iter().map(|value| element(keys.column, value)).collect::<ClosureResult<Vec<S>>>()
        })
    }

    /// Binds the rows of a table whose key is one column, of which these are values.
    ///
    /// # Errors
    /// [`LiveError::Type`] when they are not.
    pub fn rows<R: Table>(&self) -> Result<LiveRows<R>, LiveError> {
        let schema = self.client.schema();
        let columns = R::key_columns();
        let [column] = &columns[..] else {
            let wanted = format!("the only column of a key, which has {}", columns.len());
            let (table, column) = (R::NAME, columns.join(", "));
            return Err(LiveError::Type { table, column, found: "a part of the key".to_owned(), wanted });
        };
        let elements = iolite_values::Column::of(ColumnType::Scalar(S::SCALAR));
        check_kind(&schema, R::NAME, column, &elements)?;
        Ok(LiveRows { client: self.client.clone(), keys: self.keys(), rows: std::marker::PhantomData })
    }

    fn keys(&self) -> Keys {
        Keys { table: T::NAME, key: self.key.clone(), column: self.column.name(), part: self.part.clone() }
    }
}

impl<R: Table + Send + Sync + 'static> LiveRows<R> {
    /// Follows the rows, in the order of the list; `None` for those that are not there.
    pub fn watch(&self, view: View) -> Reaction<Vec<Option<R>>> {
        let keys = self.keys.clone();
        self.client.react(view, move |tx| {
            let found = keys.read(tx)?;
            tx.get_all::<R, _>(found)
        })
    }
}

impl Keys {
    fn read(&self, tx: &mut Transaction<'_>) -> ClosureResult<Vec<Value>> {
        match &self.part {
            Part::Between(range) => tx.elements(self.table, self.key.clone(), self.column, range.clone()),
            Part::Last(most) => {
                let mut all = tx.elements(self.table, self.key.clone(), self.column, 0..u32::MAX)?;
                Ok(all.split_off(all.len().saturating_sub(*most)))
            }
        }
    }
}
