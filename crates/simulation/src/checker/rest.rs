//! The end, at the replicas: when nothing has happened for a while, nothing is left over, and those of a shard have the same.
//!
//! It looks at machines, not at the history: what a proposal or a record leaves behind for good is seen by no client.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::time::Duration;

use iolite_replication::Replica;
use iolite_replication::node::{Epoch, ShardId};
use iolite_values::{Row, RowKey, TableId, Timestamp};

use super::{Invariant, Violation};
use crate::world::World;

/// No proposal further ahead of the complete point than this, which follows the clocks, is ever voted for.
const TAKEN_AHEAD: Duration = Duration::from_secs(60);

/// # Errors
/// A replica that takes part holds what is undecided, remembers votes that nobody needs, lacks what committed, or has other rows than the rest of its group.
pub fn check_replicas(world: &World) -> Result<(), Violation> {
    groups(world).values().try_for_each(|replicas| check_group(replicas))
}

/// The rows that each store of one replica has at last; none of one that is down.
pub fn rows_of_stores(world: &World) -> impl Iterator<Item = BTreeMap<(TableId, RowKey), &Row>> {
    world.replicas().map(rows_of)
}

/// The replicas that take part in each shard.
pub(super) fn groups(world: &World) -> BTreeMap<ShardId, Vec<&Replica>> {
    let mut groups = BTreeMap::<ShardId, (Epoch, Vec<&Replica>)>::new();
    // Whoever has left, or is of a shard that has ended, may stay behind.
    let ended: Vec<ShardId> =
        world.replicas().filter_map(|replica| Some(replica.report().split?.parent().shard)).collect();
    let parts = world.replicas().filter(|replica| replica.takes_part() && !ended.contains(&replica.group().shard));
    for replica in parts {
        let (epoch, own) = groups.entry(replica.group().shard).or_default();
        if replica.group().epoch > *epoch {
            (*epoch, *own) = (replica.group().epoch, Vec::new());
        }
        if replica.group().epoch == *epoch {
            own.push(replica);
        }
    }
    groups.into_iter().map(|(shard, (_, replicas))| (shard, replicas)).collect()
}

fn check_group(replicas: &[&Replica]) -> Result<(), Violation> {
    let broken = |replica: &Replica, what: String| {
        let (id, group) = (replica.id(), replica.group());
        Err(Violation::new(Invariant::Rest, format!("{id:?} of {group:?} {what}")))
    };
    let last_commit = replicas.iter().filter_map(|replica| replica.versions().last_commit()).max().unwrap_or_default();
    let mut rows: Option<BTreeMap<(TableId, RowKey), &Row>> = None;
    for replica in replicas {
        let figures = replica.figures();
        let recorded = replica.recorded_through(later(figures.complete, TAKEN_AHEAD));
        if figures.undecided > 0 || recorded > 0 {
            return broken(replica, format!("has {} undecided and {recorded} recorded", figures.undecided));
        }
        if figures.complete < last_commit {
            return broken(replica, format!("is complete through {:?}, below {last_commit:?}", figures.complete));
        }
        let own = rows_of(replica);
        if rows.as_ref().is_some_and(|others| *others != own) {
            return broken(replica, format!("has {own:?}, and another one {rows:?}"));
        }
        rows = Some(own);
    }
    Ok(())
}

fn later(at: Timestamp, by: Duration) -> Timestamp {
    Timestamp::end_of(at.micros().saturating_add(u64::try_from(by.as_micros()).unwrap_or(u64::MAX)))
}

fn rows_of(replica: &Replica) -> BTreeMap<(TableId, RowKey), &Row> {
    let versions = replica.versions();
    let keys = versions.checkpoint_rows(Bound::Unbounded, usize::MAX).into_iter().map(|row| (row.table, row.key));
    let rows = keys.filter_map(|(table, key)| Some((versions.row(table, &key)?.latest(), (table, key))));
    rows.filter(|(row, _)| !row.is_empty()).map(|(row, place)| (place, row)).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use iolite_replication::journal::JournalRecord;
    use iolite_replication::node::{
        Ballot, Boot, Effect, Group, Outcome, Proposal, ProposalId, RecordedEntry, ReplicaId, Vote,
    };
    use iolite_replication::{Broken, Extent, ReplicaSettings, Retention};
    use iolite_values::{
        Attempt, Cell, ClientId, ColumnId, Counter, Level, Operation, StoreIncarnation, TransactionId, Value, Write,
    };

    use super::*;

    const AT: Timestamp = Timestamp::from_u64(1 << 40);

    /// A replica of three that has written this down.
    fn replica(id: u64, records: &[JournalRecord]) -> Replica {
        let group = Group::new(ShardId(0), Epoch(0), &[0, 1, 2].map(ReplicaId)).expect("three");
        let settings = ReplicaSettings {
            id: ReplicaId(id),
            group,
            extent: Extent::everything(),
            origin: None,
            store: StoreIncarnation::default(),
            boot: Boot(1),
            retention: Retention::default(),
            broken: Broken::Nothing,
        };
        let records = records.iter().map(|record| record.encode().expect("it is small"));
        Replica::recover(settings, [[0; 0]; 0], records).expect("its own records")
    }

    /// A transaction that writes this into the only row.
    fn entry(value: i64, outcome: Option<Outcome>) -> JournalRecord {
        let transaction = TransactionId { client: ClientId::default(), counter: Counter(1) };
        let id = ProposalId { at: AT, transaction, attempt: Attempt(1) };
        let row = RowKey::new(&[Value::Int(1)]).expect("short");
        let write = Write {
            cell: Cell { table: TableId(1), row, column: ColumnId(1) },
            operation: Operation::Put(Value::Int(value)),
        };
        let proposal = Proposal {
            id,
            participants: [ShardId(0)].into(),
            snapshot: Timestamp::ZERO,
            reads: Vec::new(),
            level: Level::Strict,
            effect: Effect::Commit([write].into()),
            is_home: true,
        };
        let (finalised, promised) = (None, Ballot::FIRST);
        JournalRecord::Entry(RecordedEntry {
            id,
            proposal: Some(Arc::new(proposal)),
            vote: Vote::Ok,
            finalised,
            promised,
            outcome,
        })
    }

    fn found(replicas: [&Replica; 2]) -> Option<Invariant> {
        check_group(&replicas).err().map(|violation| violation.invariant)
    }

    #[test]
    fn what_is_left_over_or_differs_is_found() {
        let committed = |value| [entry(value, Some(Outcome::Committed)), JournalRecord::Complete(AT)];
        let (one, same, other) = (replica(0, &committed(1)), replica(1, &committed(1)), replica(1, &committed(2)));
        assert_eq!(found([&one, &same]), None);
        assert_eq!(found([&one, &other]), Some(Invariant::Rest), "another row");
        assert_eq!(found([&one, &replica(1, &[entry(1, None)])]), Some(Invariant::Rest), "undecided");
        let incomplete = replica(1, &[entry(1, Some(Outcome::Committed))]);
        assert_eq!(found([&one, &incomplete]), Some(Invariant::Rest), "remembered");
        assert_eq!(found([&one, &replica(1, &[])]), Some(Invariant::Rest), "behind");
    }
}
