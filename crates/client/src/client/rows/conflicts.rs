//! Conflicts of causal tables: listed, decided, told of.
//!
//! Invariant: the host is told of a table when the list of its conflicts is another than it was told.

use std::collections::BTreeSet;

use iolite_machine::WallTime;
use iolite_rowsync::{Choice, Conflict, ResolveError, Scheme, row_version};
use iolite_values::{Counter, Row, RowKey, TableId, set_of};

use super::{KeptCall, Synced, confirmed};
use crate::client::Client;
use crate::client::mutations::CallError;
use crate::interface::{MutationStatus, Output};
use crate::queue::{Copies, Mutation, MutationKind};

/// Why conflicts were not resolved.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConflictError {
    #[error("table {table:?} has no conflicts: only causal tables with onConflict \"manual\" have")]
    NoConflicts { table: String },
    #[error(transparent)]
    Call(#[from] CallError),
    #[error(transparent)]
    Resolve(#[from] ResolveError),
}

impl Client {
    /// The conflicts of a table, in the order of keys. A row that is deleted is `None`.
    ///
    /// # Errors
    /// [`ConflictError::NoConflicts`]: the table is not causal.
    pub fn conflicts(&self, table: &str) -> Result<Vec<Conflict>, ConflictError> {
        let id = self.causal(table)?;
        Ok(self.rows.tables.get(&id).map(|own| self.conflicts_of(id, own)).unwrap_or_default())
    }

    fn conflicts_of(&self, table: TableId, own: &Synced) -> Vec<Conflict> {
        own.rows.conflicts(self.cache.at(), |key| confirmed(&self.cache, table, key))
    }

    /// Decides conflicts of a table, all of these or none. What it writes is a call of its own, whose counter is returned.
    ///
    /// # Errors
    /// [`ConflictError`], and nothing has changed.
    pub fn resolve(&mut self, now: WallTime, table: &str, choices: &[Choice]) -> Result<Counter, ConflictError> {
        let id = self.causal(table)?;
        self.check_call(&MutationKind::Closure)?;
        let counter = self.next_counter();
        let (at, cache) = (self.cache.at(), &self.cache);
        let broken = self.rows.broken;
        let own = self.rows.tables.entry(id).or_insert_with(|| Synced::empty(id, Scheme::Causal, broken));
        let keys: Vec<RowKey> = own.rows.keys().cloned().collect();
        let resolved = own.rows.resolve(counter, choices, at, |key| confirmed(cache, id, key))?;
        let mutation = Mutation { counter, kind: MutationKind::Closure, called_at: now, ticket: None, log: None };
        if resolved.is_kept {
            let (mutation, saving) = (mutation.clone(), Some(self.disk.last.next()));
            self.rows.calls.insert(counter, KeptCall { mutation, table: id, saving, copies: Copies::NoMore });
        }
        self.disk.due = true;
        self.end_kept(resolved.endings);
        self.note_kept(id, keys);
        if resolved.is_kept {
            self.report_kept(counter);
        } else {
            self.tell_once_stored(mutation, MutationStatus::Confirmed { at });
        }
        Ok(counter)
    }

    fn causal(&self, table: &str) -> Result<TableId, ConflictError> {
        let scheme = self.schema.table(table).and_then(|own| Scheme::of(&own.consistency));
        match scheme {
            Some(Scheme::Causal) => Ok(TableId::of(table)),
            Some(Scheme::Eventual) | None => Err(ConflictError::NoConflicts { table: table.to_owned() }),
        }
    }

    /// Tells the host which tables have other conflicts than it was told.
    pub(in crate::client) fn tell_conflicts(&mut self) -> bool {
        let mut told_any = false;
        let doubtful: Vec<TableId> =
            self.rows.tables.iter().filter(|(_, own)| own.is_doubtful).map(|(table, _)| *table).collect();
        for table in doubtful {
            let Some(own) = self.rows.tables.get(&table) else { continue };
            let version = |row: &Option<Row>| row_version(row.as_ref().unwrap_or(&Row::default()));
            let conflicts = self.conflicts_of(table, own);
            let now: Vec<_> = conflicts
                .iter()
                .map(|conflict| (conflict.key.clone(), conflict.server_version, version(&conflict.local)))
                .collect();
            let before: BTreeSet<Counter> = set_of(own.rows.calls());
            let Some(own) = self.rows.tables.get_mut(&table) else { continue };
            own.is_doubtful = false;
            if own.told != now {
                own.told = now;
                self.outputs.push_back(Output::Conflicts(table));
                before.into_iter().for_each(|call| self.report_kept(call));
                told_any = true;
            }
        }
        told_any
    }
}
