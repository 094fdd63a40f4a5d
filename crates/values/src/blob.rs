//! Blobs: large values that a cell names, with their content beside the rows.
//!
//! Invariants: a blob up to [`Blob::INLINE_BYTES_MAX`] bytes lies in the cell, and a longer one is a tree. So one content has one form.
//! The length of a tree decides its depth and how many names its root has: nodes are full but for the last of each layer.
//! A tree names at most one lease that it does not list: the lease to come, which is filled in when the blob is sent.
//! Source: Simba (Perkins 2015, chapter 3). Deviation: a chunk's id is its content, so that no server keeps a cache of changes.

mod json;

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use sha2::{Digest as _, Sha256};

use crate::Id;

/// A blob, as a cell holds it: its content up to 4 KiB, or the names of its chunks.
///
/// Two blobs are equal if their lengths and digests are, whatever their leases. A row that was just made has no lease yet, and the same row
/// has one when it comes back from the server. Both are the same row, not a conflict.
#[derive(Clone)]
pub struct Blob {
    length: u64,
    digest: BlobDigest,
    chunks: Chunks,
}

/// Where the content of a blob is.
#[derive(Clone, PartialEq, Eq)]
pub enum Chunks {
    /// In the cell: up to [`Blob::INLINE_BYTES_MAX`] bytes.
    Inline(Arc<[u8]>),
    /// In chunks that are stored beside the rows.
    Tree(Tree),
}

/// The part of a tree of chunks that lies in the cell.
///
/// The root's names are of chunks of content at depth 0. One layer deeper they are of nodes: chunks that list names themselves.
///
/// New chunks have the index behind the last lease, as long as no lease is known. [`Tree::leased`] puts the lease there. No name and no
/// node changes by that, so a tree is made offline and keeps its chunks' ids.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Tree {
    cutting: Cutting,
    depth: u8,
    leases: Vec<LeaseName>,
    root: Vec<ChunkName>,
}

/// How a content is cut into chunks.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Cutting {
    /// Every 64 KiB. An edit in place touches the chunks that it lies in.
    Fixed64K,
}

/// Names a chunk within a tree.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ChunkName {
    /// The index of the lease under which the chunk was stored, among the tree's leases. Equal to their number: the lease to come.
    pub lease: u8,
    pub id: ChunkId,
}

/// The first 16 bytes of the SHA-256 of a chunk's content.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ChunkId([u8; 16]);

/// Names a lease: the right of one client to store chunks, for a while. Drawn at random, and never used again.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct LeaseName(pub Id);

/// The SHA-256 of how a content is cut, of the ids of all its chunks in order, and of its length.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BlobDigest([u8; 32]);

/// Makes a [`BlobDigest`] of a content that comes chunk by chunk.
#[derive(Clone)]
pub struct BlobHasher(Sha256);

/// Why something is no blob.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BlobError {
    #[error("a blob of {bytes} bytes does not lie in a cell: {max} at most", max = Blob::INLINE_BYTES_MAX)]
    InlineTooLong { bytes: usize },
    #[error("a blob has at most {max} bytes, not {length}", max = Blob::BYTES_MAX)]
    TooLong { length: u64 },
    #[error("a blob of {length} bytes lies in its cell: it has no tree")]
    TreeTooShort { length: u64 },
    #[error("a tree names at most {max} leases, not {leases}", max = Tree::LEASES_MAX)]
    TooManyLeases { leases: usize },
    #[error("a tree lists the lease {name} twice", name = .0.0)]
    LeaseTwice(LeaseName),
    #[error("a tree has at most {max} names in its cell, not {names}", max = Tree::NAMES_MAX)]
    TooManyNames { names: usize },
    #[error("a tree with {leases} leases has no lease number {index}")]
    NoLease { index: u8, leases: usize },
    #[error("no chunk of this tree waits for a lease")]
    WaitsForNoLease,
    #[error("a tree of {length} bytes has another shape than depth {depth} and {names} names")]
    Shape { length: u64, depth: u8, names: usize },
    #[error("a tree is cut in a way ({number}) that this version does not know: update it")]
    UnknownCutting { number: u8 },
    #[error("the digest of a blob is not that of its chunks")]
    Digest,
}

impl Blob {
    /// Content up to so many bytes lies in the cell.
    pub const INLINE_BYTES_MAX: usize = 4 << 10;

    /// 64 GiB.
    pub const BYTES_MAX: u64 = 64 << 30;

    /// A blob that lies in its cell.
    ///
    /// # Errors
    /// [`BlobError::InlineTooLong`].
    pub fn inline(bytes: impl Into<Arc<[u8]>>) -> Result<Blob, BlobError> {
        let bytes = bytes.into();
        if bytes.len() > Blob::INLINE_BYTES_MAX {
            return Err(BlobError::InlineTooLong { bytes: bytes.len() });
        }
        let mut hasher = BlobHasher::new(Cutting::Fixed64K);
        if !bytes.is_empty() {
            hasher.add(ChunkId::of(&bytes));
        }
        let length = bytes.len() as u64;
        Ok(Blob { length, digest: hasher.finish(length), chunks: Chunks::Inline(bytes) })
    }

