//! A chunk of blobs, as a part of a backup has it: lease, id, content.
//!
//! Invariant: what is decoded is what its name says, whatever the bytes are.

use iolite_values::{ChunkId, Cutting, Id, LeaseName};

use crate::format::FormatError;

const NAME_BYTES: usize = 16;

/// A chunk, under the lease by which rows name it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredChunk {
    pub lease: LeaseName,
    pub chunk: ChunkId,
    /// At most 64 KiB.
    pub content: Vec<u8>,
}

impl StoredChunk {
    pub fn encode(&self) -> Vec<u8> {
        [&self.lease.0.to_bytes()[..], &self.chunk.to_bytes(), &self.content].concat()
    }

    /// # Errors
    /// [`FormatError::NotAChunk`].
    pub fn decode(record: &[u8]) -> Result<StoredChunk, FormatError> {
        let (lease, rest) = record.split_first_chunk::<NAME_BYTES>().ok_or(FormatError::NotAChunk)?;
        let (chunk, content) = rest.split_first_chunk::<NAME_BYTES>().ok_or(FormatError::NotAChunk)?;
        let (lease, chunk) = (LeaseName(Id::from_bytes(*lease)), ChunkId::from_bytes(*chunk));
        if !is_content_of(chunk, content) {
            return Err(FormatError::NotAChunk);
        }
        Ok(StoredChunk { lease, chunk, content: content.to_vec() })
    }
}

/// Whether this is the content that an id says.
pub(crate) fn is_content_of(chunk: ChunkId, content: &[u8]) -> bool {
    content.len() <= Cutting::CHUNK_BYTES_MAX && ChunkId::of(content) == chunk
}
