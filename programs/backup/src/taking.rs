//! Taking a backup.
//!
//! Invariants: everything is read at one resolved timestamp, which has all that was acknowledged before; the manifest is written last. Chunks come after
//! the rows that name them, while replicas keep the history behind that timestamp: no sweep takes what a row of it names.

pub(crate) mod chunks;

use std::collections::BTreeSet;

use iolite_access::ACCESS_TABLE;
use iolite_catalog::{CATALOG_TABLE, Catalog, CatalogError, SchemaPolicy};
use iolite_host::random_id;
use iolite_node::{BlobStore, Standing, StoreClient, Unavailable};
use iolite_replication::{CompletionRow, ShardMap, completions_table};
use iolite_store::Completion;
use iolite_tracking::OBJECTS_TABLE;
use iolite_values::{ClientId, Counter, Id, LOG_CHECKPOINTS_TABLE, LOG_TABLE, Schema, TableId};
use iolite_wire::EncodeError;
use iolite_wire::client_storage::StoredRow;
use iolite_wire::journal::{self, CheckpointChunk, CheckpointClient, Settled};

use self::chunks::Lack;
use crate::digest::{Digest, checksum};
use crate::format::{FORMAT_VERSION, PartKind, PartWriter};
use crate::manifest::{
    ChunksSummary, ClientsSummary, MANIFEST, MANIFEST_BYTES_MAX, Manifest, PARTS_MAX, PartSummary, TableSummary,
    part_name,
};
use crate::naming::{Naming, table_that_names_chunks};
use crate::place::{Place, PlaceError};
use crate::reading::{Copy, ReadError};
use crate::store_requests::{RequestError, everything_until_now};

/// A client with more outcomes than this is cut: the largest record has so many.
const RECORD_COMPLETIONS: usize = 4_096;

