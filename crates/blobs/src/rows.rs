//! The rows of `_leases` and `_seals`: what a commit of a session reads and writes, and what a commit that the feed tells says of both tables.
//!
//! Invariants: what is written here is what is read here; a commit that rests on something reads it. Rows that no session wrote say nothing.
//!
//! | Table | Key | Columns |
//! |---|---|---|
//! | `_leases` | the lease | `client`, an id; `until`, microseconds since 1970 |
//! | `_seals` | the lease, the tree | `holds`, a blob or null |

use std::collections::{BTreeMap, BTreeSet};

use iolite_machine::WallTime;
use iolite_values::{
    Blob, Cell, CellState, ChunkId, ClientId, ColumnId, Element, Id, KeyRange, LeaseName, Operation, Read, Row, RowKey,
    TableId, Timestamp, Value, Write, set_of,
};
use iolite_wire::blobs::TreeId;

use crate::leases::{LEASES_TABLE, Lease, Leases, RowCommit, SEALS_TABLE};
use crate::limits::REVOKED_ROWS_MAX;

const CLIENT: &str = "client";
const UNTIL: &str = "until";
const HOLDS: &str = "holds";

/// A commit of a session, as the store of rows takes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowTransaction {
    /// The snapshot that the reads are of, if they are of a certain one. Else it is the latest that the gateway has.
    /// It is at or above the commit of the lease, or the transaction conflicts.
    pub snapshot: Option<Timestamp>,
    pub reads: Vec<Read>,
    pub writes: Vec<Write>,
}

impl RowCommit {
    pub fn transaction(&self) -> RowTransaction {
        match self {
            RowCommit::Grant { lease, row } => {
                let client = put(lease_cell(*lease, CLIENT), Value::Id(row.client.0));
                let writes = vec![create(lease_cell(*lease, CLIENT)), client, until(*lease, row.until)];
                RowTransaction { snapshot: None, reads: Vec::new(), writes }
            }
            RowCommit::Renew { lease, row } => RowTransaction {
                snapshot: None,
                reads: vec![lease_read(*lease)],
                writes: vec![until(*lease, row.until)],
            },
            RowCommit::Seal { lease, tree, holds, chunks: _ } => {
                let cell =
                    Cell { table: TableId::of(SEALS_TABLE), row: seal_key(*lease, *tree), column: ColumnId::of(HOLDS) };
                let held = holds.as_ref().map_or(Value::Null, |held| held.blob.clone().into());
                let of_cell = holds.iter().map(|held| Read::Cell { cell: held.cell.clone(), element: Element::Whole });
                RowTransaction {
                    snapshot: holds.as_ref().map(|held| held.at),
                    reads: [lease_read(*lease)].into_iter().chain(of_cell).collect(),
                    writes: vec![create(cell.clone()), put(cell, held)],
                }
            }
        }
    }
}

/// A read of a lease's row, which rests on all of it, also on that it is there.
pub fn lease_read(lease: LeaseName) -> Read {
    Read::Range { table: TableId::of(LEASES_TABLE), range: KeyRange::one(&lease_key(lease)) }
}

impl Leases {
    /// Takes what a commit says of leases and seals.
    pub fn take(&mut self, at: Timestamp, writes: &[Write]) {
        let (leases, seals) = (TableId::of(LEASES_TABLE), TableId::of(SEALS_TABLE));
        let mut told: BTreeMap<LeaseName, Told> = BTreeMap::new();
        for Write { cell, operation } in writes {
            if cell.table == leases {
                let Some(lease) = lease_of(&cell.row) else { continue };
                told.entry(lease).or_default().add(cell.column, operation);
            } else if cell.table == seals {
                let Some((lease, tree)) = seal_of(&cell.row) else { continue };
                if *operation == Operation::Create {
                    self.seal(lease, tree, at);
                } else if *operation == Operation::Delete {
                    self.unseal(lease, tree);
                }
            }
        }
        for (lease, told) in told {
            let row = told.onto(self.get(lease));
            self.set(lease, row);
        }
    }

