//! Kept calls of an earlier life of the app.
//!
//! Invariant: a change set that may have been sent is closed before anything else is judged or sent of its table.

use std::collections::BTreeMap;

use iolite_machine::WallTime;
use iolite_rowsync::{RowSync, Scheme};
use iolite_values::{Counter, Schema, TableId, map_of};
use iolite_wire::client_storage::StoredMutation;

use super::{KeptCall, Synced};
use crate::client::Client;
use crate::queue::{Copies, Mutation, MutationKind};
use crate::storage::OpenError;
use crate::tabs::Ticket;

/// The stored entries of one table.
type Stored<'a> = Vec<(&'a [u8], &'a [u8])>;

impl Client {
    /// Takes up what is stored of kept calls. Those of tables that the app's schema lacks stay where they are.
    ///
    /// # Errors
    /// [`OpenError::Kept`].
    pub(in crate::client) fn restore_kept(
        &mut self,
        entries: &BTreeMap<Vec<u8>, Vec<u8>>,
        calls: Vec<StoredMutation>,
    ) -> Result<(), OpenError> {
        let mut by_table: BTreeMap<TableId, Stored<'_>> = BTreeMap::new();
        for (key, value) in entries {
            let table = RowSync::table_of_entry(key).ok_or_else(|| OpenError::UnknownKey(key.clone()))?;
            by_table.entry(table).or_default().push((key, value));
        }
        let mut of_calls: BTreeMap<Counter, StoredMutation> =
            map_of(calls.into_iter().map(|call| (call.counter, call)));
        for (table, entries) in by_table {
            let Some(scheme) = scheme_of(&self.schema, table) else {
                // Another version of the app has the table. Its calls stay, and its open set is acknowledged by that version.
                let rows = RowSync::restore(table, Scheme::Causal, entries)?;
                rows.calls().for_each(|call| drop(of_calls.remove(&call)));
                self.rows.open_elsewhere = self.rows.open_elsewhere.into_iter().chain(rows.open_set()).min();
                continue;
            };
            let rows = RowSync::restore(table, scheme, entries)?;
            for counter in rows.calls() {
                let mutation = restored_call(counter, of_calls.remove(&counter));
                self.rows.calls.insert(counter, KeptCall { mutation, table, saving: None, copies: Copies::MayCome });
            }
            let closing = rows.closing();
            self.rows.tables.insert(table, Synced::new(rows));
            if let Some(counter) = closing {
                self.push_closing_set(table, counter);
            }
        }
        // Their effects are gone: they ended, and the app did before it could say so.
        of_calls.into_keys().for_each(|counter| self.disk.changes.forget_mutation(counter));
        self.look_at_kept_again();
        Ok(())
    }
}

fn scheme_of(schema: &Schema, table: TableId) -> Option<Scheme> {
    Scheme::of(&schema.table_by_id(table)?.consistency)
}

fn restored_call(counter: Counter, stored: Option<StoredMutation>) -> Mutation {
    let none =
        Mutation { counter, kind: MutationKind::Closure, called_at: WallTime::default(), ticket: None, log: None };
    let Some(StoredMutation { name, arguments, called_at_micros, ticket, .. }) = stored else { return none };
    let kind = MutationKind::Named { name: name.into(), arguments: arguments.into() };
    let called_at = WallTime::from_micros(called_at_micros);
    Mutation { kind, called_at, ticket: ticket.map(Ticket), ..none }
}
