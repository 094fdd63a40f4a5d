//! Proposals by the rows that they touch, so that those that may conflict with another one are found without looking at all.
//!
//! Invariant: every proposal that conflicts with a given one is among those that touch it.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::Arc;

use iolite_values::{Read, RowKey, TableId, Timestamp, TransactionId};

use crate::node::{Proposal, ProposalId};

type Ids = BTreeSet<ProposalId>;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProposalIndex {
    proposals: BTreeMap<ProposalId, Arc<Proposal>>,
    rows: BTreeMap<TableId, BTreeMap<RowKey, Ids>>,
    /// Those that read ranges: any write may concern them.
    ranges: Ids,
    transactions: BTreeMap<TransactionId, Ids>,
}

impl ProposalIndex {
    pub fn insert(&mut self, proposal: Arc<Proposal>) {
        let id = proposal.id;
        for (table, row) in rows(&proposal) {
            self.rows.entry(table).or_default().entry(row.clone()).or_default().insert(id);
        }
        if reads_a_range(&proposal) {
            self.ranges.insert(id);
        }
        self.transactions.entry(id.transaction).or_default().insert(id);
        self.proposals.insert(id, proposal);
    }

    pub fn remove(&mut self, id: ProposalId) -> Option<Arc<Proposal>> {
        let proposal = self.proposals.remove(&id)?;
        for (table, row) in rows(&proposal) {
            let Some(keys) = self.rows.get_mut(&table) else { continue };
            forget(keys, row, id);
            if keys.is_empty() {
                self.rows.remove(&table);
            }
        }
        self.ranges.remove(&id);
        forget(&mut self.transactions, &id.transaction, id);
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
        ids.extend(self.transactions.get(&proposal.id.transaction).into_iter().flatten());
        ids.extend(self.at(proposal.id.at));
        ids.remove(&proposal.id);
        ids.into_iter().filter_map(|id| self.proposals.get(&id))
    }

    /// All that write what these read; perhaps some more.
    pub fn writing_on(&self, reads: &[Read]) -> impl Iterator<Item = &Arc<Proposal>> {
        self.on_what_is_read(reads).into_iter().filter_map(|id| self.proposals.get(&id))
    }

    fn on_what_is_read(&self, reads: &[Read]) -> Ids {
        let mut ids = Ids::new();
        for read in reads {
            match read {
                Read::Cell { cell, element: _ } => ids.extend(self.on_row(cell.table, &cell.row)),
                Read::Range { table, range } => {
                    let Some(rows) = self.rows.get(table) else { continue };
                    let from = rows.range::<[u8], _>((Bound::Included(&*range.lower), Bound::Unbounded));
                    ids.extend(from.take_while(|(key, _)| range.contains(key)).flat_map(|(_, ids)| ids));
                }
            }
        }
        ids
    }

    fn on_row(&self, table: TableId, row: &RowKey) -> impl Iterator<Item = &ProposalId> {
        self.rows.get(&table).and_then(|rows| rows.get(row)).into_iter().flatten()
    }

    fn at(&self, at: Timestamp) -> impl Iterator<Item = ProposalId> {
        let before = ProposalId { at, transaction: TransactionId::default(), attempt: iolite_values::Attempt(0) };
        self.proposals.range(before..).map(|(id, _)| *id).take_while(move |id| id.at == at)
    }
}

fn forget<K: Ord>(map: &mut BTreeMap<K, Ids>, key: &K, id: ProposalId) {
    if let Some(ids) = map.get_mut(key) {
        ids.remove(&id);
        if ids.is_empty() {
            map.remove(key);
        }
    }
}

fn rows(proposal: &Proposal) -> impl Iterator<Item = (TableId, &RowKey)> {
    let read = proposal.reads.iter().filter_map(|read| match read {
        Read::Cell { cell, element: _ } => Some((cell.table, &cell.row)),
        Read::Range { .. } => None,
    });
    read.chain(proposal.writes().iter().map(|write| (write.cell.table, &write.cell.row)))
}

fn reads_a_range(proposal: &Proposal) -> bool {
    proposal.reads.iter().any(|read| matches!(read, Read::Range { .. }))
}
