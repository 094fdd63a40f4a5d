//! Transactions and reads, cut by shards.

use std::collections::BTreeMap;
use std::sync::Arc;

use iolite_values::{Decision, Read, Timestamp, Transaction, Write};

use crate::node::{Effect, Proposal, ProposalId, ShardId};
use crate::shards::ShardMap;

/// The proposals of a transaction at a timestamp, one a shard. The client's home shard is one of them always.
pub fn split(map: &ShardMap, transaction: &Transaction, at: Timestamp) -> BTreeMap<ShardId, Arc<Proposal>> {
    let mut parts: BTreeMap<ShardId, (Vec<Read>, Vec<Write>)> = BTreeMap::new();
    let home = map.of_client(transaction.id.client);
    parts.entry(home).or_default();
    for (shard, reads) in split_reads(map, &transaction.reads) {
        parts.entry(shard).or_default().0 = reads;
    }
    for write in transaction.writes() {
        parts.entry(map.of_row(write.cell.table, &write.cell.row)).or_default().1.push(write.clone());
    }
    let id = ProposalId { at, transaction: transaction.id, attempt: transaction.attempt };
    let participants: Arc<[ShardId]> = parts.keys().copied().collect();
    let proposals = parts.into_iter().map(|(shard, (reads, writes))| {
        let effect = match &transaction.decision {
            Decision::Commit(_) => Effect::Commit(writes.into()),
            Decision::Abort(_) => Effect::Abort,
        };
        let (snapshot, level, participants) = (transaction.snapshot, transaction.level, participants.clone());
        (shard, Arc::new(Proposal { id, participants, snapshot, reads, level, effect, is_home: shard == home }))
    });
    proposals.collect()
}

/// What is read of each shard; ranges, and the primary keys of queries, are cut where shards begin.
pub fn split_reads(map: &ShardMap, reads: &[Read]) -> BTreeMap<ShardId, Vec<Read>> {
    let mut parts: BTreeMap<ShardId, Vec<Read>> = BTreeMap::new();
    for read in reads {
        match read {
            Read::Cell { cell, element: _ } => {
                parts.entry(map.of_row(cell.table, &cell.row)).or_default().push(read.clone());
            }
            Read::Range { table, range } => {
                for (shard, range) in map.of_range(*table, range) {
                    parts.entry(shard).or_default().push(Read::Range { table: *table, range });
                }
            }
            Read::Query(query) => {
                for (shard, keys) in map.of_range(query.table, &query.row_keys()) {
                    parts.entry(shard).or_default().push(Read::Query(Arc::new(query.within(&keys))));
                }
            }
        }
    }
    parts
}
