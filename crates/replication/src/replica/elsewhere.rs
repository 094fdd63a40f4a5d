//! Rows that are of another shard: a coordinator whose description of the cluster is wrong is told so.
//!
//! Invariant: of rows outside of the shard's extent no proposal is voted OK, no reads are called valid, and nothing is read at a timestamp. What a shard
//! says of its own configuration is kept by itself, wherever its rows are.
//! Source: Iolite's own (docs/protocols/replica.md).

use iolite_store::Refusal;
use iolite_values::{Interest, KeyRange, Read, RowKey, TableId};

use super::Replica;
use crate::configuration::configurations_table;
use crate::node::Proposal;
use crate::shards::Place;

impl Replica {
    pub(super) fn check_rows_are_here(&self, proposal: &Proposal) -> Result<(), Refusal> {
        if proposal.is_home {
            let Place { table, key } = Place::of_client(proposal.id.transaction.client);
            self.check_row_is_here(table, &key)?;
        }
        proposal.writes().iter().try_for_each(|write| self.check_row_is_here(write.cell.table, &write.cell.row))?;
        self.check_reads_are_here(&proposal.reads)
    }

    pub(super) fn check_reads_are_here(&self, reads: &[Read]) -> Result<(), Refusal> {
        reads.iter().try_for_each(|read| match read {
            Read::Cell { cell, element: _ } => self.check_row_is_here(cell.table, &cell.row),
            Read::Range { table, range } => self.check_range_is_here(*table, range),
            Read::Query(query) => self.check_range_is_here(query.table, &query.row_keys()),
        })
    }

    pub(super) fn check_interest_is_here(&self, interest: &Interest) -> Result<(), Refusal> {
        match interest {
            Interest::Cell(cell) => self.check_row_is_here(cell.table, &cell.row),
            Interest::Range { table, range } => self.check_range_is_here(*table, range),
            Interest::Query(query) => self.check_range_is_here(query.table, &query.row_keys()),
        }
    }

    fn check_row_is_here(&self, table: TableId, key: &RowKey) -> Result<(), Refusal> {
        refuse(table, self.settings.extent.has_row(table, key))
    }

    fn check_range_is_here(&self, table: TableId, range: &KeyRange) -> Result<(), Refusal> {
        refuse(table, self.settings.extent.has_range(table, range))
    }
}

fn refuse(table: TableId, is_here: bool) -> Result<(), Refusal> {
    match is_here || table == configurations_table() {
        true => Ok(()),
        false => Err(Refusal::OtherShard { table }),
    }
}
