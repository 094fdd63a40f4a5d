//! A blob whose content is in chunks, and the name of its tree.

use iolite_values::{Blob, BlobDigest, ChunkId, ChunkName, Chunks, Tree};

use crate::DecodeError;
use crate::encoding::{read_tree, write_tree};
use crate::generated::proto;

/// A blob whose content is in chunks. Two are equal only if their leases are, too.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlobTree {
    pub length: u64,
    pub digest: BlobDigest,
    pub tree: Tree,
}

/// Names a tree with its leases: what a seal speaks of. The beginning of the SHA-256 of what [`BlobTree`] says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TreeId(pub ChunkId);

impl BlobTree {
    /// `None`: the blob lies in its cell.
    pub fn of(blob: &Blob) -> Option<BlobTree> {
        match blob.chunks() {
            Chunks::Inline(_) => None,
            Chunks::Tree(tree) => Some(BlobTree { length: blob.length(), digest: blob.digest(), tree: tree.clone() }),
        }
    }

    /// The blob, as a cell holds it.
    ///
    /// # Panics
    /// If this was not made by [`BlobTree::of`] or decoded.
    pub fn to_blob(&self) -> Blob {
        Blob::tree(self.length, self.digest, self.tree.clone()).expect("it was made of a blob, or checked as one")
    }

    /// The name of this tree: two that differ in anything have different ones.
    pub fn id(&self) -> TreeId {
        let mut bytes = Vec::from(self.length.to_be_bytes());
        bytes.extend_from_slice(&self.digest.to_bytes());
        bytes.extend_from_slice(&[self.tree.cutting().number(), self.tree.depth(), self.tree.leases().len() as u8]);
        bytes.extend(self.tree.leases().iter().flat_map(|lease| lease.0.to_bytes()));
        bytes.extend(self.tree.root().iter().flat_map(write_name));
        TreeId(ChunkId::of(&bytes))
    }
}

fn write_name(name: &ChunkName) -> impl Iterator<Item = u8> {
    [name.lease].into_iter().chain(name.id.to_bytes())
}

pub(super) fn write(blob: &BlobTree) -> proto::BlobTree {
    write_tree(blob.length, blob.digest, &blob.tree)
}

pub(super) fn read(blob: &proto::BlobTree) -> Result<BlobTree, DecodeError> {
    let blob = read_tree(blob)?;
    BlobTree::of(&blob).ok_or(DecodeError::malformed("a tree that no cell can hold"))
}
