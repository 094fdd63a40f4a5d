//! Proposals by the rows that they touch, so that those that may conflict with another one are found without looking at all.
//!
//! Invariant: every proposal that conflicts with a given one is among those that touch it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use iolite_values::{KeyRange, Read, RowKey, TableId, Timestamp, TransactionId};

use crate::node::{Proposal, ProposalId};
use crate::scans::rows_of_scans;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProposalIndex {
    proposals: BTreeMap<ProposalId, Arc<Proposal>>,
    rows: BTreeSet<(TableId, RowKey, ProposalId)>,
    /// Those that read ranges of more than one row, or queries: any write may concern them.
    ranges: BTreeSet<ProposalId>,
    transactions: BTreeSet<(TransactionId, ProposalId)>,
}

impl ProposalIndex {
    pub fn insert(&mut self, proposal: Arc<Proposal>) {
        let id = proposal.id;
        self.rows.extend(rows(&proposal).map(|(table, row)| (table, row, id)));
        if reads_many_rows(&proposal) {
            self.ranges.insert(id);
        }
        self.transactions.insert((id.transaction, id));
        self.proposals.insert(id, proposal);
    }

    pub fn remove(&mut self, id: ProposalId) -> Option<Arc<Proposal>> {
        let proposal = self.proposals.remove(&id)?;
        for (table, row) in rows(&proposal) {
            self.rows.remove(&(table, row, id));
        }
        self.ranges.remove(&id);
        self.transactions.remove(&(id.transaction, id));
        Some(proposal)
    }

    pub fn remove_through(&mut self, through: Timestamp) {
        while let Some((id, _)) = self.proposals.first_key_value().filter(|(id, _)| id.at <= through) {
            self.remove(*id);
        }
    }

    pub fn clear(&mut self) {
        *self = ProposalIndex::default();
    }

    pub fn get(&self, id: ProposalId) -> Option<&Arc<Proposal>> {
        self.proposals.get(&id)
    }

    pub fn len(&self) -> usize {
        self.proposals.len()
    }

    pub fn ids(&self) -> impl DoubleEndedIterator<Item = ProposalId> {
        self.proposals.keys().copied()
    }

    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Arc<Proposal>> {
        self.proposals.values()
    }

    /// All that share a row, a range, the transaction or the timestamp with it; perhaps some more.
    pub fn touching(&self, proposal: &Proposal) -> impl Iterator<Item = &Arc<Proposal>> {
        let mut ids = self.on_what_is_read(&proposal.reads);
        for write in proposal.writes() {
            ids.extend(self.on_row(write.cell.table, &write.cell.row));
        }
        if !proposal.writes().is_empty() {
            ids.extend(&self.ranges);
        }
        ids.extend(self.of_transaction(proposal.id.transaction));
        ids.extend(self.at(proposal.id.at));
        ids.remove(&proposal.id);
        ids.into_iter().filter_map(|id| self.proposals.get(&id))
    }

    /// All that read or write this row.
    pub fn touching_row(&self, table: TableId, row: &RowKey) -> impl Iterator<Item = &Arc<Proposal>> {
        self.on_row(table, row).filter_map(|id| self.proposals.get(&id))
    }

    /// All that write what these read; perhaps some more.
    pub fn writing_on(&self, reads: &[Read]) -> impl Iterator<Item = &Arc<Proposal>> {
        self.on_what_is_read(reads).into_iter().filter_map(|id| self.proposals.get(&id))
    }

    fn on_what_is_read(&self, reads: &[Read]) -> BTreeSet<ProposalId> {
        let mut ids = BTreeSet::new();
        for read in reads {
            match read {
                Read::Cell { cell, element: _ } => ids.extend(self.on_row(cell.table, &cell.row)),
                Read::Range { table, range } if range.is_of_one_row() => ids.extend(self.within(*table, range)),
                Read::Range { .. } | Read::Query(_) => {}
            }
        }
        for (table, ranges) in rows_of_scans(reads.iter()) {
            ranges.iter().for_each(|range| ids.extend(self.within(table, &range)));
        }
        ids
    }

    fn within(&self, table: TableId, range: &KeyRange) -> impl Iterator<Item = ProposalId> {
        let from = self.rows.range((table, RowKey::bound(&range.lower), first())..);
        from.take_while(move |(own, key, _)| *own == table && range.contains(key)).map(|(_, _, id)| *id)
    }

    fn on_row(&self, table: TableId, row: &RowKey) -> impl Iterator<Item = ProposalId> {
        let from = self.rows.range((table, row.clone(), first())..);
        from.take_while(move |(own, key, _)| *own == table && key == row).map(|(_, _, id)| *id)
    }

    fn of_transaction(&self, transaction: TransactionId) -> impl Iterator<Item = ProposalId> {
        let from = self.transactions.range((transaction, first())..);
        from.take_while(move |(own, _)| *own == transaction).map(|(_, id)| *id)
    }

    fn at(&self, at: Timestamp) -> impl Iterator<Item = ProposalId> {
        let from = self.proposals.range(ProposalId::first_at(at)..);
        from.map(|(id, _)| *id).take_while(move |id| id.at == at)
    }
}

/// None sorts below it.
fn first() -> ProposalId {
    ProposalId::first_at(Timestamp::ZERO)
}

fn rows(proposal: &Proposal) -> impl Iterator<Item = (TableId, RowKey)> {
    let read = proposal.reads.iter().filter_map(|read| match read {
        Read::Cell { cell, element: _ } => Some((cell.table, cell.row.clone())),
        Read::Range { table, range } => range.is_of_one_row().then(|| (*table, RowKey::bound(&range.lower))),
        Read::Query(_) => None,
    });
    read.chain(proposal.writes().iter().map(|write| (write.cell.table, write.cell.row.clone())))
}

fn reads_many_rows(proposal: &Proposal) -> bool {
    proposal.reads.iter().any(|read| match read {
        Read::Cell { .. } => false,
        Read::Range { table: _, range } => !range.is_of_one_row(),
        Read::Query(_) => true,
    })
}
