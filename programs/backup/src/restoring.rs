//! Restoring a backup into a new cluster.
//!
//! Invariants:
//! - the backup is read whole and compared with its checksums before anything is written;
//! - chunks come before rows, under the name of the new store: no row is there without its chunks, and no object is the original's. No sweep takes them
//!   for garbage: gateways serve nobody while the mark stands, and a sweep that began before it ends there;
//! - the store is marked before the first row and chunk, and the mark goes when all rows were read back and compared: until then gateways serve nobody;
//! - every transaction has a name that the backup and the part give it, so whoever begins again changes nothing twice;
//! - a restore that has ended is never said to be under way: whoever begins again reads everything that was acknowledged before;
//! - two restores of one backup at once do what one does, for their transactions have the same names; each ends well, or says that it has ended.

pub(crate) mod chunks;

use std::sync::Arc;

use iolite_catalog::{Catalog, begin_restoring, end_restoring, restoring};
use iolite_node::{BlobStore, StoreClient, Unavailable};
use iolite_replication::{CompletionRow, ShardMap, completions_table};
use iolite_store::{CommitReply, Reply, Request};
use iolite_values::{
    Attempt, ClientId, Counter, Decision, Id, KeyRange, Level, Read, StoreIncarnation, Timestamp, Transaction,
    TransactionId, Value, Write,
};
use iolite_wire::EncodeError;
use iolite_wire::client_storage::StoredRow;
use iolite_wire::journal::{CheckpointClient, Settled};
use tokio::task::{JoinError, JoinSet};

use self::chunks::put_chunks;
use crate::comparing::compare;
use crate::digest::checksum;
use crate::format::{FormatError, Part, PartKind};
use crate::manifest::{ChunksSummary, MANIFEST, MANIFEST_BYTES_MAX, Manifest, ManifestError, PartSummary};
use crate::place::{Place, PlaceError};
use crate::reading::{Copy, ReadError};
use crate::row_writes::transactions_of;
use crate::store_requests::{RequestError, ask, commit, everything_until_now, unexpected};

/// So many parts are restored at a time.
const PARTS_AT_ONCE: usize = 4;
/// So many clients of a part are restored at a time.
const CLIENTS_AT_ONCE: usize = 32;
/// How often a restore looks whether the store is empty while others write to it.
const LOOKS: u32 = 10;
/// Transactions of one part are counted within this.
const PART_COUNTERS: u64 = 1 << 32;

