//! The record of a proposal, and whether what it makes of rows can still be written.
//!
//! Both are asked before anything is decided: what is accepted must fit into journal and checkpoint.

use std::collections::BTreeMap;

use iolite_store::Refusal;
use iolite_values::{Row, RowKey, TableId, Write};

use super::Replica;
use crate::journal::{JournalRecord, RECORD_BYTES_MAX, ROW_BYTES_MAX, growth_bytes, row_bytes};
use crate::node::{Objection, Proposal, ProposalId};

pub(super) fn encode(record: &JournalRecord) -> Result<Vec<u8>, Refusal> {
    let record = record.encode().ok().filter(|record| record.len() <= RECORD_BYTES_MAX);
    record.ok_or(Refusal::TransactionTooLarge { bytes_max: RECORD_BYTES_MAX })
}

impl Replica {
    /// Whether every row stays small enough, whatever becomes of what is prepared. Asked after the types: these operations can be applied.
    pub(super) fn check_rows(&self, proposal: &Proposal) -> Result<(), Objection> {
        let writes = proposal.writes();
        let mut growth: BTreeMap<(TableId, &RowKey), usize> = BTreeMap::new();
        for write in writes {
            *growth.entry((write.cell.table, &write.cell.row)).or_default() += growth_bytes(write);
        }
        for ((table, key), bytes) in growth {
            let row = self.versions.row(table, key);
            let (coming, with) = self.prepared_growth(table, key);
            // Counting is for rows that come near; nearly all are far from it.
            if row.map_or(0, |row| row.bytes_bound()) + bytes + coming <= ROW_BYTES_MAX {
                continue;
            }
            let after = self.bytes_after(table, key, writes);
            if after > ROW_BYTES_MAX {
                let refusal = Refusal::RowTooLarge { table, key: key.clone(), bytes_max: ROW_BYTES_MAX };
                return Err(Objection::Refused(refusal));
            }
            if let Some(with) = with.filter(|_| after + coming > ROW_BYTES_MAX) {
                return Err(Objection::Busy { with });
            }
        }
        Ok(())
    }

    /// By how much a row may grow by what is prepared, and by the last of which.
    fn prepared_growth(&self, table: TableId, key: &RowKey) -> (usize, Option<ProposalId>) {
        let (mut bytes, mut last) = (0, None);
        for other in self.prepared.touching_row(table, key) {
            for write in other.writes().iter().filter(|write| write.cell.table == table && write.cell.row == *key) {
                (bytes, last) = (bytes + growth_bytes(write), Some(other.id));
            }
        }
        (bytes, last)
    }

    fn bytes_after(&self, table: TableId, key: &RowKey, writes: &[Write]) -> usize {
        let mut row = self.versions.row(table, key).map_or_else(Row::default, |row| row.latest().clone());
        for write in writes.iter().filter(|write| write.cell.table == table && write.cell.row == *key) {
            row.apply(write.cell.column, &write.operation).expect("types were checked before");
        }
        row_bytes(&row)
    }
}
