//! Leases and seals, as a gateway knows them: the rows of `_leases` and `_seals`, as of its position.
//!
//! Invariants: a lease that a session was given counts from its commit on, though the feed has not told it yet; once the feed is past that commit,
//! only the rows count. A client has at most 64 leases.

use std::collections::{BTreeMap, BTreeSet};

use iolite_machine::WallTime;
use iolite_values::{Blob, Cell, ChunkId, ClientId, Id, LeaseName, StoreIncarnation, Timestamp};
use iolite_wire::blobs::TreeId;

/// The table whose rows are leases: the key is the lease, the columns are `client` and `until`.
pub const LEASES_TABLE: &str = "_leases";
/// The table whose rows are seals: the key is lease and tree, the column is `holds`.
pub const SEALS_TABLE: &str = "_seals";

/// The row of a lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lease {
    pub client: ClientId,
    /// From then on it may be revoked.
    pub until: WallTime,
}

/// The name of an object: a chunk as it lies in the store of chunks. No name is used again for another content.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ObjectName {
    pub store: StoreIncarnation,
    pub lease: LeaseName,
    pub chunk: ChunkId,
}

impl std::fmt::Display for ObjectName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}/{}", self.store.0, self.lease.0, self.chunk)
    }
}

impl ObjectName {
    /// Reads the name that an object has in the store of chunks. `None`: it is no object of ours.
    pub fn parse(text: &str) -> Option<ObjectName> {
        let ids: Vec<Id> = text.split('/').map(str::parse).collect::<Result<_, _>>().ok()?;
        let [store, lease, chunk] = ids[..] else { return None };
        let chunk = ChunkId::from_bytes(chunk.to_bytes());
        Some(ObjectName { store: StoreIncarnation(store), lease: LeaseName(lease), chunk })
    }
}

/// A commit that a session asks for. It is to conflict if what it rests on has changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RowCommit {
    /// Inserts the row of a new lease.
    Grant { lease: LeaseName, row: Lease },
    /// Rests on the lease's row, and changes its `until`.
    Renew { lease: LeaseName, row: Lease },
    /// Rests on the lease's row, and on the cell of `holds` as of its position. Inserts the row of a seal. If that is there already, it was committed.
    /// `chunks`: what it stands for that is stored under its lease.
    Seal { lease: LeaseName, tree: TreeId, holds: Option<Held>, chunks: u64 },
}

/// The blob whose chunks a sealed tree shares: the seal holds them until it is spent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held {
    pub cell: Cell,
    pub blob: Blob,
    /// The position at which the cell was read.
    pub at: Timestamp,
}

/// The rows of both tables, and how far they are known.
#[derive(Clone, Debug, Default)]
pub struct Leases {
    at: Timestamp,
    leases: BTreeMap<LeaseName, Lease>,
    of_clients: BTreeMap<ClientId, BTreeSet<LeaseName>>,
    seals: BTreeMap<(LeaseName, TreeId), Timestamp>,
}

impl Leases {
    /// The rows are known up to here.
    pub fn at(&self) -> Timestamp {
        self.at
    }

    /// The feed has told all commits up to here.
    pub fn advance(&mut self, at: Timestamp) {
        self.at = self.at.max(at);
    }

    /// The row of a lease, as it is now; `None`: there is none any more.
    pub fn set(&mut self, lease: LeaseName, row: Option<Lease>) {
        let before = match row {
            Some(row) => self.leases.insert(lease, row),
            None => self.leases.remove(&lease),
        };
        if let Some(before) = before
            && let Some(own) = self.of_clients.get_mut(&before.client)
        {
            own.remove(&lease);
            if own.is_empty() {
                self.of_clients.remove(&before.client);
            }
        }
        if let Some(row) = row {
            self.of_clients.entry(row.client).or_default().insert(lease);
        }
    }

    /// A seal was committed.
    pub fn seal(&mut self, lease: LeaseName, tree: TreeId, at: Timestamp) {
        self.seals.insert((lease, tree), at);
    }

    /// The row of a seal is gone.
    pub fn unseal(&mut self, lease: LeaseName, tree: TreeId) {
        self.seals.remove(&(lease, tree));
    }

    pub fn get(&self, lease: LeaseName) -> Option<Lease> {
        self.leases.get(&lease).copied()
    }

    /// When a tree was sealed.
    pub fn sealed(&self, lease: LeaseName, tree: TreeId) -> Option<Timestamp> {
        self.seals.get(&(lease, tree)).copied()
    }

    /// The trees that are sealed under a lease.
    pub fn seals_of(&self, lease: LeaseName) -> impl Iterator<Item = TreeId> {
        let from = (lease, TreeId(ChunkId::from_bytes([0; 16])));
        self.seals.range(from..).take_while(move |((own, _), _)| *own == lease).map(|((_, tree), _)| *tree)
    }

    /// Leases whose time is over, and leases that are gone of which a seal is left: what a gateway revokes.
    pub fn over(&self, now: WallTime) -> BTreeSet<LeaseName> {
        let over = self.leases.iter().filter(|(_, row)| row.until <= now).map(|(lease, _)| *lease);
        let left = self.seals.keys().map(|(lease, _)| *lease).filter(|lease| !self.leases.contains_key(lease));
        over.chain(left).collect()
    }

    /// How many leases there are.
    pub fn count(&self) -> usize {
        self.leases.len()
    }

    /// How many leases a client has.
    pub fn of_client(&self, client: ClientId) -> usize {
        self.of_clients.get(&client).map_or(0, BTreeSet::len)
    }
}
