//! Which locks a transaction takes before it looks at anything, and in which mode.
//!
//! Invariants:
//! - two transactions of which one reads what the other may change never hold their locks together; so the later one sees the earlier one;
//! - everyone takes locks in one order, so nobody waits in a circle;
//! - whoever may still commit holds [`LockKey::of_store`], which is taken last.
//!
//! Writes that were made without reading what they change may be under way together: the timestamps put them in order. But of two that do not commute, each
//! that is made at the level of a snapshot has to see the other.
//! The argument is in docs/protocols/postgres.md.

use std::collections::{BTreeMap, BTreeSet};

use iolite_store::size::{ROW_BYTES_MAX, growth_bytes, row_bytes};
use iolite_values::{
    CellState, ClientId, ColumnId, Element, KeyRange, Level, ListOrder, Operation, Read, Row, RowKey, TableId,
    Transaction, Write,
};

use crate::facts::RowId;

/// A transaction that needs more locks takes the whole store instead.
pub const LOCKS_MAX: usize = 64;

/// An operation that adds more than this to its row has the row to itself: so a hundred others that do not see each other cannot make a row
/// too large that is at most half full.
pub const SHARED_GROWTH_BYTES_MAX: usize = 4096;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Mode {
    Shared,
    Exclusive,
}

/// The number of an advisory lock.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct LockKey(i64);

/// Tells the locks of one store from those of others in the same database: the hash of its schema's name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LockSpace(u64);

/// The locks of one transaction, in the order in which they are taken.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Plan {
    pub locks: Vec<(LockKey, Mode)>,
    /// Rows that nobody else may use; all of them when the whole store is taken.
    exclusive: Extent,
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum Extent {
    Rows(BTreeSet<RowId>),
    Store,
}

/// What is locked, in the order in which it is locked.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Resource {
    Client(ClientId),
    Table(TableId),
    /// The rows whose keys begin with the same value.
    Partition(TableId, Vec<u8>),
    Row(RowId),
}

impl LockSpace {
    pub fn of(schema: &str) -> LockSpace {
        LockSpace(fnv1a(FNV_OFFSET, schema.as_bytes()))
    }
}

impl LockKey {
    pub fn as_i64(self) -> i64 {
        self.0
    }

    /// The two halves, as `pg_locks` shows them.
    pub fn halves(self) -> (u32, u32) {
        let bits = self.0.cast_unsigned();
        (u32::try_from(bits >> 32).expect("32 bits are left"), (bits & u64::from(u32::MAX)) as u32)
    }

    /// Held by everyone who has looked at the log, or is about to, and may still commit.
    pub fn of_store(space: LockSpace) -> LockKey {
        LockKey::new(space, 0, &[])
    }

    /// Held by who creates the tables.
    pub fn of_setup(space: LockSpace) -> LockKey {
        LockKey::new(space, 1, &[])
    }

    /// Held by who folds and forgets history.
    pub fn of_collector(space: LockSpace) -> LockKey {
        LockKey::new(space, 2, &[])
    }

    /// Held by who decides or forgets transactions of this client.
    pub fn of_client(space: LockSpace, client: ClientId) -> LockKey {
        LockKey::of(space, &Resource::Client(client))
    }

    fn of(space: LockSpace, resource: &Resource) -> LockKey {
        match resource {
            Resource::Client(client) => LockKey::new(space, 3, &[&client.0.to_bytes()]),
            Resource::Table(table) => LockKey::new(space, 4, &[&table.0.to_be_bytes()]),
            Resource::Partition(table, first) => LockKey::new(space, 5, &[&table.0.to_be_bytes(), first]),
            Resource::Row((table, key)) => LockKey::new(space, 6, &[&table.0.to_be_bytes(), key.as_bytes()]),
        }
    }

    fn new(space: LockSpace, kind: u8, parts: &[&[u8]]) -> LockKey {
        let hash = parts.iter().fold(fnv1a(space.0, &[kind]), |hash, part| fnv1a(hash, part));
        LockKey(hash.cast_signed())
    }
}

