//! Shared variables: a column or a row, bound to a name in the app, watched at any time and written without a closure.
//!
//! ```
//! use iolite::table::Counter;
//! use iolite::{Options, Table, View, schema};
//!
//! #[derive(Table)]
//! #[table(live)]
//! struct Game {
//!     #[key]
//!     name: String,
//!     sum: Counter,
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let server = iolite::embedded().await?;
//! let client = server.client(schema().with::<Game>().build()?, Options::new())?;
//! let sum = client.live(Game::SUM, "first")?;
//! let mut seen = sum.watch(View::Confirmed);
//! sum.add(5)?;
//! seen.wait_for(|sum| sum.0 == 5).await?;
//! # server.stop().await?;
//! # Ok(())
//! # }
//! ```
//!
//! Source: `rmap` and its family (Zhang 2017, sections 3.2.3 and 3.5.2).

mod range;
mod update;

use iolite_client::{CallError, EditError, LIVE, Splice, View, live_arguments};
use iolite_host::random_id;
use iolite_values::{
    Cell, ColumnId, ColumnType, Id, ListOrder, Operation, OperationError, RowKey, Schema, TableId, Value, ValueError,
    Write,
};

use crate::client::Client;
use crate::key::IntoKey;
use crate::mutation::MutationHandle;
use crate::reaction::Reaction;
use crate::table::{
    Column, ColumnDefinition, ColumnKind, Counter, List, Map, Register, Scalar, Set, Table, Text, nullable,
};

pub use range::{LiveRange, LiveRows};
pub use update::Change;