    /// A blob of `length` bytes whose chunks a tree names. A digest of a deeper tree is believed: only its chunks could tell.
    ///
    /// # Errors
    /// [`BlobError`]: a length that is no tree's, a tree of another shape, or at depth 0 a digest that is not that of the root's names.
    pub fn tree(length: u64, digest: BlobDigest, tree: Tree) -> Result<Blob, BlobError> {
        if length > Blob::BYTES_MAX {
            return Err(BlobError::TooLong { length });
        }
        if length <= Blob::INLINE_BYTES_MAX as u64 {
            return Err(BlobError::TreeTooShort { length });
        }
        if tree.cutting.shape(length) != (TreeShape { depth: tree.depth, names: tree.root.len() }) {
            return Err(BlobError::Shape { length, depth: tree.depth, names: tree.root.len() });
        }
        if tree.depth == 0 && digest != BlobDigest::of(tree.cutting, tree.root.iter().map(|name| name.id), length) {
            return Err(BlobError::Digest);
        }
        Ok(Blob { length, digest, chunks: Chunks::Tree(tree) })
    }

    /// Bytes of content.
    pub fn length(&self) -> u64 {
        self.length
    }

    pub fn digest(&self) -> BlobDigest {
        self.digest
    }

    pub fn chunks(&self) -> &Chunks {
        &self.chunks
    }

    /// The content, if it lies in the cell.
    pub fn bytes(&self) -> Option<&Arc<[u8]>> {
        match &self.chunks {
            Chunks::Inline(bytes) => Some(bytes),
            Chunks::Tree(_) => None,
        }
    }

    /// Whether chunks of it wait for the lease to come: it is on this device and nowhere else.
    pub fn waits_for_lease(&self) -> bool {
        match &self.chunks {
            Chunks::Inline(_) => false,
            Chunks::Tree(tree) => tree.waits_for_lease(),
        }
    }

    /// The same blob with the lease under which its new chunks are stored. See [`Tree::leased`].
    ///
    /// # Errors
    /// As [`Tree::leased`]; [`BlobError::WaitsForNoLease`] for a blob that lies in its cell.
    pub fn leased(&self, lease: LeaseName) -> Result<Blob, BlobError> {
        match &self.chunks {
            Chunks::Inline(_) => Err(BlobError::WaitsForNoLease),
            Chunks::Tree(tree) => Ok(Blob { chunks: Chunks::Tree(tree.leased(lease)?), ..*self }),
        }
    }

    /// Bytes in the cell, for limits and accounting.
    pub fn size_bytes(&self) -> usize {
        match &self.chunks {
            Chunks::Inline(bytes) => bytes.len(),
            Chunks::Tree(tree) => 8 + 32 + 2 + 16 * tree.leases.len() + 17 * tree.root.len(),
        }
    }
}

impl Tree {
    /// Names in the cell.
    pub const NAMES_MAX: usize = 64;

    /// Leases in the cell, the lease to come included.
    pub const LEASES_MAX: usize = 64;

    /// Names in a node.
    pub const NODE_NAMES_MAX: usize = 1024;

    /// # Errors
    /// [`BlobError`]: too many leases or names, a lease that is listed twice, or an index behind the lease to come.
    pub fn new(cutting: Cutting, depth: u8, leases: Vec<LeaseName>, root: Vec<ChunkName>) -> Result<Tree, BlobError> {
        if leases.len() > Tree::LEASES_MAX {
            return Err(BlobError::TooManyLeases { leases: leases.len() });
        }
        if let Some(place) = (1..leases.len()).find(|place| leases[..*place].contains(&leases[*place])) {
            return Err(BlobError::LeaseTwice(leases[place]));
        }
        if root.len() > Tree::NAMES_MAX {
            return Err(BlobError::TooManyNames { names: root.len() });
        }
        let is_known = |index: usize| index <= leases.len() && index < Tree::LEASES_MAX;
        if let Some(name) = root.iter().find(|name| !is_known(usize::from(name.lease))) {
            return Err(BlobError::NoLease { index: name.lease, leases: leases.len() });
        }
        Ok(Tree { cutting, depth, leases, root })
    }

    pub fn cutting(&self) -> Cutting {
        self.cutting
    }

    /// Layers of nodes between the root and the content.
    pub fn depth(&self) -> u8 {
        self.depth
    }

    pub fn leases(&self) -> &[LeaseName] {
        &self.leases
    }