impl Plan {
    /// What `transaction` has to hold. `exclusive` are rows of which is known already that it needs them for itself.
    pub fn new(space: LockSpace, transaction: &Transaction, exclusive: &BTreeSet<RowId>) -> Plan {
        let mut resources = BTreeMap::from([(Resource::Client(transaction.id.client), Mode::Exclusive)]);
        let mut want = |resource: Resource, mode: Mode| {
            let wanted = resources.entry(resource).or_insert(mode);
            *wanted = mode.max(*wanted);
        };
        for write in transaction.writes() {
            want(Resource::Table(write.cell.table), Mode::Shared);
            want(Resource::Partition(write.cell.table, partition_of(&write.cell.row)), Mode::Shared);
        }
        for read in &transaction.reads {
            match read {
                Read::Cell { .. } => {}
                Read::Range { table, range } => want(extent_of(*table, range), Mode::Exclusive),
                Read::Query(query) => want(extent_of(query.table, &query.row_keys()), Mode::Exclusive),
            }
        }
        let mut alone = BTreeSet::new();
        for id in rows_of(transaction) {
            let mode = match exclusive.contains(&id) || surely_alone(transaction, &id) {
                true => Mode::Exclusive,
                false => Mode::Shared,
            };
            want(Resource::Row(id.clone()), mode);
            if mode == Mode::Exclusive {
                alone.insert(id);
            }
        }
        Plan::of(space, transaction.id.client, &resources, alone)
    }

    fn of(space: LockSpace, client: ClientId, resources: &BTreeMap<Resource, Mode>, alone: BTreeSet<RowId>) -> Plan {
        let store = LockKey::of_store(space);
        if resources.len() >= LOCKS_MAX {
            let client = LockKey::of_client(space, client);
            return Plan { locks: vec![(client, Mode::Exclusive), (store, Mode::Exclusive)], exclusive: Extent::Store };
        }
        let locks = resources.iter().map(|(resource, mode)| (LockKey::of(space, resource), *mode));
        Plan { locks: locks.chain([(store, Mode::Shared)]).collect(), exclusive: Extent::Rows(alone) }
    }

    /// The rows that have to be locked exclusively after all, now that it is known what they hold. None: what is held is enough.
    pub fn lacking<'a>(
        &self,
        transaction: &Transaction,
        latest: impl Fn(&RowId) -> Option<&'a Row>,
    ) -> BTreeSet<RowId> {
        let Extent::Rows(held) = &self.exclusive else { return BTreeSet::new() };
        let lacking = |id: &RowId| !held.contains(id) && needs_alone(transaction, id, latest(id));
        rows_of(transaction).into_iter().filter(lacking).collect()
    }
}

/// Every row that is read by cell or written.
pub fn rows_of(transaction: &Transaction) -> BTreeSet<RowId> {
    let written = transaction.writes().iter().map(|write| &write.cell);
    let read = transaction.reads.iter().filter_map(|read| match read {
        Read::Cell { cell, element: _ } => Some(cell),
        Read::Range { .. } | Read::Query(_) => None,
    });
    written.chain(read).map(|cell| (cell.table, cell.row.clone())).collect()
}

/// Whether the row is needed alone, whatever it holds.
fn surely_alone(transaction: &Transaction, id: &RowId) -> bool {
    let part_read = reads_of(transaction, id).any(|(_, element)| *element != Element::Whole);
    let looks = |write: &Write| !is_blind(&write.operation, transaction.level);
    part_read || writes_of(transaction, id).any(looks) || grows_much(transaction, id)
}

/// Whether somebody who shares the row could change what this transaction rests on, or the other way around.
fn needs_alone(transaction: &Transaction, id: &RowId, latest: Option<&Row>) -> bool {
    let merges = |column: ColumnId| latest.and_then(|row| row.cell(column)).is_some_and(is_merging);
    let half_full = || latest.is_some_and(|row| row_bytes(row) > ROW_BYTES_MAX / 2);
    let mut writes = writes_of(transaction, id).peekable();
    let crowded = writes.peek().is_some() && half_full();
    surely_alone(transaction, id)
        || crowded
        || writes.any(|write| !merges(write.cell.column))
        || reads_of(transaction, id).any(|(column, _)| merges(column))
}

