//! The record of a proposal, and whether what it makes of rows can still be written.
//!
//! Both are asked before anything is decided: what is accepted must fit into journal and checkpoint.

use std::collections::BTreeMap;

use iolite_store::Refusal;
use iolite_values::{Row, RowKey, TableId, Write};

use super::Replica;
use crate::journal::{JournalRecord, RECORD_BYTES_MAX, ROW_BYTES_MAX, growth_bytes, row_bytes};

pub(super) fn encode(record: &JournalRecord) -> Result<Vec<u8>, Refusal> {
    let record = record.encode().ok().filter(|record| record.len() <= RECORD_BYTES_MAX);
    record.ok_or(Refusal::TransactionTooLarge { bytes_max: RECORD_BYTES_MAX })
}

impl Replica {
    /// Whether every row stays small enough. Asked after the types: these operations can be applied.
    pub(super) fn check_rows(&self, writes: &[Write]) -> Result<(), Refusal> {
        let mut growth: BTreeMap<(TableId, &RowKey), usize> = BTreeMap::new();
        for write in writes {
            *growth.entry((write.cell.table, &write.cell.row)).or_default() += growth_bytes(write);
        }
        for ((table, key), bytes) in growth {
            let row = self.versions.row(table, key);
            // Counting is for rows that come near; nearly all are far from it.
            let near = row.map_or(0, |row| row.bytes_bound()) + bytes > ROW_BYTES_MAX;
            if near && self.bytes_after(table, key, writes) > ROW_BYTES_MAX {
                return Err(Refusal::RowTooLarge { table, key: key.clone(), bytes_max: ROW_BYTES_MAX });
            }
        }
        Ok(())
    }

    fn bytes_after(&self, table: TableId, key: &RowKey, writes: &[Write]) -> usize {
        let mut row = self.versions.row(table, key).map_or_else(Row::default, |row| row.latest().clone());
        for write in writes.iter().filter(|write| write.cell.table == table && write.cell.row == *key) {
            row.apply(write.cell.column, &write.operation).expect("types were checked before");
        }
        row_bytes(&row)
    }
}