    /// The reads and writes that are added to a mutation that names these trees: they spend the leases, with all seals under them.
    /// `None`: one of them is not a live lease of this client, or has not sealed its tree.
    pub fn spend(&self, client: ClientId, named: &BTreeSet<(LeaseName, TreeId)>) -> Option<RowTransaction> {
        let is_sealed = |(lease, tree): &(LeaseName, TreeId)| {
            self.get(*lease).is_some_and(|row| row.client == client) && self.sealed(*lease, *tree).is_some()
        };
        if !named.iter().all(is_sealed) {
            return None;
        }
        let leases: BTreeSet<LeaseName> = set_of(named.iter().map(|(lease, _)| *lease));
        let reads = leases.iter().map(|lease| lease_read(*lease)).collect();
        let writes = leases.iter().flat_map(|lease| self.deletions(*lease)).collect();
        Some(RowTransaction { snapshot: None, reads, writes })
    }

    /// The transaction that takes a lease away from its client, with its seals. It conflicts if the lease is renewed or spent meanwhile.
    /// Of more seals than go into one transaction the rest is [`Leases::over`] again.
    pub fn revoke(&self, lease: LeaseName) -> RowTransaction {
        let writes = self.deletions(lease).take(REVOKED_ROWS_MAX).collect();
        RowTransaction { snapshot: None, reads: vec![lease_read(lease)], writes }
    }

    /// The deletions of a lease's row and of its seals.
    fn deletions(&self, lease: LeaseName) -> impl Iterator<Item = Write> {
        let of_lease = self.get(lease).map(|_| (TableId::of(LEASES_TABLE), lease_key(lease)));
        let seals = self.seals_of(lease).map(move |tree| (TableId::of(SEALS_TABLE), seal_key(lease, tree)));
        let delete = |(table, row)| Write { cell: Cell::row(table, row), operation: Operation::Delete };
        of_lease.into_iter().chain(seals).map(delete)
    }

    /// Takes a row of either table, as the store had it at a timestamp.
    pub fn restore(&mut self, at: Timestamp, table: TableId, key: &RowKey, row: &Row) {
        if table == TableId::of(LEASES_TABLE) {
            let Some(lease) = lease_of(key) else { return };
            let mut told = Told::default();
            for (column, state) in row.cells() {
                if let CellState::Scalar(value) = state {
                    told.add(column, &Operation::Put(value.clone()));
                }
            }
            self.set(lease, told.onto(None).filter(|_| row.exists()));
        } else if let Some((lease, tree)) = seal_of(key)
            && row.exists()
        {
            self.seal(lease, tree, at);
        }
    }
}

/// The news of one lease.
#[derive(Debug, Default)]
struct Told {
    is_deleted: bool,
    client: Option<ClientId>,
    until: Option<WallTime>,
}

impl Told {
    fn add(&mut self, column: ColumnId, operation: &Operation) {
        if *operation == Operation::Delete {
            *self = Told { is_deleted: true, ..Told::default() };
        }
        let Operation::Put(value) = operation else { return };
        if let (true, Value::Id(client)) = (column == ColumnId::of(CLIENT), value) {
            self.client = Some(ClientId(*client));
        }
        if let (true, Value::Int(micros)) = (column == ColumnId::of(UNTIL), value) {
            self.until = u64::try_from(*micros).ok().map(WallTime::from_micros);
        }
    }

    fn onto(self, before: Option<Lease>) -> Option<Lease> {
        let before = before.filter(|_| !self.is_deleted);
        let client = self.client.or(before.map(|row| row.client))?;
        let until = self.until.or(before.map(|row| row.until))?;
        Some(Lease { client, until })
    }
}

/// The lease that a row of `_leases` is.
pub fn lease_of_row(key: &RowKey, row: &Row) -> Option<LeaseName> {
    lease_of(key).filter(|_| row.exists())
}

/// The blobs in the cells of a row, with their columns: of a table of an app, or of `_seals`.
pub fn blobs_of_row(row: &Row) -> impl Iterator<Item = (ColumnId, &Blob)> {
    row.cells().filter_map(|(column, cell)| Some((column, blob_of_cell(cell)?)))
}

/// The blob that a cell holds, if it holds one.
pub fn blob_of_cell(cell: &CellState) -> Option<&Blob> {
    match cell {
        CellState::Scalar(Value::Blob(blob)) | CellState::Register(Value::Blob(blob)) => Some(blob),
        CellState::Scalar(_)
        | CellState::Register(_)
        | CellState::Row(_)
        | CellState::Counter(_)
        | CellState::Set(_)
        | CellState::List(_)
        | CellState::Map(_)
        | CellState::Text(_)
        | CellState::Merged(_) => None,
    }
}

fn lease_key(lease: LeaseName) -> RowKey {
    RowKey::new(&[Value::Id(lease.0)]).expect("an id is a key")
}