/// Why there is no backup.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    #[error("there is a backup in {0} already: choose another place")]
    There(String),
    #[error(
        "{0} is not empty: it may hold a backup that was not finished. Remove what is there, or choose another place"
    )]
    NotEmpty(String),
    #[error(transparent)]
    Place(#[from] PlaceError),
    #[error(transparent)]
    Request(#[from] RequestError),
    #[error(transparent)]
    Read(#[from] ReadError),
    #[error(transparent)]
    Catalog(#[from] CatalogError),
    #[error("a row cannot be written into a backup: {0}")]
    Encode(#[from] EncodeError),
    #[error(
        "rows of the table {0:?} name chunks of blobs: say where the chunks are, with --blobs and what `store` is under [blobs] in the file of a gateway"
    )]
    NoChunks(String),
    #[error(
        "the store of blobs cannot be reached, or refuses, as a warning above says. Start again when that is well, into another place"
    )]
    Chunks(#[from] Unavailable),
    #[error("a backup has at most {PARTS_MAX} files of 8 MiB: this store is too large for one")]
    TooLarge,
}

/// A backup that was taken.
#[derive(Clone, Debug)]
pub struct Taken {
    pub manifest: Manifest,
    /// Cells whose chunks are not in the backup: as many of them as are told.
    pub lacking: BTreeSet<Lack>,
}

/// Takes a backup of all that the store holds now. Nothing that it writes is taken for a backup before this returns.
///
/// `chunks` is the store of chunks that gateways have; without it a backup is refused if rows name chunks. `told` hears how many chunks were taken by now.
///
/// # Errors
/// [`BackupError`]. What was written until then is left, so that it can be looked at. Chunks that are missing or damaged are no error.
pub async fn take_backup(
    store: &StoreClient,
    shards: &ShardMap,
    place: &Place,
    address: &str,
    chunks: Option<&BlobStore>,
    mut told: impl FnMut(ChunksSummary),
) -> Result<Taken, BackupError> {
    expect_empty(place, address).await?;
    let standing = everything_until_now(store).await?;
    let copy = Copy::new(store, shards, standing.resolved);
    let schema = schema_of(&copy).await?;
    if chunks.is_none()
        && let Some(table) = table_that_names_chunks(&copy, &schema).await?
    {
        return Err(BackupError::NoChunks(table));
    }
    let mut taking = Taking { place, parts: Vec::new(), part: None };
    let mut tables = Vec::new();
    for name in table_names(&schema) {
        tables.push(taking.table(&copy, name).await?);
    }
    // No schema tells whether there are objects, nor users with tokens.
    for name in [OBJECTS_TABLE, ACCESS_TABLE] {
        let table = taking.table(&copy, name.to_owned()).await?;
        tables.extend(Some(table).filter(|table| table.rows > 0));
    }
    taking.flush().await?;
    let clients = taking.clients(&copy).await?;
    taking.flush().await?;
    let (of_chunks, lacking) = match chunks {
        Some(chunks) => {
            let naming = Naming { copy: &copy, schema: &schema, chunks, store: standing.store };
            taking.chunks(&naming, &mut told).await?
        }
        None => Default::default(),
    };
    taking.flush().await?;
    let manifest = manifest_of(standing, tables, clients, of_chunks, taking.parts);
    place.put(MANIFEST, manifest.encode()).await?;
    Ok(Taken { manifest, lacking })
}

async fn expect_empty(place: &Place, address: &str) -> Result<(), BackupError> {
    if place.get(MANIFEST, MANIFEST_BYTES_MAX).await?.is_some() {
        return Err(BackupError::There(address.to_owned()));
    }
    if !place.is_empty().await? {
        return Err(BackupError::NotEmpty(address.to_owned()));
    }
    Ok(())
}

fn manifest_of(
    standing: Standing,
    tables: Vec<TableSummary>,
    clients: ClientsSummary,
    chunks: ChunksSummary,
    parts: Vec<PartSummary>,
) -> Manifest {
    let Standing { store, resolved } = standing;
    Manifest {
        format: FORMAT_VERSION,
        backup: Id::from_u128(random_id()),
        store: store.0,
        at: resolved.as_u64(),
        at_unix_ms: resolved.micros() / 1_000,
        program: env!("CARGO_PKG_VERSION").to_owned(),
        tables,
        clients,
        chunks,
        parts,
    }
}

async fn schema_of(copy: &Copy<'_>) -> Result<Schema, BackupError> {
    let mut rows = Vec::new();
    let mut pages = copy.table(Catalog::table());
    while let Some(page) = pages.next().await? {
        rows.extend(page);
    }
    let mut catalog = Catalog::new(SchemaPolicy::Fixed);
    catalog.load(rows)?;
    Ok(catalog.schema().clone())
}

/// The catalog, the tables that it has, and the entries of logs if it has any: clients write nothing else. (The tables of a log are made by its members.)
/// Leases and seals are of uploads under way, into the old store: a restored one has none. Nodes of objects register anew.
fn table_names(schema: &Schema) -> Vec<String> {
    let own = schema.tables().map(|(name, _)| name.to_owned());
    let of_logs = if schema.has_logs() { &[LOG_TABLE, LOG_CHECKPOINTS_TABLE][..] } else { &[] };
    std::iter::once(CATALOG_TABLE.to_owned()).chain(own).chain(of_logs.iter().map(|name| (*name).to_owned())).collect()
}

/// What has been written.
struct Taking<'a> {
    place: &'a Place,
    parts: Vec<PartSummary>,
    part: Option<(PartKind, PartWriter)>,
}

