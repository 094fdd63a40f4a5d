//! A blob is made of a stream.
//!
//! Invariant: memory is one chunk of content and one unfinished node a layer, whatever the length.

use std::collections::VecDeque;

use iolite_values::{Blob, BlobError, BlobHasher, ChunkId, ChunkName, Cutting, Tree};

use crate::node::encode_node;

/// A chunk that was made: its id, and what is to be kept under it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chunk {
    pub id: ChunkId,
    pub content: Vec<u8>,
}

impl Chunk {
    pub fn new(content: Vec<u8>) -> Chunk {
        Chunk { id: ChunkId::of(&content), content }
    }
}

/// Cuts a stream into chunks and makes the tree above them. The chunks have the first index: the lease to come.
pub struct Builder {
    length: u64,
    open: Vec<u8>,
    /// Names without a node yet, of each layer.
    layers: Vec<Vec<ChunkName>>,
    digest: BlobHasher,
    made: VecDeque<Chunk>,
}

const CUTTING: Cutting = Cutting::Fixed64K;

impl Builder {
    pub fn new() -> Builder {
        let digest = BlobHasher::new(CUTTING);
        Builder { length: 0, open: Vec::new(), layers: vec![Vec::new()], digest, made: VecDeque::new() }
    }

    /// Takes the next bytes of the content. Store what [`Builder::pop`] returns before more is pushed.
    ///
    /// # Errors
    /// [`BlobError::TooLong`], past 64 GiB.
    pub fn push(&mut self, mut bytes: &[u8]) -> Result<(), BlobError> {
        let length = self.length + bytes.len() as u64;
        if length > Blob::BYTES_MAX {
            return Err(BlobError::TooLong { length });
        }
        self.length = length;
        while !bytes.is_empty() {
            let room = Cutting::CHUNK_BYTES_MAX - self.open.len();
            let (taken, rest) = bytes.split_at(room.min(bytes.len()));
            self.open.extend_from_slice(taken);
            bytes = rest;
            if self.open.len() == Cutting::CHUNK_BYTES_MAX {
                self.close_leaf();
            }
        }
        Ok(())
    }

    /// The next chunk that is to be stored on the device.
    pub fn pop(&mut self) -> Option<Chunk> {
        self.made.pop_front()
    }

    /// Ends the stream. Some chunks come last: call [`Finished::pop`] until there are none.
    ///
    /// # Errors
    /// None of a content that was taken.
    pub fn finish(mut self) -> Result<Finished, BlobError> {
        if self.length <= Blob::INLINE_BYTES_MAX as u64 {
            return Ok(Finished { blob: Blob::inline(self.open)?, made: self.made });
        }
        if !self.open.is_empty() {
            self.close_leaf();
        }
        let depth = CUTTING.shape(self.length).depth;
        for layer in 0..usize::from(depth) {
            if !self.layers[layer].is_empty() {
                self.close_node(layer);
            }
        }
        let root = std::mem::take(&mut self.layers[usize::from(depth)]);
        let tree = Tree::new(CUTTING, depth, Vec::new(), root)?;
        Ok(Finished { blob: Blob::tree(self.length, self.digest.finish(self.length), tree)?, made: self.made })
    }

    fn close_leaf(&mut self) {
        let chunk = Chunk::new(std::mem::take(&mut self.open));
        self.digest.add(chunk.id);
        self.name(0, chunk);
    }

    fn close_node(&mut self, layer: usize) {
        let names = std::mem::take(&mut self.layers[layer]);
        self.name(layer + 1, Chunk::new(encode_node(&names)));
    }

    fn name(&mut self, layer: usize, chunk: Chunk) {
        if self.layers.len() == layer {
            self.layers.push(Vec::new());
        }
        self.layers[layer].push(ChunkName { lease: 0, id: chunk.id });
        self.made.push_back(chunk);
        if self.layers[layer].len() == Tree::NODE_NAMES_MAX {
            self.close_node(layer);
        }
    }
}

impl Default for Builder {
    fn default() -> Builder {
        Builder::new()
    }
}

/// A blob that was made, and its last chunks.
#[derive(Clone, Debug)]
pub struct Finished {
    pub blob: Blob,
    pub(crate) made: VecDeque<Chunk>,
}

impl Finished {
    /// The next chunk that is to be stored on the device, before anything names the blob.
    pub fn pop(&mut self) -> Option<Chunk> {
        self.made.pop_front()
    }
}
