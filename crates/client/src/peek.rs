//! Looks at a view, at what is held and nothing else: no wait, no second run, no subscription.
//!
//! Invariant: a peek changes nothing. Its closure cannot write, its reads are not noted, and what it misses is not asked for.
//! Source: `GetState(view)` of Hercules (Lebeck 2020, section 3.3.3). Deviation: a device holds a part of the data, so there may be no answer.

use iolite_machine::WallTime;
use iolite_values::{Counter, DeviceSecret, Interest, KeyRange, RowKey, Schema};

use crate::cache::Cache;
use crate::transaction::{Missed, Random, Run, RunError};
use crate::view::{Overlay, View};

/// A peek that has begun. It is handed to [`crate::Client::peek_transaction`] for every call, and to [`crate::Client::end_peek`] at the end.
#[derive(Debug)]
pub struct Peek {
    pub(crate) run: Run,
    /// The pending mutations that are durable, if the view is theirs and these are not all.
    pub(crate) durable: Option<Overlay>,
}

impl Peek {
    pub(crate) fn new(view: View, secret: DeviceSecret, durable: Option<Overlay>) -> Peek {
        let random = Random::of(secret, Counter(0));
        Peek { run: Run::of_peek(view, WallTime::default(), random), durable }
    }

    /// Ends it.
    ///
    /// # Errors
    /// [`NotHeld`], of the first part that was missing.
    pub(crate) fn end(self, schema: &Schema, cache: &Cache, lack: Lack) -> Result<(), NotHeld> {
        let Some(Missed { interest, first: _ }) = self.run.missed.first() else { return Ok(()) };
        let why = if cache.interests.holds(interest) { lack } else { Lack::NotLoaded };
        let table = schema.table_name(interest.table()).unwrap_or("?").to_owned();
        Err(NotHeld { table, part: Part::of(interest), view: self.run.view, why })
    }
}

/// A view does not hold what was asked of it, and nothing was fetched.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{part} of table {table:?} is not held in the view {}: {why}", .view.name())]
pub struct NotHeld {
    pub table: String,
    pub part: Part,
    pub view: View,
    pub why: Lack,
}

/// The part of a table that is not held.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Part {
    #[error("row {0:?}")]
    Row(RowKey),
    #[error("a range of rows")]
    Range(KeyRange),
    #[error("an answer of a query")]
    Query,
    #[error("what was loaded")]
    Loaded,
}

impl Part {
    fn of(interest: &Interest) -> Part {
        match interest {
            Interest::Cell(cell) => Part::Row(cell.row.clone()),
            Interest::Range { table: _, range } => match RowKey::from_bytes(&range.lower) {
                Ok(key) if *range == KeyRange::one(&key) => Part::Row(key),
                Ok(_) | Err(_) => Part::Range(range.clone()),
            },
            Interest::Query(_) => Part::Query,
        }
    }
}

/// Why a view does not hold it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Lack {
    #[error("keep it on this device with a reaction or a pin, and look again once that has its data")]
    NotLoaded,
    /// The device loaded it after the state that the delivered view shows.
    #[error("it came later than that state, and is there once the own changes before it are delivered")]
    CameLater,
    /// The app was restarted.
    #[error("it is not known which changes of before the restart are delivered, and is there once all are")]
    NotKnown,
    #[error("a tab that follows another one does not have this view")]
    Follows,
}

/// Why a peek gave no value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PeekError<E> {
    #[error(transparent)]
    NotHeld(#[from] NotHeld),
    #[error("a closure runs: read with its own transaction, or look at a view when it has ended")]
    Nested,
    #[error("{0}")]
    Closure(E),
}

/// Why two views were not compared.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DifferenceError {
    #[error(transparent)]
    NotHeld(#[from] NotHeld),
    #[error("the schema has no table {table:?}")]
    NoTable { table: String },
    /// As of a read there.
    #[error(transparent)]
    NotDelivered(RunError),
}
