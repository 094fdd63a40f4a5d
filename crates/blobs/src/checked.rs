//! Chunks that were put and looked at, so that a connection's task hashes them and the session of the gateway does not.
//!
//! Invariant: the content of such a chunk is what its name says.

use iolite_values::{ChunkId, LeaseName};
use iolite_wire::blobs::BlobPut;

use crate::pack::unpack;

/// A chunk that a client has put, unpacked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckedPut {
    pub(crate) lease: LeaseName,
    pub(crate) chunk: ChunkId,
    pub(crate) content: Vec<u8>,
}

impl CheckedPut {
    /// `None`: the content is none, or has another id.
    pub fn check(put: BlobPut) -> Option<CheckedPut> {
        let BlobPut { lease, chunk, content } = put;
        Some(CheckedPut { lease, chunk, content: unpack(chunk, content)? })
    }
}
