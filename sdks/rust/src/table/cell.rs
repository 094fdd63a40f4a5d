//! One column of one row: what can be done with it, by its type.

use std::marker::PhantomData;

use iolite_values::{CellState, Id, Operation, Value};

use super::kinds::{ColumnKind, Counter, List, Map, Register, Scalar, Set, Text, nullable, value};
use crate::error::{Abort, Result};
use crate::transaction::Transaction;

/// A column of a row, in a transaction. All its methods fail as those of [`Transaction`] do.
pub struct CellRef<'t, 'a, C> {
    transaction: &'t mut Transaction<'a>,
    table: &'static str,
    key: Vec<Value>,
    column: &'static str,
    kind: PhantomData<C>,
}

impl<'t, 'a, C> CellRef<'t, 'a, C> {
    pub(super) fn new(
        transaction: &'t mut Transaction<'a>,
        table: &'static str,
        key: Vec<Value>,
        column: &'static str,
    ) -> CellRef<'t, 'a, C> {
        CellRef { transaction, table, key, column, kind: PhantomData }
    }

    fn write(self, operation: Operation) -> Result<()> {
        self.transaction.write(self.table, &self.key, self.column, operation)
    }

    fn state(self) -> Result<Option<CellState>> {
        self.transaction.cell(self.table, &self.key, self.column)
    }

    fn put_new_id(self) -> Result<Id> {
        let id = self.transaction.new_id();
        self.write(Operation::Put(Value::Id(id)))?;
        Ok(id)
    }

    fn scalar(self) -> Result<Value> {
        let column = self.column;
        match self.state()? {
            None => Ok(Value::Null),
            Some(CellState::Scalar(value) | CellState::Register(value)) => Ok(value),
            Some(other) => Err(Abort::Mistake(format!("column {column:?} is a {}", other.name()))),
        }
    }
}

impl<C: ColumnKind> CellRef<'_, '_, C> {
    /// All that it holds.
    ///
    /// # Errors
    /// As [`Transaction::cell`].
    pub fn read(self) -> Result<C> {
        let column = self.column;
        C::read(&self.transaction.cell_record(self.table, &self.key, column)?, column)
    }
}

impl<S: Scalar> CellRef<'_, '_, S> {
    /// The value.
    ///
    /// # Errors
    /// As [`Transaction::cell`].
    pub fn get(self) -> Result<S> {
        let column = self.column;
        value(column, &self.scalar()?)
    }

    /// Sets the value.
    ///
    /// # Errors
    /// As [`Transaction::set`].
    pub fn set(self, value: impl Into<S>) -> Result<()> {
        self.write(Operation::Put(value.into().to_value()?))
    }
}

impl CellRef<'_, '_, Id> {
    /// Puts a new id, which no other call makes, and returns it.
    ///
    /// # Errors
    /// As [`Transaction::set`].
    pub fn generate(self) -> Result<Id> {
        self.put_new_id()
    }
}

impl CellRef<'_, '_, Option<Id>> {
    /// Puts a new id, which no other call makes, and returns it.
    ///
    /// # Errors
    /// As [`Transaction::set`].
    pub fn generate(self) -> Result<Id> {
        self.put_new_id()
    }
}

impl<S: Scalar> CellRef<'_, '_, Option<S>> {
    /// The value; `None` for null.
    ///
    /// # Errors
    /// As [`Transaction::cell`].
    pub fn get(self) -> Result<Option<S>> {
        let column = self.column;
        value(column, &self.scalar()?)
    }

    /// Sets the value; `None` is null.
    ///
    /// # Errors
    /// As [`Transaction::set`].
    pub fn set(self, value: Option<S>) -> Result<()> {
        self.write(Operation::Put(nullable(value)?))
    }
}

impl<S: Scalar> CellRef<'_, '_, Register<S>> {
    /// The value.
    ///
    /// # Errors
    /// As [`Transaction::cell`].
    pub fn get(self) -> Result<S> {
        let column = self.column;
        value(column, &self.scalar()?)
    }

    /// Sets the value. Of concurrent ones the last committed counts.
    ///
    /// # Errors
    /// As [`Transaction::set`].
    pub fn set(self, value: impl Into<S>) -> Result<()> {
        self.write(Operation::Assign(value.into().to_value()?))
    }
}

impl CellRef<'_, '_, Counter> {
    /// The total.
    ///
    /// # Errors
    /// As [`Transaction::counter`].
    pub fn get(self) -> Result<i64> {
        self.transaction.counter(self.table, &self.key, self.column)
    }

    /// Gives it a total, whatever was added before. Conflicts with additions.
    ///
    /// # Errors
    /// As [`Transaction::set_total`].
    pub fn set(self, total: i64) -> Result<()> {
        self.write(Operation::PutTotal(total))
    }

    /// Adds to it.
    ///
    /// # Errors
    /// As [`Transaction::add`].
    #[allow(clippy::should_implement_trait, reason = "it changes the row, as all its siblings do")]
    pub fn add(self, amount: i64) -> Result<()> {
        self.write(Operation::Add(amount))
    }
}