    pub fn root(&self) -> &[ChunkName] {
        &self.root
    }

    /// Whether chunks wait for the lease to come. A node that names a new chunk is new itself, so the root tells for the whole tree.
    pub fn waits_for_lease(&self) -> bool {
        self.root.iter().any(|name| usize::from(name.lease) == self.leases.len())
    }

    /// The same tree with its last lease filled in, as it is sent. The tree that waits is kept: its chunks may have to go under another lease.
    ///
    /// # Errors
    /// [`BlobError::WaitsForNoLease`]; [`BlobError::LeaseTwice`] if the tree lists this lease.
    pub fn leased(&self, lease: LeaseName) -> Result<Tree, BlobError> {
        if !self.waits_for_lease() {
            return Err(BlobError::WaitsForNoLease);
        }
        if self.leases.contains(&lease) {
            return Err(BlobError::LeaseTwice(lease));
        }
        let leases = self.leases.iter().copied().chain([lease]).collect();
        Ok(Tree { leases, root: self.root.clone(), ..*self })
    }
}

/// The depth of a tree, and how many names its root has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TreeShape {
    pub depth: u8,
    pub names: usize,
}

impl Cutting {
    /// Bytes of a chunk of content, at most.
    pub const CHUNK_BYTES_MAX: usize = 64 << 10;

    /// The shape of the tree of `length` bytes: the least depth at which the cell has room for its root.
    pub fn shape(self, length: u64) -> TreeShape {
        let Cutting::Fixed64K = self;
        let mut names = length.div_ceil(Cutting::CHUNK_BYTES_MAX as u64);
        let mut depth = 0;
        while names > Tree::NAMES_MAX as u64 {
            names = names.div_ceil(Tree::NODE_NAMES_MAX as u64);
            depth += 1;
        }
        TreeShape { depth, names: names as usize }
    }

    /// The number that stands for it where it is written.
    pub fn number(self) -> u8 {
        match self {
            Cutting::Fixed64K => 0,
        }
    }

    /// `None`: a cutting of a later version.
    pub fn from_number(number: u8) -> Option<Cutting> {
        match number {
            0 => Some(Cutting::Fixed64K),
            1.. => None,
        }
    }
}

impl ChunkId {
    /// The id of a chunk with this content.
    pub fn of(content: &[u8]) -> ChunkId {
        let mut id = [0; 16];
        id.copy_from_slice(&Sha256::digest(content)[..16]);
        ChunkId(id)
    }

    pub const fn from_bytes(bytes: [u8; 16]) -> ChunkId {
        ChunkId(bytes)
    }

    pub const fn to_bytes(self) -> [u8; 16] {
        self.0
    }
}

impl BlobDigest {
    /// The digest of a content of `length` bytes with these chunks.
    pub fn of(cutting: Cutting, chunks: impl IntoIterator<Item = ChunkId>, length: u64) -> BlobDigest {
        let mut hasher = BlobHasher::new(cutting);
        for chunk in chunks {
            hasher.add(chunk);
        }
        hasher.finish(length)
    }

    pub const fn from_bytes(bytes: [u8; 32]) -> BlobDigest {
        BlobDigest(bytes)
    }

    pub const fn to_bytes(self) -> [u8; 32] {
        self.0
    }
}

impl BlobHasher {
    pub fn new(cutting: Cutting) -> BlobHasher {
        BlobHasher(Sha256::new().chain_update([cutting.number()]))
    }

    /// The next chunk of content.
    pub fn add(&mut self, chunk: ChunkId) {
        self.0.update(chunk.0);
    }

    /// The length comes last: a stream tells it at its end.
    pub fn finish(self, length: u64) -> BlobDigest {
        BlobDigest(self.0.chain_update(length.to_be_bytes()).finalize().into())
    }
}

impl Ord for Blob {
    fn cmp(&self, other: &Blob) -> Ordering {
        (self.length, self.digest).cmp(&(other.length, other.digest))
    }
}

impl PartialOrd for Blob {
    fn partial_cmp(&self, other: &Blob) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Blob {
    fn eq(&self, other: &Blob) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Blob {}

impl Hash for Blob {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.length, self.digest).hash(state);
    }
}

/// Never its content: it may be long, and others' secrets.
impl fmt::Debug for Blob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "blob {:?} of {} bytes", self.digest, self.length)
    }
}

/// Names, and never content.
impl fmt::Debug for Chunks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Chunks::Inline(bytes) => write!(f, "{} bytes", bytes.len()),
            Chunks::Tree(tree) => fmt::Debug::fmt(tree, f),
        }
    }
}

impl fmt::Display for ChunkId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", u128::from_be_bytes(self.0))
    }
}

impl fmt::Debug for ChunkId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Debug for ChunkName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.lease, self.id)
    }
}

impl fmt::Display for BlobDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for BlobDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests;