/// Why nothing, or not all, was restored.
#[derive(Debug, thiserror::Error)]
pub enum RestoreError {
    #[error("there is no backup in {0}")]
    None(String),
    #[error(
        "the backup in {0} was not finished, and cannot be restored: it has no manifest. Take another one from the same cluster, or restore an earlier one"
    )]
    Unfinished(String),
    #[error("{file} of the backup: {source}")]
    Manifest { file: String, source: ManifestError },
    #[error("{file} of the backup is missing: restore another backup")]
    PartMissing { file: String },
    #[error("{file} of the backup is damaged: its checksum is another one than the manifest's. Restore another backup")]
    PartDamaged { file: String },
    #[error("{file} of the backup: {source}")]
    Part { file: String, source: FormatError },
    #[error(
        "this is the cluster that the backup is of. A backup is restored into a new cluster, so that no client takes one for the other"
    )]
    SameStore,
    #[error(
        "the store is not empty: a client has written to it, or a node of objects has registered. A backup is restored into a new cluster that nobody has \
         used yet: make one"
    )]
    NotEmpty,
    #[error(
        "the backup {0} was restored already, whole and compared, into this store or into the one that this is a copy of: there is nothing to go on with. To \
         have it once more, restore it into a new cluster"
    )]
    Already(Id),
    #[error(
        "everything was restored and compared; whether the cluster serves it is not known yet: {source}. Run it again, which goes on or says that it was \
         restored already"
    )]
    EndUnknown { source: Box<RestoreError> },
    #[error("the backup {0} is being restored into this store: finish that, or make a new cluster")]
    Another(Id),
    #[error("what was restored is not what the backup says: {0}. If that is so again in a new cluster, report it")]
    Different(String),
    #[error("the restore has not ended, and the cluster serves nobody: {source}. Run it again to go on")]
    Interrupted { source: Box<RestoreError> },
    #[error(transparent)]
    Place(#[from] PlaceError),
    #[error(transparent)]
    Request(#[from] RequestError),
    #[error(transparent)]
    Read(#[from] ReadError),
    #[error("a row cannot be compared: {0}")]
    Encode(#[from] EncodeError),
    #[error(
        "the backup has chunks of blobs: say where they are to be, with --blobs and what `store` is under [blobs] in the files of the new cluster's gateways"
    )]
    NoChunks,
    #[error("the store of blobs cannot be reached, or refuses, as a warning above says")]
    Chunks(#[from] Unavailable),
    #[error("a task of this program has failed: {0}")]
    Task(#[from] JoinError),
}

/// Reads a whole backup and compares every file with its checksum.
///
/// # Errors
/// [`RestoreError`], about the backup.
pub async fn check_backup(place: &Place, address: &str) -> Result<Manifest, RestoreError> {
    let Some(bytes) = place.get(MANIFEST, MANIFEST_BYTES_MAX).await? else {
        let address = address.to_owned();
        return Err(if place.is_empty().await? {
            RestoreError::None(address)
        } else {
            RestoreError::Unfinished(address)
        });
    };
    let manifest = Manifest::decode(&bytes);
    let manifest = manifest.map_err(|source| RestoreError::Manifest { file: MANIFEST.to_owned(), source })?;
    for part in &manifest.parts {
        read_part(place, part).await?;
    }
    Ok(manifest)
}

async fn read_part(place: &Place, part: &PartSummary) -> Result<Part, RestoreError> {
    let file = part.name.clone();
    let bytes = match place.get(&file, part.bytes as usize).await {
        Ok(Some(bytes)) => bytes,
        Ok(None) => return Err(RestoreError::PartMissing { file }),
        Err(PlaceError::TooLarge { .. }) => return Err(RestoreError::PartDamaged { file }),
        Err(error) => return Err(error.into()),
    };
    if bytes.len() as u64 != part.bytes || checksum(&bytes) != part.sha256 {
        return Err(RestoreError::PartDamaged { file });
    }
    match Part::decode(&bytes) {
        Ok(read) if read.kind() == part.kind => Ok(read),
        Ok(_) => Err(RestoreError::PartDamaged { file }),
        Err(source) => Err(RestoreError::Part { file, source }),
    }
}

/// Restores a backup into a cluster that has never been used. Run again after a failure, it goes on.
///
/// `chunks` is the store of chunks that the gateways of the new cluster have, which may be that of the old one. `told` hears how many chunks were restored
/// by now.
///
/// # Errors
/// [`RestoreError`]; nothing that was restored is served then, but after [`RestoreError::Already`] and perhaps [`RestoreError::EndUnknown`].
pub async fn restore_backup(
    store: &StoreClient,
    shards: &ShardMap,
    place: &Place,
    address: &str,
    chunks: Option<&BlobStore>,
    mut told: impl FnMut(ChunksSummary),
) -> Result<Manifest, RestoreError> {
    let manifest = Arc::new(check_backup(place, address).await?);
    if chunks.is_none() && manifest.has_chunks() {
        return Err(RestoreError::NoChunks);
    }
    let standing = everything_until_now(store).await?;
    if standing.store.0 == manifest.store {
        return Err(RestoreError::SameStore);
    }
    let chunks = chunks.cloned().map(|chunks| (chunks, standing.store));
    let restoring = Restoring { store: store.clone(), chunks, own: ClientId(manifest.backup) };
    restoring.begin(shards, standing.resolved, &manifest).await?;
    if let Err(source) = fill(&restoring, shards, place, &manifest, &mut told).await {
        let is_over = restoring.is_over(shards, &manifest).await;
        return Err(match is_over {
            Ok(true) => RestoreError::Already(manifest.backup),
            Ok(false) | Err(_) => RestoreError::Interrupted { source: Box::new(source) },
        });
    }
    let ended = restoring.end(manifest.parts.len()).await;
    ended.map_err(|source| RestoreError::EndUnknown { source: Box::new(source) })?;
    Ok(Arc::unwrap_or_clone(manifest))
}

/// All between the mark and its end.
async fn fill(
    restoring: &Restoring,
    shards: &ShardMap,
    place: &Place,
    manifest: &Arc<Manifest>,
    told: &mut impl FnMut(ChunksSummary),
) -> Result<(), RestoreError> {
    let mut restored = ChunksSummary::default();
    for of_chunks in [true, false] {
        let is_next = |number: &usize| (manifest.parts[*number].kind == PartKind::Chunks) == of_chunks;
        let mut running = JoinSet::new();
        for number in (0..manifest.parts.len()).filter(is_next) {
            if running.len() >= PARTS_AT_ONCE
                && let Some(done) = running.join_next().await
            {
                restored = restored.plus(done??);
                told(restored);
            }
            let (restoring, place, manifest) = (restoring.clone(), place.clone(), manifest.clone());
            running.spawn(async move { restoring.part(&place, &manifest.parts[number], number).await });
        }
        while let Some(done) = running.join_next().await {
            restored = restored.plus(done??);
            told(restored);
        }
    }
    let store = &restoring.store;
    // Another restore of the same backup may have written some of it.
    let at = everything_until_now(store).await?.resolved;
    compare(store, shards, at, manifest, |client| client == restoring.own).await
}

/// The last transaction of a restore.
fn last_counter(parts: usize) -> Counter {
    Counter((parts as u64 + 1) * PART_COUNTERS)
}

/// What a restore finds.
enum Marked {
    Empty,
    /// Somebody has written here.
    Used,
    /// This backup is being restored.
    ForThis,
    ForAnother(Id),
    /// It was.
    Ended,
}

/// A restore under way.
#[derive(Clone)]
struct Restoring {
    store: StoreClient,
    /// The store of chunks, and the name of the store of rows in it.
    chunks: Option<(BlobStore, StoreIncarnation)>,
    /// Under whose name it writes.
    own: ClientId,
}

impl Restoring {
    /// Marks the store, unless it is marked for this backup already.
    async fn begin(&self, shards: &ShardMap, at: Timestamp, manifest: &Manifest) -> Result<(), RestoreError> {
        let (mut at, mut was_used) = (at, false);
        for attempt in 1..=LOOKS {
            match self.look(shards, at, manifest).await? {
                Marked::ForThis => return Ok(()),
                Marked::ForAnother(other) => return Err(RestoreError::Another(other)),
                Marked::Ended => return Err(RestoreError::Already(manifest.backup)),
                Marked::Used if was_used => return Err(RestoreError::NotEmpty),
                // Acknowledgements have no timestamp: they may be of another restore of this backup, whose mark came after `at`.
                Marked::Used => was_used = true,
                Marked::Empty if self.mark(manifest.backup, attempt, at).await? => return Ok(()),
                // Somebody else writes: perhaps the same mark.
                Marked::Empty => {}
            }
            at = everything_until_now(&self.store).await?.resolved;
        }
        Err(RestoreError::NotEmpty)
    }

    /// What the store was at a timestamp.
    async fn look(&self, shards: &ShardMap, at: Timestamp, manifest: &Manifest) -> Result<Marked, RestoreError> {
        let copy = Copy::new(&self.store, shards, at);
        let mut catalog = copy.table(Catalog::table());
        let mut is_empty = true;
        while let Some(page) = catalog.next().await? {
            is_empty = false;
            match page.iter().find_map(restoring) {
                Some(other) if other == manifest.backup => return Ok(Marked::ForThis),
                Some(other) => return Ok(Marked::ForAnother(other)),
                None => {}
            }
        }
        if self.has_ended(&copy, manifest.parts.len()).await? {
            return Ok(Marked::Ended);
        }
        // Whoever has ever written left a record of it.
        let is_used = !is_empty || copy.table(completions_table()).next().await?.is_some();
        Ok(if is_used { Marked::Used } else { Marked::Empty })
    }

    /// Marks a store that was empty, if it still is.
    async fn mark(&self, backup: Id, attempt: u32, at: Timestamp) -> Result<bool, RestoreError> {
        let read = Read::Range { table: Catalog::table(), range: KeyRange::all() };
        let begun = Transaction {
            attempt: Attempt(attempt),
            snapshot: at,
            reads: vec![read],
            ..self.transaction(1, begin_restoring(backup))
        };
        match commit(&self.store, begun).await? {
            CommitReply::Completed(_) | CommitReply::Forgotten => Ok(true),
            CommitReply::Conflict { .. } => Ok(false),
            other => Err(unexpected("the mark of a restore", &Reply::Commit(other)).into()),
        }
    }

    /// Whether another restore of this backup has ended meanwhile: then the store is what its users make of it.
    async fn is_over(&self, shards: &ShardMap, manifest: &Manifest) -> Result<bool, RestoreError> {
        let at = everything_until_now(&self.store).await?.resolved;
        self.has_ended(&Copy::new(&self.store, shards, at), manifest.parts.len()).await
    }

    /// Takes the mark away: the restore has ended with that.
    async fn end(&self, parts: usize) -> Result<(), RestoreError> {
        let last = last_counter(parts);
        self.commit(self.transaction(last.0, end_restoring())).await?;
        // That its records are not needed any more is for tidiness. They stay where this is not heard.
        let _ = self.acknowledge(self.own, last).await;
        Ok(())
    }

    /// Whether the store has a record of the transaction that took the mark away.
    async fn has_ended(&self, copy: &Copy<'_>, parts: usize) -> Result<bool, RestoreError> {
        let last = last_counter(parts);
        let own = KeyRange::prefix(&[Value::Id(self.own.0)]).expect("an id is a key");
        let mut pages = copy.range(completions_table(), &own);
        while let Some(page) = pages.next().await? {
            let is_last = |row: CompletionRow| match row {
                CompletionRow::Client { acknowledged, .. } => acknowledged >= last,
                CompletionRow::Outcome { counter, .. } => counter == last,
            };
            if page.iter().filter_map(CompletionRow::of).any(is_last) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Says how many chunks it had.
    async fn part(&self, place: &Place, part: &PartSummary, number: usize) -> Result<ChunksSummary, RestoreError> {
        let first = (number as u64 + 1) * PART_COUNTERS;
        match (read_part(place, part).await?, &self.chunks) {
            (Part::Rows(rows), _) => self.rows(rows, first).await?,
            (Part::Clients(clients), _) => self.clients(clients).await?,
            (Part::Chunks(stored), Some((chunks, store))) => return put_chunks(chunks, *store, stored).await,
            (Part::Chunks(_), None) => return Err(RestoreError::NoChunks),
        }
        Ok(ChunksSummary::default())
    }

    /// One transaction after the other: the operations of a row that is cut have their order.
    async fn rows(&self, rows: Vec<StoredRow>, first: u64) -> Result<(), RestoreError> {
        for (counter, writes) in (first + 1..).zip(transactions_of(&rows)) {
            self.commit(self.transaction(counter, writes)).await?;
        }
        Ok(())
    }

    async fn clients(&self, clients: Vec<CheckpointClient>) -> Result<(), RestoreError> {
        let mut running = JoinSet::new();
        for client in clients {
            if running.len() >= CLIENTS_AT_ONCE
                && let Some(done) = running.join_next().await
            {
                done??;
            }
            let own = self.clone();
            running.spawn(async move { own.client(client).await });
        }
        while let Some(done) = running.join_next().await {
            done??;
        }
        Ok(())
    }

    /// Records a client's outcomes under the names that they had, by transactions of the same names that change nothing: a late copy of one is
    /// answered with its outcome.
    async fn client(&self, client: CheckpointClient) -> Result<(), RestoreError> {
        if client.acknowledged > Counter(0) {
            self.acknowledge(client.client, client.acknowledged).await?;
        }
        for (counter, completion) in client.completions {
            let decision = match completion.settled {
                Settled::Committed => Decision::Commit(Vec::new()),
                Settled::Aborted => Decision::Abort("restored".to_owned()),
            };
            let id = TransactionId { client: client.client, counter };
            let outcome = Transaction { id, attempt: completion.attempt, decision, ..self.transaction(0, Vec::new()) };
            self.commit(outcome).await?;
        }
        Ok(())
    }

    /// What was restored before, and may be forgotten, is not done again.
    async fn commit(&self, transaction: Transaction) -> Result<(), RestoreError> {
        match commit(&self.store, transaction).await? {
            CommitReply::Completed(_) | CommitReply::Forgotten => Ok(()),
            other => Err(unexpected("a restored transaction", &Reply::Commit(other)).into()),
        }
    }

    async fn acknowledge(&self, client: ClientId, through: Counter) -> Result<(), RestoreError> {
        match ask(&self.store, Request::Acknowledge { client, through }).await? {
            Reply::Acknowledged => Ok(()),
            other => Err(unexpected("an acknowledgement", &other).into()),
        }
    }

    fn transaction(&self, counter: u64, writes: Vec<Write>) -> Transaction {
        Transaction {
            id: TransactionId { client: self.own, counter: Counter(counter) },
            attempt: Attempt(1),
            snapshot: Timestamp::ZERO,
            reads: Vec::new(),
            level: Level::Strict,
            decision: Decision::Commit(writes),
        }
    }
}
