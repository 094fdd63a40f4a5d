//! Parts of several messages: ids without anything between, contents.

use iolite_values::{ChunkId, LeaseName};

use super::BlobContent;
use crate::DecodeError;
use crate::encoding::{Reader, Writer, identity, required};
use crate::generated::proto;
use crate::limits::{CHUNK_CONTENT, CHUNK_IDS};

pub(super) fn write_chunk(chunk: ChunkId) -> Vec<u8> {
    chunk.to_bytes().to_vec()
}

pub(super) fn read_chunk(bytes: &[u8]) -> Result<ChunkId, DecodeError> {
    Ok(ChunkId::from_bytes(identity(bytes)?.to_bytes()))
}

pub(super) fn write_lease(lease: LeaseName) -> Vec<u8> {
    lease.0.to_bytes().to_vec()
}

pub(super) fn read_lease(bytes: &[u8]) -> Result<LeaseName, DecodeError> {
    Ok(LeaseName(identity(bytes)?))
}

pub(super) fn write_chunks(chunks: &[ChunkId], writer: &mut Writer) -> Vec<u8> {
    writer.count(chunks.len(), CHUNK_IDS);
    chunks.iter().flat_map(|chunk| chunk.to_bytes()).collect()
}

pub(super) fn read_chunks(bytes: &[u8], reader: &Reader) -> Result<Vec<ChunkId>, DecodeError> {
    reader.count(bytes.len() / 16, CHUNK_IDS)?;
    let (chunks, rest) = bytes.as_chunks();
    if !rest.is_empty() {
        return Err(DecodeError::malformed("ids of chunks have 16 bytes each"));
    }
    Ok(chunks.iter().map(|chunk| ChunkId::from_bytes(*chunk)).collect())
}

pub(super) fn write_content(content: &BlobContent, writer: &mut Writer) -> proto::BlobContent {
    writer.count(content.bytes.len(), CHUNK_CONTENT);
    writer.count(content.unpacked_bytes as usize, CHUNK_CONTENT);
    proto::BlobContent { bytes: content.bytes.clone(), unpacked_bytes: content.unpacked_bytes }
}

pub(super) fn read_content(content: Option<proto::BlobContent>, reader: &Reader) -> Result<BlobContent, DecodeError> {
    let content = required(content, "a chunk without content")?;
    reader.count(content.bytes.len(), CHUNK_CONTENT)?;
    reader.count(content.unpacked_bytes as usize, CHUNK_CONTENT)?;
    Ok(BlobContent { bytes: content.bytes, unpacked_bytes: content.unpacked_bytes })
}