impl Taking<'_> {
    async fn table(&mut self, copy: &Copy<'_>, name: String) -> Result<TableSummary, BackupError> {
        let mut digest = Digest::default();
        let mut pages = copy.table(TableId::of(&name));
        while let Some(page) = pages.next().await? {
            for row in page {
                let record = StoredRow { table: row.table, key: row.key, row: row.row }.encode()?;
                digest.add(&record);
                self.push(PartKind::Rows, &record).await?;
            }
        }
        Ok(TableSummary { name, rows: digest.records(), sha256: digest.finish() })
    }

    async fn clients(&mut self, copy: &Copy<'_>) -> Result<ClientsSummary, BackupError> {
        let mut digest = Digest::default();
        let mut known = Known::default();
        let mut pages = copy.table(completions_table());
        while let Some(page) = pages.next().await? {
            for row in page.iter().filter_map(CompletionRow::of) {
                if let Some(client) = known.take(&row, &mut digest) {
                    self.push_client(client).await?;
                }
            }
        }
        if let Some(client) = known.end() {
            self.push_client(client).await?;
        }
        Ok(ClientsSummary { records: digest.records(), sha256: digest.finish() })
    }

    async fn push_client(&mut self, client: CheckpointClient) -> Result<(), BackupError> {
        let record = CheckpointChunk::Clients(vec![client]).encode()?;
        self.push(PartKind::Clients, &record).await
    }

    async fn push(&mut self, kind: PartKind, record: &[u8]) -> Result<(), BackupError> {
        let (_, part) = self.part.get_or_insert_with(|| (kind, PartWriter::new(kind)));
        part.push(record);
        if part.is_full() {
            self.flush().await?;
        }
        Ok(())
    }

    async fn flush(&mut self) -> Result<(), BackupError> {
        let Some((kind, part)) = self.part.take() else { return Ok(()) };
        if self.parts.len() == PARTS_MAX {
            return Err(BackupError::TooLarge);
        }
        let (name, records) = (part_name(self.parts.len()), part.records());
        let bytes = part.finish();
        let summary = PartSummary { name, kind, records, bytes: bytes.len() as u64, sha256: checksum(&bytes) };
        self.place.put(&summary.name, bytes).await?;
        self.parts.push(summary);
        Ok(())
    }
}

/// A client whose rows are being read, in their order.
#[derive(Default)]
pub(crate) struct Known(Option<CheckpointClient>);

impl Known {
    /// Gives what is whole, and counts what a restored store will have: a client of whom nothing is known by then has no row.
    pub fn take(&mut self, row: &CompletionRow, digest: &mut Digest) -> Option<CheckpointClient> {
        match row {
            CompletionRow::Client { client, acknowledged } => {
                if *acknowledged > Counter(0) {
                    digest.add_completion(row);
                }
                self.0.replace(new_client(*client, *acknowledged)).filter(is_something)
            }
            CompletionRow::Outcome { client, counter, completion } => {
                digest.add_completion(row);
                let known = self.0.as_ref().map_or(Counter(0), |known| known.acknowledged);
                let is_other = self.0.as_ref().is_none_or(|known| known.client != *client);
                let is_long = self.0.as_ref().is_some_and(|known| known.completions.len() >= RECORD_COMPLETIONS);
                let whole = match (is_other, is_long) {
                    // A client's own row comes first; without one nothing was acknowledged.
                    (true, _) => self.0.replace(new_client(*client, Counter(0))),
                    (false, true) => self.0.replace(new_client(*client, known)),
                    (false, false) => None,
                };
                if let Some(own) = &mut self.0 {
                    own.completions.insert(*counter, to_wire(completion));
                }
                whole.filter(is_something)
            }
        }
    }

    pub fn end(self) -> Option<CheckpointClient> {
        self.0.filter(is_something)
    }
}

fn new_client(client: ClientId, acknowledged: Counter) -> CheckpointClient {
    CheckpointClient { client, acknowledged, completions: Default::default() }
}

fn is_something(client: &CheckpointClient) -> bool {
    client.acknowledged > Counter(0) || !client.completions.is_empty()
}

fn to_wire(completion: &Completion) -> journal::Completion {
    let settled = match completion.decision {
        iolite_store::CompletionDecision::Committed => Settled::Committed,
        iolite_store::CompletionDecision::Aborted => Settled::Aborted,
    };
    journal::Completion { attempt: completion.attempt, at: completion.at, settled }
}
