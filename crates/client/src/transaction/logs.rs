//! Reads and writes of logs: which ones a run may do.
//!
//! Invariants: an operation reads and writes its own log and nothing else, so every member that has replayed as far gets the same; no other run writes to a
//! log, and no mutation rests on one.

use iolite_values::{Cell, Interest, RowKey, TableId, Write};

use super::{RunError, RunOf, Transaction};

impl Transaction<'_> {
    /// # Errors
    /// [`RunError::LogNotJoined`], [`RunError::OfALog`], [`RunError::NotOfThisLog`].
    pub(super) fn check_log_of_read(&self, interest: &Interest) -> Result<(), RunError> {
        let table = interest.table();
        let log = self.schema.table_by_id(table).and_then(|table| table.log());
        let named = |log: &str| (self.schema.table_name(table).unwrap_or("?").to_owned(), log.to_owned());
        match (&self.run.log, log) {
            (None, None) => Ok(()),
            (None, Some(log)) if matches!(self.run.of, RunOf::Mutation(_)) => {
                let (table, log) = named(log);
                Err(RunError::OfALog { table, log })
            }
            (None, Some(_)) if self.reader.has_local(interest) => Ok(()),
            (None, Some(log)) => {
                let (table, log) = named(log);
                Err(RunError::LogNotJoined { table, log })
            }
            (Some(own), Some(log)) if own.name == *log && own.rows(table).covers(interest) => Ok(()),
            (Some(own), _) => {
                let (table, log) = named(&own.name);
                Err(RunError::NotOfThisLog { table, log })
            }
        }
    }

    /// # Errors
    /// [`RunError::OfALog`], [`RunError::NotOfThisLog`].
    pub(super) fn check_log_of_write(&self, write: &Write) -> Result<(), RunError> {
        let Cell { table, row, .. } = &write.cell;
        let name = || self.schema.table_name(*table).unwrap_or("?").to_owned();
        match (&self.run.log, self.log_of(*table, row)) {
            (None, None) => Ok(()),
            (None, Some(log)) => Err(RunError::OfALog { table: name(), log }),
            (Some(own), _) if own.rows(*table).includes(&write.cell) && self.is_table_of(*table, &own.name) => Ok(()),
            (Some(own), _) => Err(RunError::NotOfThisLog { table: name(), log: own.name.to_string() }),
        }
    }

    fn log_of(&self, table: TableId, row: &RowKey) -> Option<String> {
        self.schema.log_of(table, row).map(|log| log.name.to_string())
    }

    fn is_table_of(&self, table: TableId, log: &str) -> bool {
        self.schema.table_by_id(table).and_then(|table| table.log()).is_some_and(|own| **own == *log)
    }
}
