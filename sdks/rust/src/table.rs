//! Tables as structs: a schema from types, and typed rows and columns.
//!
//! ```
//! use iolite::table::{Counter, Register, Set};
//! use iolite::{Table, schema};
//!
//! #[derive(Table, Clone, Debug, PartialEq)]
//! #[table(name = "notes")]
//! struct Note {
//!     #[key]
//!     id: String,
//!     #[index]
//!     title: String,
//!     body: Register<String>,
//!     likes: Counter,
//!     tags: Set<String>,
//!     #[column(default = 0)]
//!     rank: i64,
//!     photo: Option<Vec<u8>>,
//! }
//!
//! let schema = schema().with::<Note>().build()?;
//! assert!(schema.table("notes").is_some());
//!
//! let like = |tx: &mut iolite::Transaction<'_>, id: String| tx.at(Note::LIKES, &id).add(1);
//! let titles = |tx: &mut iolite::Transaction<'_>| {
//!     let notes = tx.all::<Note>()?;
//!     Ok::<_, iolite::Abort>(notes.into_iter().map(|note| note.title).collect::<Vec<_>>())
//! };
//! let top = |tx: &mut iolite::Transaction<'_>| {
//!     tx.query::<Note>().filter(Note::TITLE.begins_with("To do")).order_by_descending(Note::TITLE).limit(20).all()
//! };
//! # let _ = top;
//! # let _ = iolite::Mutators::new().with("like", like);
//! # let _ = titles;
//! # Ok::<(), iolite::SchemaError>(())
//! ```

mod cell;
mod column;
mod definition;
mod kinds;
mod query;

pub use cell::CellRef;
pub use column::Column;
pub use definition::{ColumnDefinition, SchemaBuilder, schema};
pub use iolite_values::{Consistency, Isolation, Offline, OnConflict, Operation, RowsWin};
pub use kinds::{ColumnKind, Counter, List, Map, Register, Scalar, Set, Text};
pub use query::{Comparable, Filter, InKey, QueryBuilder};

use iolite_values::{ListOrder, Value};

pub(crate) use kinds::{Checked, nullable, value as element};

use crate::error::{Abort, Result};
use crate::key::IntoKey;
use crate::row::{FromValue, Record};
use crate::transaction::Transaction;

/// A struct that is a row of a table. Derived: `#[derive(iolite::Table)]`.
///
/// On the struct: `#[table(name = "...")]`, by default the struct's name in snake case; `#[table(live)]` for rows that exist without being
/// inserted; `#[table(delivered)]` for the delivered view ([`crate::View::Delivered`]); `#[table(log = "...")]` for a table of a log ([`crate::Log`]); `#[table(causal)]` for a table that merges, which is written offline and never in conflict; `#[table(eventual)]` and `#[table(causal, on_conflict = "manual")]` for tables that sync ([`crate::Client::conflicts`]); `#[table(offline = "refuse")]` for a strong table that takes no changes without a connection; `#[table(isolation = "snapshot")]` or `"read-committed"` where strict serializability is more than is needed. On fields: `#[key]`, once or more, in order; `#[column(default = ...)]` for scalars and registers; `#[column(order = "commit")]` for
/// lists, by default `"strict"`. For every column there is a constant of its name in capitals.
///
/// Secondary indexes, by which queries find rows and put them in order: `#[index]` on a field, or `#[table(index(by_owner = [owner, created]))]` for one of several
/// columns.
pub trait Table: Sized {
    /// The table's name.
    const NAME: &'static str;
    /// Whether rows exist without being inserted.
    const LIVE: bool;
    /// Whether clients are told when everybody who follows a change has applied it, for the delivered view.
    const DELIVERED: bool = false;
    /// The log that it is a variable of.
    const LOG: Option<&'static str> = None;
    /// How transactions on it are kept apart.
    const ISOLATION: Isolation;
    /// Strong; or eventual or causal, so that it is written offline, and syncs.
    const CONSISTENCY: Consistency = Consistency::Strong;
    /// Whether changes of a strong table wait for a connection, or are refused without one.
    const OFFLINE: Offline = Offline::Queue;
    /// The types of the key's columns.
    type Key;