fn seal_key(lease: LeaseName, tree: TreeId) -> RowKey {
    let tree = Id::from_bytes(tree.0.to_bytes());
    RowKey::new(&[Value::Id(lease.0), Value::Id(tree)]).expect("two ids are a key")
}

fn lease_of(key: &RowKey) -> Option<LeaseName> {
    match key.values().ok()?[..] {
        [Value::Id(lease)] => Some(LeaseName(lease)),
        _ => None,
    }
}

fn seal_of(key: &RowKey) -> Option<(LeaseName, TreeId)> {
    match key.values().ok()?[..] {
        [Value::Id(lease), Value::Id(tree)] => Some((LeaseName(lease), TreeId(ChunkId::from_bytes(tree.to_bytes())))),
        _ => None,
    }
}

fn lease_cell(lease: LeaseName, column: &str) -> Cell {
    Cell { table: TableId::of(LEASES_TABLE), row: lease_key(lease), column: ColumnId::of(column) }
}

fn until(lease: LeaseName, until: WallTime) -> Write {
    put(lease_cell(lease, UNTIL), Value::Int(i64::try_from(until.as_micros()).unwrap_or(i64::MAX)))
}

fn create(cell: Cell) -> Write {
    Write { cell: Cell::row(cell.table, cell.row), operation: Operation::Create }
}

