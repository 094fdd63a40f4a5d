//! Messages between a client and a gateway on `/blobs`, where the chunks of blobs travel.
//!
//! Invariants: each message stands alone; a tree that was decoded is one that a cell can hold. docs/protocols/blobs.md walks through it.

mod parts;
mod reply;
mod request;
mod tree;

use iolite_values::{ChunkId, LeaseName, Timestamp};

use crate::message::{Goodbye, ProtocolVersion};

pub use reply::{BlobRefusal, BlobReply};
pub use request::{BlobGet, BlobHello, BlobPut, BlobRequest, BlobSeal};
pub use tree::{BlobTree, TreeId};

/// The version of these messages.
pub const BLOB_PROTOCOL_VERSION: ProtocolVersion = ProtocolVersion(1);

/// The content of a chunk, as it travels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlobContent {
    pub bytes: Vec<u8>,
    /// Bytes of the content that LZ4 has packed. 0: the bytes are the content.
    pub unpacked_bytes: u32,
}

/// The row of a lease or of a seal was committed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlobLeased {
    pub lease: LeaseName,
    pub at: Timestamp,
}

/// A chunk is stored under a lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlobStored {
    pub lease: LeaseName,
    pub chunk: ChunkId,
}

/// Chunks of a lease: those of a question, or those that its answer lacks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeasedChunks {
    pub lease: LeaseName,
    pub chunks: Vec<ChunkId>,
}

/// A tree is sealed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlobSealed {
    pub lease: LeaseName,
    pub tree: TreeId,
    pub at: Timestamp,
}

/// A tree is not sealed: these chunks of the lease are not stored. None: the cell has other chunks now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlobUnsealed {
    pub lease: LeaseName,
    pub tree: TreeId,
    pub lacks: Vec<ChunkId>,
}

/// The connection is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlobWelcome {
    pub version: ProtocolVersion,
    pub store: iolite_values::StoreIncarnation,
}

/// The connection ends after this message.
pub type BlobGoodbye = Goodbye;
