//! Blobs: large values of rows, put onto this device first, and read piece by piece.

use std::future::Future;
use std::io;
use std::ops::Range;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use iolite_blobs::{Builder, Edit, EditError, Finished, NodeError, Walk};
use iolite_client::Connection;
use iolite_values::{Blob, BlobError, Cell, ChunkId, ColumnId, Cutting, KeyError, TableId};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncSeek, ReadBuf, SeekFrom};

use crate::chunks::Keep;
use crate::key::IntoKey;
use crate::shared::Shared;
use crate::traffic::Traffic;

/// The blobs of a client: [`Client::blobs`](crate::Client::blobs).
#[derive(Clone, Debug)]
pub struct Blobs {
    shared: Arc<Shared>,
}

/// Why a blob is not on this device.
#[derive(Debug, thiserror::Error)]
pub enum PutError {
    /// The stream has failed, or the device has no room.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The content is longer than a blob may be.
    #[error(transparent)]
    Blob(#[from] BlobError),
}

/// Why a blob cannot be read or changed.
#[derive(Debug, thiserror::Error)]
pub enum BlobReadError {
    /// Chunks that are not on this device could not be fetched. Says what to do.
    #[error("{0}")]
    Fetch(String),
    /// There is no connection, and a part of the blob is not on this device.
    #[error("a part of the blob is not on this device, and there is no connection: come back when there is one")]
    Unavailable,
    /// A chunk is not what the tree says: a node is none, or a piece of content has another length.
    #[error(transparent)]
    Node(#[from] NodeError),
    /// The key is too long.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// A change that no blob can have.
    #[error(transparent)]
    Edit(#[from] EditError),
    /// A changed blob cannot be kept on this device.
    #[error(transparent)]
    Put(#[from] PutError),
}

/// How much of a blob is on this device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlobState {
    /// Bytes of content that are here.
    pub bytes_here: u64,
    /// All bytes of content.
    pub bytes: u64,
}

/// The time after the loss of a connection from which on a part that is not here is called unavailable.
const OFFLINE_AFTER: std::time::Duration = std::time::Duration::from_secs(2);
/// Chunks that are read ahead.
const CHUNKS_AHEAD: u64 = 4;
/// Bytes that are taken from a stream at a time.
const READ_BYTES: usize = Cutting::CHUNK_BYTES_MAX;

impl Blobs {
    pub(crate) fn new(shared: Arc<Shared>) -> Blobs {
        Blobs { shared }
    }

    /// Takes a stream onto this device, and makes a blob of it. The blob can be an argument of a mutation and a value of a row then; the client sends the
    /// content to the server before it sends the mutation. Takes memory for one chunk.
    ///
    /// # Errors
    /// [`PutError`]; nothing names what was stored by then.
    ///
    /// Cancel safe: giving up the wait leaves chunks that nothing names.
    pub async fn put(&self, mut source: impl AsyncRead + Unpin) -> Result<Blob, PutError> {
        let mut builder = Builder::new();
        let mut bytes = vec![0; READ_BYTES];
        loop {
            let count = source.read(&mut bytes).await?;
            if count == 0 {
                break;
            }
            builder.push(&bytes[..count])?;
            while let Some(chunk) = builder.pop() {
                self.shared.chunks.keep(chunk.id, chunk.content, Keep::Durably).await?;
            }
        }
        self.finish(builder.finish()?).await
    }

    /// The same of bytes in memory.
    ///
    /// # Errors
    /// As [`Blobs::put`].
    pub async fn put_bytes(&self, bytes: &[u8]) -> Result<Blob, PutError> {
        self.put(bytes).await
    }

    async fn finish(&self, mut finished: Finished) -> Result<Blob, PutError> {
        while let Some(chunk) = finished.pop() {
            self.shared.chunks.keep(chunk.id, chunk.content, Keep::Durably).await?;
        }
        Ok(finished.blob)
    }

    /// Opens the blob that a row has in a column, for reading. Only the parts that are read are fetched, four chunks ahead.
    ///
    /// # Errors
    /// [`KeyError`].
    pub fn open(&self, table: &str, key: impl IntoKey, column: &str, blob: &Blob) -> Result<BlobReader, KeyError> {
        let cell = Cell { table: TableId::of(table), row: key.key()?, column: ColumnId::of(column) };
        Ok(BlobReader { blobs: self.clone(), cell, blob: blob.clone(), at: 0, ahead: Vec::new(), reading: None })
    }

    /// Reads a whole blob into memory.
    ///
    /// # Errors
    /// [`BlobReadError`].
    pub async fn read(
        &self,
        table: &str,
        key: impl IntoKey,
        column: &str,
        blob: &Blob,
    ) -> Result<Vec<u8>, BlobReadError> {
        let reader = self.open(table, key, column, blob)?;
        let mut bytes = Vec::new();
        while (bytes.len() as u64) < blob.length() {
            let from = bytes.len() as u64;
            bytes.extend(self.read_at(reader.cell.clone(), blob.clone(), ahead_of(blob, from)).await?);
        }
        Ok(bytes)
    }

    /// How much of a blob is on this device. Takes a look at each chunk.
    pub async fn state(&self, blob: &Blob) -> BlobState {
        let bytes = blob.length();
        if let Some(own) = blob.bytes() {
            return BlobState { bytes_here: own.len() as u64, bytes };
        }
        let mut walk = Walk::new(blob);
        let mut bytes_here = 0;
        while let Some(met) = walk.next() {
            let Some(content) = self.shared.chunks.load(met.name.id).await else { continue };
            if !met.is_node() {
                bytes_here += content.len() as u64;
            } else if walk.enter(&content).is_err() {
                break;
            }
        }
        BlobState { bytes_here, bytes }
    }

    /// Writes bytes into a blob that a row has: a new blob, which shares all chunks that were not touched. The row is not changed until a mutation puts
    /// the new blob into the same column.
    ///
    /// # Errors
    /// [`BlobReadError`].
    pub async fn write_at(
        &self,
        table: &str,
        key: impl IntoKey,
        column: &str,
        blob: &Blob,
        at: u64,
        bytes: &[u8],
    ) -> Result<Blob, BlobReadError> {
        let cell = Cell { table: TableId::of(table), row: key.key()?, column: ColumnId::of(column) };
        let mut edit = Edit::new(blob);
        self.edited(&cell, blob, &mut edit, |edit| edit.write(at, bytes)).await?;
        let finished = self.edited(&cell, blob, &mut edit, Edit::finish).await?;
        Ok(self.finish(finished).await?)
    }

    /// Tries a step of an edit until it has all chunks that it needs.
    async fn edited<T>(
        &self,
        cell: &Cell,
        blob: &Blob,
        edit: &mut Edit,
        mut step: impl FnMut(&mut Edit) -> Result<T, EditError>,
    ) -> Result<T, BlobReadError> {
        loop {
            let result = step(edit);
            while let Some(chunk) = edit.pop() {
                let kept = self.shared.chunks.keep(chunk.id, chunk.content, Keep::Durably).await;
                kept.map_err(PutError::from)?;
            }
            match result {
                Err(EditError::Needs(chunks)) => {
                    for chunk in chunks {
                        edit.give(self.chunk(cell, blob, chunk).await?);
                    }
                }
                Err(error) => return Err(error.into()),
                Ok(done) => return Ok(done),
            }
        }
    }

    /// A chunk of a blob: of the device, or fetched with all others.
    async fn chunk(&self, cell: &Cell, blob: &Blob, chunk: ChunkId) -> Result<Vec<u8>, BlobReadError> {
        if let Some(content) = self.shared.chunks.load(chunk).await {
            return Ok(content);
        }
        self.fetch(cell, blob, 0..blob.length()).await?;
        self.shared.chunks.load(chunk).await.ok_or(BlobReadError::Unavailable)
    }

    /// Has these bytes of a blob on the device when it returns.
    async fn fetch(&self, cell: &Cell, blob: &Blob, bytes: Range<u64>) -> Result<(), BlobReadError> {
        let (download, ended) = self.shared.fetch(cell, blob, bytes);
        tokio::select! {
            ended = ended => ended.map_err(BlobReadError::Fetch),
            () = self.is_offline() => {
                self.shared.with(|inner| {
                    inner.core.stop_fetching(download);
                    inner.fetches.remove(&download);
                });
                Err(BlobReadError::Unavailable)
            }
        }
    }

    /// Returns when there has been no connection for a while.
    async fn is_offline(&self) {
        let mut connection = self.shared.connection.clone();
        loop {
            let is_there = |now: &Connection| matches!(now, Connection::Online | Connection::Connecting);
            // The sender lives as long as the client.
            let _ = connection.wait_for(|now| !is_there(now)).await;
            let back = tokio::time::timeout(OFFLINE_AFTER, connection.wait_for(|now| *now == Connection::Online));
            if back.await.is_err() {
                return;
            }
        }
    }

    async fn read_at(&self, cell: Cell, blob: Blob, bytes: Range<u64>) -> Result<Vec<u8>, BlobReadError> {
        if let Some(own) = blob.bytes() {
            return Ok(own[bytes.start as usize..bytes.end as usize].to_vec());
        }
        self.fetch(&cell, &blob, bytes.clone()).await?;
        let mut walk = Walk::of_range(&blob, bytes.clone());
        let mut content = Vec::with_capacity((bytes.end - bytes.start) as usize);
        let chunk_bytes = Cutting::CHUNK_BYTES_MAX as u64;
        while let Some(met) = walk.next() {
            let chunk = self.shared.chunks.load(met.name.id).await.ok_or(BlobReadError::Unavailable)?;
            if met.is_node() {
                walk.enter(&chunk)?;
                continue;
            }
            walk.check_leaf(&chunk)?;
            let begins = met.place.index * chunk_bytes;
            let from = bytes.start.saturating_sub(begins).min(chunk.len() as u64) as usize;
            let to = bytes.end.saturating_sub(begins).min(chunk.len() as u64) as usize;
            content.extend_from_slice(&chunk[from..to]);
        }
        Ok(content)
    }

    /// Why calls with blobs are not sent, and blobs not fetched, at the moment. `None`: nothing waits for anything but the network.
    pub fn waiting(&self) -> Option<String> {
        self.shared.with(|inner| inner.core.blobs_wait())
    }

    /// Bytes and frames on `/blobs`.
    pub fn traffic(&self) -> Traffic {
        self.shared.blob_traffic.read()
    }
}

/// The bytes from a place to the end of the last of the chunks that are read ahead.
fn ahead_of(blob: &Blob, from: u64) -> Range<u64> {
    let chunk = Cutting::CHUNK_BYTES_MAX as u64;
    from..((from / chunk + CHUNKS_AHEAD) * chunk).min(blob.length())
}

type Reading = Pin<Box<dyn Future<Output = Result<Vec<u8>, BlobReadError>> + Send>>;

/// The content of a blob, as a stream that can be sought in. Made by [`Blobs::open`].
pub struct BlobReader {
    blobs: Blobs,
    cell: Cell,
    blob: Blob,
    /// Where the next byte comes from.
    at: u64,
    /// The bytes from there that are in memory.
    ahead: Vec<u8>,
    reading: Option<Reading>,
}

impl AsyncRead for BlobReader {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.ahead.is_empty() {
            if self.at >= self.blob.length() {
                return Poll::Ready(Ok(()));
            }
            if self.reading.is_none() {
                let (blobs, cell, blob) = (self.blobs.clone(), self.cell.clone(), self.blob.clone());
                let bytes = ahead_of(&self.blob, self.at);
                self.reading = Some(Box::pin(async move { blobs.read_at(cell, blob, bytes).await }));
            }
            let Some(reading) = &mut self.reading else { return Poll::Pending };
            let read = ready!(reading.as_mut().poll(context));
            self.reading = None;
            self.ahead = read.map_err(io::Error::other)?;
        }
        let count = self.ahead.len().min(buffer.remaining());
        buffer.put_slice(&self.ahead[..count]);
        self.ahead.drain(..count);
        self.at += count as u64;
        Poll::Ready(Ok(()))
    }
}

impl AsyncSeek for BlobReader {
    fn start_seek(mut self: Pin<&mut Self>, to: SeekFrom) -> io::Result<()> {
        let (from, by) = match to {
            SeekFrom::Start(at) => (at, 0),
            SeekFrom::End(by) => (self.blob.length(), by),
            SeekFrom::Current(by) => (self.at, by),
        };
        let before = || io::Error::new(io::ErrorKind::InvalidInput, "before the beginning of the blob");
        self.at = from.checked_add_signed(by).ok_or_else(before)?;
        (self.ahead, self.reading) = (Vec::new(), None);
        Ok(())
    }

    fn poll_complete(self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<io::Result<u64>> {
        Poll::Ready(Ok(self.at))
    }
}

impl std::fmt::Debug for BlobReader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BlobReader").field("blob", &self.blob).field("at", &self.at).finish_non_exhaustive()
    }
}