fn put(cell: Cell, value: Value) -> Write {
    Write { cell, operation: Operation::Put(value) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::leases::Held;

    const LEASE: LeaseName = LeaseName(Id::from_u128(3));
    const CLIENT: ClientId = ClientId(Id::from_u128(1));

    fn tree() -> TreeId {
        TreeId(ChunkId::of(b"a tree"))
    }

    fn row(until: u64) -> Lease {
        Lease { client: CLIENT, until: WallTime::from_micros(until) }
    }

    fn at(micros: u64) -> Timestamp {
        Timestamp::from_u64(micros)
    }

    fn take(leases: &mut Leases, micros: u64, commit: &RowCommit) {
        leases.take(at(micros), &commit.transaction().writes);
    }

    fn held(micros: u64) -> Held {
        let key = RowKey::new(&[Value::Int(7)]).expect("a key");
        let cell = Cell { table: TableId::of("photos"), row: key, column: ColumnId::of("photo") };
        Held { cell, blob: Blob::inline([1]).expect("short"), at: at(micros) }
    }

    #[test]
    fn what_a_session_commits_is_what_the_feed_says() {
        let mut leases = Leases::default();
        take(&mut leases, 1, &RowCommit::Grant { lease: LEASE, row: row(50) });
        assert_eq!((leases.get(LEASE), leases.of_client(CLIENT)), (Some(row(50)), 1));
        take(&mut leases, 2, &RowCommit::Renew { lease: LEASE, row: row(90) });
        assert_eq!((leases.get(LEASE), leases.of_client(CLIENT)), (Some(row(90)), 1));
        take(&mut leases, 3, &RowCommit::Seal { lease: LEASE, tree: tree(), holds: Some(held(2)), chunks: 1 });
        assert_eq!(leases.sealed(LEASE, tree()), Some(at(3)));
    }

    #[test]
    fn a_lease_and_a_seal_that_are_deleted_are_gone() {
        let mut leases = Leases::default();
        let seal = RowCommit::Seal { lease: LEASE, tree: tree(), holds: None, chunks: 1 };
        take(&mut leases, 1, &RowCommit::Grant { lease: LEASE, row: row(50) });
        take(&mut leases, 2, &seal);
        let cells = [lease_cell(LEASE, UNTIL), seal.transaction().writes[0].cell.clone()];
        let delete = |cell: Cell| Write { cell: Cell::row(cell.table, cell.row), operation: Operation::Delete };
        leases.take(at(3), &cells.map(delete));
        assert_eq!((leases.get(LEASE), leases.of_client(CLIENT), leases.sealed(LEASE, tree())), (None, 0, None));
    }

    /// Else a lease that was revoked could be used, and chunks that a sweep takes could be named.
    #[test]
    fn a_renewal_and_a_seal_rest_on_the_lease_and_a_seal_on_the_cell_that_it_holds() {
        let grant = RowCommit::Grant { lease: LEASE, row: row(50) }.transaction();
        assert_eq!((grant.snapshot, grant.reads), (None, vec![]));
        let renew = RowCommit::Renew { lease: LEASE, row: row(50) }.transaction();
        assert_eq!((renew.snapshot, renew.reads), (None, vec![lease_read(LEASE)]));
        let seal = RowCommit::Seal { lease: LEASE, tree: tree(), holds: Some(held(2)), chunks: 1 }.transaction();
        let cell = Read::Cell { cell: held(2).cell, element: Element::Whole };
        assert_eq!((seal.snapshot, seal.reads), (Some(at(2)), vec![lease_read(LEASE), cell]));
    }

    #[test]
    fn rows_that_no_session_wrote_say_nothing() {
        let mut leases = Leases::default();
        let key = RowKey::new(&[Value::Int(7)]).expect("a key");
        let strange = Cell { table: TableId::of(LEASES_TABLE), row: key, column: ColumnId::of(UNTIL) };
        let text = Value::from("a text");
        let writes = [
            put(strange, Value::Int(1)),
            put(lease_cell(LEASE, UNTIL), Value::Int(-1)),
            put(lease_cell(LEASE, super::CLIENT), text),
        ];
        leases.take(at(1), &writes);
        assert_eq!(leases.get(LEASE), None);
    }

    #[test]
    fn a_gateway_that_starts_reads_what_was_committed() {
        let (mut told, mut read) = (Leases::default(), Leases::default());
        let commits = [
            RowCommit::Grant { lease: LEASE, row: row(50) },
            RowCommit::Seal { lease: LEASE, tree: tree(), holds: None, chunks: 1 },
        ];
        for (micros, commit) in (1..).zip(&commits) {
            take(&mut told, micros, commit);
            let writes = commit.transaction().writes;
            let mut stored = Row::default();
            for write in &writes {
                stored.apply(write.cell.column, &write.operation).expect("of its type");
            }
            read.restore(at(micros), writes[0].cell.table, &writes[0].cell.row, &stored);
        }
        assert_eq!((read.get(LEASE), read.sealed(LEASE, tree())), (told.get(LEASE), told.sealed(LEASE, tree())));
    }

    #[test]
    fn a_lease_that_is_over_is_revoked_with_its_seals_and_one_that_is_gone_leaves_none() {
        let mut leases = Leases::default();
        let seal = RowCommit::Seal { lease: LEASE, tree: tree(), holds: None, chunks: 1 };
        take(&mut leases, 1, &RowCommit::Grant { lease: LEASE, row: row(50) });
        take(&mut leases, 2, &seal);
        assert_eq!(leases.over(WallTime::from_micros(49)), BTreeSet::new());
        assert_eq!(leases.over(WallTime::from_micros(50)), [LEASE].into());
        let revocation = leases.revoke(LEASE);
        assert_eq!((revocation.snapshot, revocation.reads), (None, vec![lease_read(LEASE)]));
        // The seal was committed beside a revocation that did not know of it.
        leases.take(at(3), &revocation.writes[..1]);
        assert_eq!((leases.get(LEASE), leases.over(WallTime::from_micros(0))), (None, [LEASE].into()));
        let rest = leases.revoke(LEASE);
        assert_eq!(rest.writes, revocation.writes[1..]);
        leases.take(at(4), &rest.writes);
        assert_eq!(leases.over(WallTime::from_micros(99)), BTreeSet::new());
    }

    #[test]
    fn so_many_seals_go_with_one_revocation() {
        let mut leases = Leases::default();
        take(&mut leases, 1, &RowCommit::Grant { lease: LEASE, row: row(50) });
        for number in 0..=REVOKED_ROWS_MAX {
            leases.seal(LEASE, TreeId(ChunkId::of(&number.to_be_bytes())), at(2));
        }
        let revocation = leases.revoke(LEASE);
        assert_eq!(revocation.writes.len(), REVOKED_ROWS_MAX);
        leases.take(at(3), &revocation.writes);
        assert_eq!(leases.revoke(LEASE).writes.len(), 2, "the rest");
    }

    #[test]
    fn an_object_is_known_by_its_name_and_nothing_else_is() {
        let object = crate::ObjectName {
            store: iolite_values::StoreIncarnation(Id::from_u128(9)),
            lease: LEASE,
            chunk: ChunkId::of(b"a chunk"),
        };
        let text = object.to_string();
        assert_eq!(crate::ObjectName::parse(&text), Some(object));
        for strange in ["", "a/b/c", &text[1..], &format!("{text}#1"), &format!("{text}/{text}")] {
            assert_eq!(crate::ObjectName::parse(strange), None, "{strange}");
        }
    }
}