    /// The columns of the key, in order.
    fn key_columns() -> Vec<&'static str>;
    /// All columns.
    fn columns() -> Vec<(&'static str, ColumnDefinition)>;
    /// Secondary indexes by name, with their columns in order.
    fn indexes() -> Vec<(&'static str, Vec<&'static str>)> {
        Vec::new()
    }
    /// Reads a row.
    ///
    /// # Errors
    /// [`Abort::Mistake`] when a column holds another type than the struct says.
    fn from_record(record: &Record) -> Result<Self>;
    /// The values of the key.
    ///
    /// # Errors
    /// [`Abort::Mistake`] when one of them is NaN, which cannot be stored.
    fn key(&self) -> Result<Vec<Value>>;
    /// What makes a new row hold what the struct does.
    ///
    /// # Errors
    /// As [`Table::key`].
    fn content(&self) -> Result<Vec<(&'static str, Vec<Operation>)>>;
}

impl<'a> Transaction<'a> {
    /// A row; `None` if there is none.
    ///
    /// # Errors
    /// As [`Transaction::row`].
    pub fn get<T: Table>(&mut self, key: impl IntoKey) -> Result<Option<T>> {
        let record = self.row(T::NAME, key)?;
        record.as_ref().map(T::from_record).transpose()
    }

    /// The rows with these keys, in the order of the keys; `None` for those that are not there. All that are not here are fetched at once.
    ///
    /// # Errors
    /// As [`Transaction::row`].
    pub fn get_all<T: Table, K: IntoKey>(&mut self, keys: impl IntoIterator<Item = K>) -> Result<Vec<Option<T>>> {
        // Each is asked for, also after one that is missing.
        let rows: Vec<_> = keys.into_iter().map(|key| self.get::<T>(key)).collect();
        rows.into_iter().collect()
    }

    /// All rows, in key order.
    ///
    /// # Errors
    /// As [`Transaction::row`].
    pub fn all<T: Table>(&mut self) -> Result<Vec<T>> {
        self.all_with::<T>(&[])
    }

    /// The rows whose key begins with these values, in key order.
    ///
    /// # Errors
    /// As [`Transaction::row`].
    pub fn all_with<T: Table>(&mut self, prefix: &[Value]) -> Result<Vec<T>> {
        let records = self.rows(T::NAME, prefix)?;
        records.iter().map(T::from_record).collect()
    }

    /// Creates a row with all that the struct holds.
    ///
    /// # Errors
    /// As [`Transaction::insert`], and [`Abort::Mistake`] when a float is NaN.
    pub fn create<T: Table>(&mut self, row: &T) -> Result<()> {
        self.insert_content(T::NAME, &row.key()?, row.content()?)
    }

    /// One column of a row, to read and write alone.
    pub fn at<T: Table, C: ColumnKind>(&mut self, column: Column<T, C>, key: impl IntoKey) -> CellRef<'_, 'a, C> {
        CellRef::new(self, T::NAME, key.values(), column.name())
    }
}

/// A column of the key of a row.
///
/// # Errors
/// [`Abort::Mistake`] when it is of another type.
#[doc(hidden)]
pub fn key_column<T: FromValue>(record: &Record, place: usize) -> Result<T> {
    let value = record.key().get(place);
    value.and_then(T::from_value).ok_or_else(|| Abort::Mistake(format!("column {place} of the key is not {}", T::NAME)))
}

/// The order of a list column.
#[doc(hidden)]
pub fn list_order<T: Table>(column: &str) -> ListOrder {
    let definition = T::columns().into_iter().find(|(name, _)| *name == column);
    definition.map_or(ListOrder::Commit, |(_, definition)| definition.order())
}