fn writes_of<'a>(transaction: &'a Transaction, (table, key): &'a RowId) -> impl Iterator<Item = &'a Write> {
    transaction.writes().iter().filter(move |write| write.cell.table == *table && write.cell.row == *key)
}

fn reads_of<'a>(
    transaction: &'a Transaction,
    (table, key): &'a RowId,
) -> impl Iterator<Item = (ColumnId, &'a Element)> {
    transaction.reads.iter().filter_map(move |read| match read {
        Read::Cell { cell, element } if cell.table == *table && cell.row == *key => Some((cell.column, element)),
        Read::Cell { .. } | Read::Range { .. } | Read::Query(_) => None,
    })
}

fn grows_much(transaction: &Transaction, id: &RowId) -> bool {
    writes_of(transaction, id).map(growth_bytes).sum::<usize>() > SHARED_GROWTH_BYTES_MAX
}

/// Whether the operation's validity does not depend on what else happens to a cell of its type. To a snapshot matters what does not commute with it.
fn is_blind(operation: &Operation, level: Level) -> bool {
    match operation {
        // All others that are blind commute with these, or stand in the order of their timestamps.
        Operation::Add(_) | Operation::Assign(_) | Operation::Append { order: ListOrder::Commit, .. } => true,
        Operation::Insert(_)
        | Operation::Remove(_)
        | Operation::Append { order: ListOrder::Strict, .. }
        | Operation::PutEntry { .. }
        | Operation::RemoveEntry { .. } => !level.guards_writes(),
        // An author's first number is read, so that two who take one author meet.
        Operation::Edit(_) => !level.guards_writes(),
        // An effect commutes with all. But it also touches the life of its row, whose lock writers do not share.
        Operation::Merge(_)
        | Operation::Create
        | Operation::Delete
        | Operation::Put(_)
        | Operation::PutTotal(_)
        | Operation::SetAt { .. } => false,
    }
}

/// Whether writers share such a cell, and readers have it alone. The others are shared by readers, and each writer has them alone.
fn is_merging(state: &CellState) -> bool {
    match state {
        CellState::Register(_)
        | CellState::Counter(_)
        | CellState::Set(_)
        | CellState::List(_)
        | CellState::Map(_)
        | CellState::Text(_) => true,
        CellState::Row(_) | CellState::Scalar(_) | CellState::Merged(_) => false,
    }
}

/// The bytes of the key's first value, with which all keys of its partition begin.
fn partition_of(key: &RowKey) -> Vec<u8> {
    let first = key.values().ok().and_then(|values| RowKey::new(&values[..1]).ok());
    first.map_or_else(|| key.as_bytes().to_vec(), |first| first.as_bytes().to_vec())
}

/// The partition that holds the whole range, or the table.
fn extent_of(table: TableId, range: &KeyRange) -> Resource {
    let lower = range.lower.strip_suffix(&[0]).unwrap_or(&range.lower);
    let key = RowKey::from_bytes(&range.lower).or_else(|_| RowKey::from_bytes(lower));
    let first = key.ok().map(|key| partition_of(&key));
    let within = first.filter(|first| {
        // No key has the byte 0xff where a value begins: every key of the partition is below this.
        let end: Vec<u8> = first.iter().copied().chain([0xff]).collect();
        range.upper.as_ref().is_some_and(|upper| **upper <= *end)
    });
    within.map_or(Resource::Table(table), |first| Resource::Partition(table, first))
}

const FNV_OFFSET: u64 = 0xcbf2_9ce4_8422_2325;

/// The 64-bit FNV-1a hash, going on from `hash`.
fn fnv1a(hash: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(hash, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests;