/// Why something cannot be bound or written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LiveError {
    /// The schema of the client has it otherwise, or not at all: open the client with a schema made of this struct.
    #[error("table {table:?}, column {column:?}: the client's schema has {found} here, and it is bound as {wanted}")]
    Type {
        /// The table.
        table: &'static str,
        /// The column.
        column: String,
        /// What is there.
        found: String,
        /// What the app takes it for.
        wanted: String,
    },
    /// The key is none of the table.
    #[error(transparent)]
    Unfit(#[from] OperationError),
    /// The value is NaN.
    #[error(transparent)]
    Value(#[from] ValueError),
    /// The text is not here, or has no such position.
    #[error(transparent)]
    Edit(#[from] EditError),
    /// It cannot be called now.
    #[error(transparent)]
    Call(#[from] CallError),
}

/// One column of one row. Each write is a transaction of its own, queued and kept like any mutation.
pub struct Live<T, C> {
    client: Client,
    key: Vec<Value>,
    row: RowKey,
    column: Column<T, C>,
    order: ListOrder,
}

/// One row.
pub struct LiveRow<T> {
    client: Client,
    key: Vec<Value>,
    row: RowKey,
    table: std::marker::PhantomData<fn() -> T>,
}

impl Client {
    /// Binds a column of a row.
    ///
    /// # Errors
    /// [`LiveError::Type`] when the client's schema has another type there, also when only one of the two may be null; [`LiveError::Unfit`] when the key is
    /// none of the table.
    pub fn live<T: Table, C: ColumnKind>(
        &self,
        column: Column<T, C>,
        key: impl IntoKey,
    ) -> Result<Live<T, C>, LiveError> {
        let schema = self.schema();
        let order = check_column::<T, C>(&schema, column.name())?;
        let row = check_key::<T>(&schema, &key)?;
        Ok(Live { client: self.clone(), key: key.values(), row, column, order })
    }

    /// Binds a row as a struct.
    ///
    /// # Errors
    /// As [`Client::live`], of any column of the struct.
    pub fn live_row<T: Table>(&self, key: impl IntoKey) -> Result<LiveRow<T>, LiveError> {
        let schema = self.schema();
        for (name, definition) in T::columns() {
            check_kind(&schema, T::NAME, name, definition.column())?;
        }
        let row = check_key::<T>(&schema, &key)?;
        Ok(LiveRow { client: self.clone(), key: key.values(), row, table: std::marker::PhantomData })
    }
}

impl<T: Table + Send + Sync + 'static> LiveRow<T> {
    /// Follows the row; `None` while it is not there.
    pub fn watch(&self, view: View) -> Reaction<Option<T>> {
        let key = self.key.clone();
        self.client.react(view, move |tx| tx.get::<T>(key.clone()))
    }

    /// Binds one of its columns.
    ///
    /// # Errors
    /// None that [`Client::live_row`] did not have.
    pub fn column<C: ColumnKind>(&self, column: Column<T, C>) -> Result<Live<T, C>, LiveError> {
        self.client.live(column, self.key.clone())
    }
}

impl<T: Table + 'static, C: ColumnKind + Send + Sync + 'static> Live<T, C> {
    /// Follows what it holds.
    pub fn watch(&self, view: View) -> Reaction<C> {
        let (key, column) = (self.key.clone(), self.column);
        self.client.react(view, move |tx| tx.at(column, key.clone()).read())
    }
}

impl<T: Table, C> Live<T, C> {
    fn write(&self, operation: Operation) -> Result<MutationHandle, LiveError> {
        let column = ColumnId::of(self.column.name());
        let cell = Cell { table: TableId::of(T::NAME), row: self.row.clone(), column };
        call(&self.client, &[Write { cell, operation }])
    }

    fn put_new_id(&self) -> Result<(Id, MutationHandle), LiveError> {
        let id = Id::from_u128(random_id());
        Ok((id, self.write(Operation::Put(Value::Id(id)))?))
    }
}

impl<T: Table, S: Scalar> Live<T, S> {
    /// Sets the value.
    ///
    /// # Errors
    /// [`LiveError::Value`] when it is NaN; [`LiveError::Call`].
    pub fn set(&self, value: impl Into<S>) -> Result<MutationHandle, LiveError> {
        self.write(Operation::Put(value.into().to_value()?))
    }
}

impl<T: Table, S: Scalar> Live<T, Option<S>> {
    /// Sets the value; `None` is null.
    ///
    /// # Errors
    /// [`LiveError::Value`] when it is NaN; [`LiveError::Call`].
    pub fn set(&self, value: Option<S>) -> Result<MutationHandle, LiveError> {
        self.write(Operation::Put(nullable(value)?))
    }
}

impl<T: Table> Live<T, Id> {
    /// Puts a new id, which no other call makes, and returns it.
    ///
    /// # Errors
    /// [`LiveError::Call`].
    pub fn generate(&self) -> Result<(Id, MutationHandle), LiveError> {
        self.put_new_id()
    }
}

impl<T: Table> Live<T, Option<Id>> {
    /// Puts a new id, which no other call makes, and returns it.
    ///
    /// # Errors
    /// [`LiveError::Call`].
    pub fn generate(&self) -> Result<(Id, MutationHandle), LiveError> {
        self.put_new_id()
    }
}

impl<T: Table, S: Scalar> Live<T, Register<S>> {
    /// Sets the value. Of concurrent ones the last committed counts.
    ///
    /// # Errors
    /// [`LiveError::Value`] when it is NaN; [`LiveError::Call`].
    pub fn set(&self, value: impl Into<S>) -> Result<MutationHandle, LiveError> {
        self.write(Operation::Assign(value.into().to_value()?))
    }
}

impl<T: Table> Live<T, Counter> {
    /// Adds to it.
    ///
    /// # Errors
    /// [`LiveError::Call`].
    pub fn add(&self, amount: i64) -> Result<MutationHandle, LiveError> {
        self.write(Operation::Add(amount))
    }

    /// Gives it a total.
    ///
    /// # Errors
    /// [`LiveError::Call`].
    pub fn set(&self, total: i64) -> Result<MutationHandle, LiveError> {
        self.write(Operation::PutTotal(total))
    }
}

impl<T: Table, S: Scalar> Live<T, Set<S>> {
    /// Puts a member in.
    ///
    /// # Errors
    /// [`LiveError::Value`] when it is NaN; [`LiveError::Call`].
    pub fn insert(&self, member: impl Into<S>) -> Result<MutationHandle, LiveError> {
        self.write(Operation::Insert(member.into().to_value()?))
    }

    /// Takes a member out.
    ///
    /// # Errors
    /// [`LiveError::Value`] when it is NaN; [`LiveError::Call`].
    pub fn remove(&self, member: impl Into<S>) -> Result<MutationHandle, LiveError> {
        self.write(Operation::Remove(member.into().to_value()?))
    }
}

impl<T: Table, S: Scalar> Live<T, List<S>> {
    /// Appends an element.
    ///
    /// # Errors
    /// [`LiveError::Value`] when it is NaN; [`LiveError::Call`].
    pub fn push(&self, element: impl Into<S>) -> Result<MutationHandle, LiveError> {
        self.write(Operation::Append { value: element.into().to_value()?, order: self.order })
    }

    /// Replaces an element. If there is none at the index, the mutation is cancelled.
    ///
    /// # Errors
    /// [`LiveError::Value`] when it is NaN; [`LiveError::Call`].
    pub fn set(&self, index: u32, element: impl Into<S>) -> Result<MutationHandle, LiveError> {
        self.write(Operation::SetAt { index, value: element.into().to_value()? })
    }
}

impl<T: Table, S: Scalar> Live<T, Map<S>> {
    /// Puts an entry in.
    ///
    /// # Errors
    /// [`LiveError::Value`] when it is NaN; [`LiveError::Call`].
    pub fn put(&self, entry: &str, value: impl Into<S>) -> Result<MutationHandle, LiveError> {
        self.write(Operation::PutEntry { key: entry.into(), value: value.into().to_value()? })
    }

    /// Takes an entry out.
    ///
    /// # Errors
    /// [`LiveError::Call`].
    pub fn remove(&self, entry: &str) -> Result<MutationHandle, LiveError> {
        self.write(Operation::RemoveEntry { key: entry.into() })
    }
}

impl<T: Table> Live<T, Text> {
    /// Inserts at a position of the text as this client shows it optimistically. The edit stays where it was made, whatever others insert.
    ///
    /// # Errors
    /// [`LiveError::Edit`] when nothing here watches the text, or it has no such position; [`LiveError::Call`].
    pub fn insert(&self, at: u32, text: &str) -> Result<MutationHandle, LiveError> {
        self.splice(at, 0, text)
    }

    /// Removes so many UTF-16 units.
    ///
    /// # Errors
    /// As [`Live::insert`].
    pub fn remove(&self, at: u32, length: u32) -> Result<MutationHandle, LiveError> {
        self.splice(at, length, "")
    }

    /// Removes units and inserts a text in their place.
    ///
    /// # Errors
    /// As [`Live::insert`].
    pub fn splice(&self, at: u32, removed: u32, inserted: &str) -> Result<MutationHandle, LiveError> {
        let column = ColumnId::of(self.column.name());
        let cell = Cell { table: TableId::of(T::NAME), row: self.row.clone(), column };
        self.client.edit(&cell, &Splice { at, removed, inserted })
    }
}

/// Calls one mutation that makes these changes.
fn call(client: &Client, writes: &[Write]) -> Result<MutationHandle, LiveError> {
    let arguments = live_arguments(&client.schema(), writes)?;
    Ok(client.call(LIVE, &arguments)?)
}

/// The order of the list that the schema has there, if it is one.
fn check_column<T: Table, C: ColumnKind>(schema: &Schema, column: &str) -> Result<ListOrder, LiveError> {
    match check_kind(schema, T::NAME, column, ColumnDefinition::of::<C>().column())? {
        ColumnType::List { of: _, order } => Ok(order),
        ColumnType::Scalar(_)
        | ColumnType::Register(_)
        | ColumnType::Counter
        | ColumnType::Set(_)
        | ColumnType::Map(_)
        | ColumnType::Text => Ok(ListOrder::Strict),
    }
}

/// What the schema has there, if that is of the wanted type, and null where it may be wanted. The order of a list is the schema's.
fn check_kind(
    schema: &Schema,
    table: &'static str,
    column: &str,
    wanted: &iolite_values::Column,
) -> Result<ColumnType, LiveError> {
    let found = schema.table(table).and_then(|table| table.columns.get(column));
    let same_type = |found: ColumnType| match (found, wanted.kind) {
        (ColumnType::List { of, .. }, ColumnType::List { of: own, .. }) => of == own,
        (found, wanted) => found == wanted,
    };
    match found {
        Some(found) if found.optional == wanted.optional && same_type(found.kind) => Ok(found.kind),
        found => Err(LiveError::Type {
            table,
            column: column.to_owned(),
            found: found.map_or("nothing".to_owned(), in_words),
            wanted: in_words(wanted),
        }),
    }
}

fn check_key<T: Table>(schema: &Schema, key: &impl IntoKey) -> Result<RowKey, LiveError> {
    let row = key.key().map_err(OperationError::from)?;
    let (name, table) = schema.find(TableId::of(T::NAME))?;
    table.check_key_of(name, &row)?;
    Ok(row)
}

fn in_words(column: &iolite_values::Column) -> String {
    let kind = match column.kind {
        ColumnType::Scalar(scalar) => scalar.name().to_owned(),
        ColumnType::Counter => "a counter".to_owned(),
        ColumnType::Text => "a text".to_owned(),
        ColumnType::Register(of) | ColumnType::Set(of) | ColumnType::Map(of) => {
            format!("a {} of {}", column.kind.name(), of.name())
        }
        ColumnType::List { of, order: _ } => format!("a list of {}", of.name()),
    };
    if column.optional { format!("{kind} or null") } else { kind }
}
