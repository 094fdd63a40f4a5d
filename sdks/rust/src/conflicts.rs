//! Conflicts of causal tables, and how a person decides them.

use std::marker::PhantomData;
use std::sync::Arc;

use iolite_client::{Base, Choice, Conflict, ConflictError, Keep};
use iolite_values::{ColumnId, Counter, Operation, Row, TableId, Value};
use tokio::sync::watch;

use crate::error::Abort;
use crate::mutation::MutationHandle;
use crate::row::Record;
use crate::shared::Shared;
use crate::table::Table;

/// The conflicts of a causal table: [`Client::conflicts`](crate::Client::conflicts).
///
/// A row is in conflict if this device and somebody else have written it, unseen by each other. The device shows its own row until a person has decided. The
/// conflict is there after a restart, and the row can be written meanwhile.
#[derive(Clone, Debug)]
pub struct Conflicts<T> {
    shared: Arc<Shared>,
    changes: watch::Receiver<u64>,
    of: PhantomData<fn() -> T>,
}

/// A row in conflict.
#[derive(Clone, Debug)]
pub struct RowConflict<T> {
    /// The row that the calls had read. `None`: there was none, or the device does not have it any more.
    pub base: Option<T>,
    /// The row as this device shows it. `None`: deleted here.
    pub local: Option<T>,
    /// The row as the server has it. `None`: deleted there.
    pub server: Option<T>,
    /// The calls that have written it here.
    pub calls: Vec<Counter>,
    conflict: Conflict,
}

/// A person's decision about one row: [`RowConflict::keep_local`] and others.
#[derive(Clone, Debug)]
pub struct Resolution(Choice);

/// Why conflicts were not resolved. None of them was.
#[derive(Debug, thiserror::Error)]
pub enum ResolveConflictsError {
    /// The table has no conflicts, or one of these rows was written again meanwhile.
    #[error(transparent)]
    Conflict(#[from] ConflictError),
    /// A row that no table can hold.
    #[error(transparent)]
    Row(#[from] Abort),
}

impl<T: Table> Conflicts<T> {
    pub(crate) fn new(shared: Arc<Shared>) -> Conflicts<T> {
        let changes = shared.with(|inner| inner.follow_conflicts(TableId::of(T::NAME)));
        Conflicts { shared, changes, of: PhantomData }
    }

    /// All conflicts, in the order of keys.
    ///
    /// # Errors
    /// [`ResolveConflictsError`]: the table is not causal, or a row does not fit the struct.
    pub fn list(&self) -> Result<Vec<RowConflict<T>>, ResolveConflictsError> {
        self.shared.with(|inner| {
            let schema = inner.core.schema().clone();
            let conflicts = inner.core.conflicts(T::NAME)?;
            let record = |conflict: &Conflict, row: &Row| {
                let values = conflict.key.values().map_err(|error| Abort::Mistake(error.to_string()))?;
                let definition =
                    schema.table(T::NAME).ok_or_else(|| Abort::Mistake("there is no such table".into()))?;
                T::from_record(&Record::new(definition, values, row.clone()))
            };
            let read = |conflict: Conflict| {
                let side = |row: Option<&Row>| row.map(|row| record(&conflict, row)).transpose();
                let base = match &conflict.base {
                    Base::Row(row) => Some(row).filter(|row| row.exists()),
                    Base::Version(_) => None,
                };
                Ok(RowConflict {
                    base: side(base)?,
                    local: side(conflict.local.as_ref())?,
                    server: side(conflict.server.as_ref())?,
                    calls: conflict.calls.iter().copied().collect(),
                    conflict,
                })
            };
            conflicts.into_iter().map(read).collect()
        })
    }

    /// Waits until the conflicts are others than when this was last called, or than when these were asked for. False when the client is closed.
    ///
    /// Cancel safe: giving up the wait changes nothing.
    pub async fn changed(&mut self) -> bool {
        self.changes.changed().await.is_ok()
    }

    /// Decides conflicts: all of these or none. What it writes is a call like any other.
    ///
    /// # Errors
    /// [`ResolveConflictsError`], and nothing has changed: the server's row is another than the one that the person saw.
    pub fn resolve(
        &self,
        resolutions: impl IntoIterator<Item = Resolution>,
    ) -> Result<MutationHandle, ResolveConflictsError> {
        let choices: Vec<Choice> = resolutions.into_iter().map(|Resolution(choice)| choice).collect();
        let now = self.shared.clock.now().wall;
        let resolved = self.shared.with(|inner| {
            let counter = inner.core.resolve(now, T::NAME, &choices)?;
            Ok::<_, ConflictError>(inner.follow(counter))
        });
        Ok(resolved?)
    }
}

impl<T: Table> RowConflict<T> {
    /// The device's row stands.
    pub fn keep_local(&self) -> Resolution {
        self.keep_as(Keep::Local)
    }

    /// The server's row stands, and the calls that wrote this one here end as overruled.
    pub fn keep_server(&self) -> Resolution {
        self.keep_as(Keep::Server)
    }

    /// This row stands: what a person, or the app, made of both.
    ///
    /// # Errors
    /// As [`Table::content`].
    pub fn keep(&self, row: &T) -> Result<Resolution, Abort> {
        let mut cells = iolite_client::Cells::new();
        for (column, operations) in row.content()? {
            let value = operations.into_iter().find_map(|operation| match operation {
                Operation::Put(value) | Operation::Assign(value) => Some(value),
                Operation::Create
                | Operation::Delete
                | Operation::Add(_)
                | Operation::PutTotal(_)
                | Operation::Insert(_)
                | Operation::Remove(_)
                | Operation::Append { .. }
                | Operation::SetAt { .. }
                | Operation::PutEntry { .. }
                | Operation::RemoveEntry { .. }
                | Operation::Edit(_)
                | Operation::Merge(_) => None,
            });
            cells.insert(ColumnId::of(column), value.unwrap_or(Value::Null));
        }
        Ok(self.keep_as(Keep::Values(cells)))
    }

    fn keep_as(&self, keep: Keep) -> Resolution {
        Resolution(Choice { key: self.conflict.key.clone(), server: self.conflict.server_version, keep })
    }
}
