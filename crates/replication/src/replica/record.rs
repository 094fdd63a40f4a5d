//! The record that decides a transaction, and whether what it makes of rows can still be written.
//!
//! Both are asked before anything is decided: what is accepted must fit into journal and checkpoint.

use std::collections::BTreeMap;

use iolite_store::Refusal;
use iolite_values::{Decision, RowKey, TableId, Timestamp, Transaction, Write};

use super::Replica;
use crate::journal::{Completed, CompletedDecision, JournalRecord, RECORD_BYTES_MAX, ROW_BYTES_MAX, growth_bytes};

pub(super) fn encode(transaction: &Transaction, at: Timestamp) -> Result<Vec<u8>, Refusal> {
    let decision = match &transaction.decision {
        Decision::Commit(writes) => CompletedDecision::Committed(writes.clone()),
        Decision::Abort(_) => CompletedDecision::Aborted,
    };
    let completed = Completed { transaction: transaction.id, attempt: transaction.attempt, at, decision };
    let record = JournalRecord::Completed(completed).encode().ok();
    let record = record.filter(|record| record.len() <= RECORD_BYTES_MAX);
    record.ok_or(Refusal::TransactionTooLarge { bytes_max: RECORD_BYTES_MAX })
}

impl Replica {
    /// Whether every row stays small enough. Only a row's own size counts, not what it was before or will be.
    pub(super) fn check_rows(&self, writes: &[Write]) -> Result<(), Refusal> {
        let mut growth: BTreeMap<(TableId, &RowKey), usize> = BTreeMap::new();
        for write in writes {
            *growth.entry((write.cell.table, &write.cell.row)).or_default() += growth_bytes(write);
        }
        for ((table, key), bytes) in growth {
            let bound = self.versions.row(table, key).map_or(0, |row| row.bytes_bound());
            if bound + bytes > ROW_BYTES_MAX {
                return Err(Refusal::RowTooLarge { table, key: key.clone(), bytes_max: ROW_BYTES_MAX });
            }
        }
        Ok(())
    }
}