impl<S: Scalar> CellRef<'_, '_, Set<S>> {
    /// Whether it holds a member.
    ///
    /// # Errors
    /// As [`Transaction::contains`].
    pub fn contains(self, member: impl Into<S>) -> Result<bool> {
        self.transaction.contains(self.table, &self.key, self.column, member.into().to_value()?)
    }

    /// All members, in their order.
    ///
    /// # Errors
    /// As [`Transaction::cell`].
    pub fn all(self) -> Result<Vec<S>> {
        let column = self.column;
        match self.state()? {
            Some(CellState::Set(members)) => members.iter().map(|member| value(column, member)).collect(),
            _ => Ok(Vec::new()),
        }
    }

    /// The member at a place in their order.
    ///
    /// # Errors
    /// As [`Transaction::member_at`].
    pub fn at(self, index: u32) -> Result<Option<S>> {
        let column = self.column;
        let found = self.transaction.member_at(self.table, &self.key, column, index)?;
        found.map(|found| value(column, &found)).transpose()
    }

    /// Puts a member in.
    ///
    /// # Errors
    /// As [`Transaction::insert_member`].
    pub fn insert(self, member: impl Into<S>) -> Result<()> {
        self.write(Operation::Insert(member.into().to_value()?))
    }

    /// Takes a member out.
    ///
    /// # Errors
    /// As [`Transaction::remove_member`].
    pub fn remove(self, member: impl Into<S>) -> Result<()> {
        self.write(Operation::Remove(member.into().to_value()?))
    }
}

impl<S: Scalar> CellRef<'_, '_, List<S>> {
    /// All elements.
    ///
    /// # Errors
    /// As [`Transaction::cell`].
    pub fn all(self) -> Result<Vec<S>> {
        let column = self.column;
        match self.state()? {
            Some(CellState::List(elements)) => elements.iter().map(|element| value(column, element)).collect(),
            _ => Ok(Vec::new()),
        }
    }

    /// The element at an index.
    ///
    /// # Errors
    /// As [`Transaction::element`].
    pub fn at(self, index: u32) -> Result<Option<S>> {
        let column = self.column;
        let found = self.transaction.element(self.table, &self.key, column, index)?;
        found.map(|found| value(column, &found)).transpose()
    }

    /// Some elements in a row.
    ///
    /// # Errors
    /// As [`Transaction::elements`].
    pub fn slice(self, range: std::ops::Range<u32>) -> Result<Vec<S>> {
        let column = self.column;
        let found = self.transaction.elements(self.table, &self.key, column, range)?;
        found.iter().map(|found| value(column, found)).collect()
    }

    /// Appends an element.
    ///
    /// # Errors
    /// As [`Transaction::append`].
    pub fn push(self, element: impl Into<S>) -> Result<()> {
        self.transaction.append(self.table, &self.key, self.column, element.into().to_value()?)
    }

    /// Replaces an element.
    ///
    /// # Errors
    /// As [`Transaction::set_element`].
    pub fn set(self, index: u32, element: impl Into<S>) -> Result<()> {
        self.write(Operation::SetAt { index, value: element.into().to_value()? })
    }
}

impl CellRef<'_, '_, Text> {
    /// What it says.
    ///
    /// # Errors
    /// As [`Transaction::cell`].
    pub fn get(self) -> Result<String> {
        self.transaction.text(self.table, &self.key, self.column)
    }

    /// How long it is, in UTF-16 units.
    ///
    /// # Errors
    /// As [`Transaction::cell`].
    pub fn length(self) -> Result<u32> {
        self.transaction.text_length(self.table, &self.key, self.column)
    }

    /// Inserts at a position.
    ///
    /// # Errors
    /// As [`Transaction::splice`].
    pub fn insert(self, at: u32, text: &str) -> Result<()> {
        self.splice(at, 0, text)
    }

    /// Removes so many UTF-16 units.
    ///
    /// # Errors
    /// As [`Transaction::splice`].
    pub fn remove(self, at: u32, length: u32) -> Result<()> {
        self.splice(at, length, "")
    }

    /// Removes units and inserts a text in their place.
    ///
    /// # Errors
    /// As [`Transaction::splice`].
    pub fn splice(self, at: u32, removed: u32, inserted: &str) -> Result<()> {
        self.transaction.splice(self.table, &self.key, self.column, at, removed, inserted)
    }
}

impl<S: Scalar> CellRef<'_, '_, Map<S>> {
    /// An entry.
    ///
    /// # Errors
    /// As [`Transaction::entry`].
    pub fn get(self, entry: &str) -> Result<Option<S>> {
        let column = self.column;
        let found = self.transaction.entry(self.table, &self.key, column, entry)?;
        found.map(|found| value(column, &found)).transpose()
    }

    /// Puts an entry in.
    ///
    /// # Errors
    /// As [`Transaction::put_entry`].
    pub fn put(self, entry: &str, value: impl Into<S>) -> Result<()> {
        self.transaction.put_entry(self.table, &self.key, self.column, entry, value.into().to_value()?)
    }

    /// Takes an entry out.
    ///
    /// # Errors
    /// As [`Transaction::remove_entry`].
    pub fn remove(self, entry: &str) -> Result<()> {
        self.transaction.remove_entry(self.table, &self.key, self.column, entry)
    }
}
