//! Chunks on their way: packed by LZ4 where that saves an eighth.
//!
//! Invariant: unpacking takes no more memory than a chunk has, whatever the bytes say.

use iolite_values::{ChunkId, Cutting};
use iolite_wire::blobs::BlobContent;

/// A content as it is sent.
pub fn pack(content: &[u8]) -> BlobContent {
    let packed = lz4_flex::block::compress(content);
    if packed.len() <= content.len() - content.len() / 8 && packed.len() < content.len() {
        BlobContent { bytes: packed, unpacked_bytes: content.len() as u32 }
    } else {
        BlobContent { bytes: content.to_vec(), unpacked_bytes: 0 }
    }
}

/// The content that was sent, if it is that of the chunk.
pub fn unpack(chunk: ChunkId, content: BlobContent) -> Option<Vec<u8>> {
    let bytes = match content.unpacked_bytes as usize {
        0 => content.bytes,
        length if length > Cutting::CHUNK_BYTES_MAX => return None,
        length => {
            let mut bytes = vec![0; length];
            let written = lz4_flex::block::decompress_into(&content.bytes, &mut bytes).ok()?;
            (written == length).then_some(bytes)?
        }
    };
    (bytes.len() <= Cutting::CHUNK_BYTES_MAX && ChunkId::of(&bytes) == chunk).then_some(bytes)
}
