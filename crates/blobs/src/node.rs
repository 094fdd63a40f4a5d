//! Nodes: chunks that list names of chunks.
//!
//! Invariants: one list has one encoding, of 17 bytes a name; a node says indexes of leases, so it is the same before and after a lease is known.

use iolite_values::{ChunkId, ChunkName, Tree};

/// A chunk that a tree names is not what the tree says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NodeError {
    /// The content was damaged, or another chunk was handed over.
    #[error("the content of chunk {0} has another id: fetch it again")]
    OtherContent(ChunkId),
    /// The maker of the tree is wrong.
    #[error("the node {0} does not list the names that its place asks for")]
    Malformed(ChunkId),
    /// The maker of the tree is wrong.
    #[error("the blob is damaged: its chunk {0} does not have as many bytes as its place asks for. Put the blob again")]
    OtherLength(ChunkId),
}

const NAME_BYTES: usize = 17;

/// The content of a node.
pub fn encode_node(names: &[ChunkName]) -> Vec<u8> {
    assert!(names.len() <= Tree::NODE_NAMES_MAX, "a node has so many names");
    names.iter().flat_map(|name| [name.lease].into_iter().chain(name.id.to_bytes())).collect()
}

/// The names that a node lists: `count` of them, none with an index behind `lease_max`.
///
/// # Errors
/// [`NodeError`].
pub fn decode_node(id: ChunkId, content: &[u8], count: u64, lease_max: usize) -> Result<Vec<ChunkName>, NodeError> {
    if ChunkId::of(content) != id {
        return Err(NodeError::OtherContent(id));
    }
    let (names, rest) = content.as_chunks::<NAME_BYTES>();
    if !rest.is_empty() || names.len() as u64 != count {
        return Err(NodeError::Malformed(id));
    }
    let names: Vec<ChunkName> = names.iter().map(read_name).collect();
    let known = names.iter().all(|name| usize::from(name.lease) <= lease_max);
    if known { Ok(names) } else { Err(NodeError::Malformed(id)) }
}

fn read_name(bytes: &[u8; NAME_BYTES]) -> ChunkName {
    let [lease, id @ ..] = bytes;
    ChunkName { lease: *lease, id: ChunkId::from_bytes(*id) }
}

/// The largest index that a tree's nodes may say: its last lease, or the lease to come.
pub(crate) fn lease_max(tree: &Tree) -> usize {
    if tree.waits_for_lease() { tree.leases().len() } else { tree.leases().len().saturating_sub(1) }
}
