//! Where names stand in a tree, by the length of its content alone.
//!
//! Invariant: the place of a chunk does not depend on the tree's depth: layer 0 is content, and a node of layer n has 1,024 names of layer n - 1.

use std::ops::Range;

use iolite_values::{Cutting, Tree};

/// The place of a chunk in a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// 0 for content.
    pub layer: u8,
    /// From 0, within the layer.
    pub index: u64,
}

const CHUNK: u64 = Cutting::CHUNK_BYTES_MAX as u64;
const FAN: u64 = Tree::NODE_NAMES_MAX as u64;

/// The shape of the tree of so many bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    length: u64,
    depth: u8,
}

impl Geometry {
    pub fn new(cutting: Cutting, length: u64) -> Geometry {
        Geometry { length, depth: cutting.shape(length).depth }
    }

    pub fn depth(self) -> u8 {
        self.depth
    }

    /// Chunks of content.
    pub fn leaves(self) -> u64 {
        self.length.div_ceil(CHUNK)
    }

    /// Names of a layer.
    pub fn names(self, layer: u8) -> u64 {
        self.leaves().div_ceil(span(layer))
    }

    /// The names of a node, as indexes into the layer below.
    pub fn names_of(self, node: Place) -> Range<u64> {
        let below = self.names(node.layer - 1);
        (node.index * FAN).min(below)..((node.index + 1) * FAN).min(below)
    }

    /// The chunks of content at or below a place.
    pub fn leaves_of(self, place: Place) -> Range<u64> {
        let span = span(place.layer);
        (place.index * span).min(self.leaves())..((place.index + 1) * span).min(self.leaves())
    }

    /// Where a chunk of content lies in the whole, in bytes.
    pub fn bytes_of(self, leaf: u64) -> Range<u64> {
        (leaf * CHUNK).min(self.length)..((leaf + 1) * CHUNK).min(self.length)
    }

    /// The chunks of content in which these bytes lie.
    pub fn leaves_with(self, bytes: Range<u64>) -> Range<u64> {
        let end = bytes.end.min(self.length);
        if bytes.start >= end { 0..0 } else { bytes.start / CHUNK..end.div_ceil(CHUNK) }
    }
}

/// Chunks of content below one name of a layer.
fn span(layer: u8) -> u64 {
    FAN.pow(layer.into())
}
