//! The life of rows: one is created only where none is, so that whoever creates it need not have read that (docs/decisions/0021).
//!
//! Invariant: what creates or deletes a row has one order in all histories (`tapir::conflict`), so the last commit that is here tells for good, or its
//! proposal is prepared and in the way.

use std::collections::BTreeMap;

use iolite_values::{Operation, RowKey, TableId, Write};

use super::Replica;
use super::lists::Place;

impl Replica {
    pub(super) fn place_in_lives(&self, writes: &[Write]) -> Place {
        // As the transaction's own operations leave them.
        let mut there: BTreeMap<(TableId, &RowKey), bool> = BTreeMap::new();
        for write in writes.iter().filter(|write| write.operation.is_of_life()) {
            let (table, key) = (write.cell.table, &write.cell.row);
            let creates = write.operation == Operation::Create;
            let was_there = there.insert((table, key), creates);
            if creates && was_there.unwrap_or_else(|| self.has_row(table, key)) {
                return self.below_last_of(table, key);
            }
        }
        Place::Free
    }

    fn has_row(&self, table: TableId, key: &RowKey) -> bool {
        self.versions.row(table, key).is_some_and(|row| row.latest().exists())
    }

    /// It has to be run again on the row as it is now.
    pub(super) fn below_last_of(&self, table: TableId, key: &RowKey) -> Place {
        let last = self.versions.row(table, key).and_then(|row| row.history().last());
        Place::Nowhere { at_least: last.map_or(self.barrier, |version| version.at.max(self.barrier)) }
    }
}
