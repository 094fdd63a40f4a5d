//! A walk through a tree, in the order of the content.
//!
//! Invariants: a walk keeps one node a layer, whatever the length of the blob; the shape of the tree comes from its length, so no list of names
//! makes a walk longer.

use std::ops::Range;

use iolite_values::{Blob, ChunkName, Chunks};

use crate::geometry::{Geometry, Place};
use crate::node::{NodeError, decode_node, lease_max};

/// A chunk that a walk has come to: content at layer 0, else a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Met {
    pub place: Place,
    pub name: ChunkName,
}

impl Met {
    pub fn is_node(self) -> bool {
        self.place.layer > 0
    }
}

/// A walk through the chunks of a blob. A node that is met and not entered is passed over, with all below it.
#[derive(Clone, Debug)]
pub struct Walk {
    geometry: Geometry,
    lease_max: usize,
    leaves: Range<u64>,
    /// The names that are still to come, of each layer on the way down.
    ahead: Vec<Layer>,
    met: Option<Met>,
}

#[derive(Clone, Debug)]
struct Layer {
    layer: u8,
    names: std::vec::IntoIter<ChunkName>,
    next: u64,
}

impl Walk {
    /// Through all of a blob. One that lies in its cell has no chunks.
    pub fn new(blob: &Blob) -> Walk {
        Walk::of_range(blob, 0..blob.length())
    }

    /// Through the chunks that these bytes of the content lie in, and the nodes above them.
    pub fn of_range(blob: &Blob, bytes: Range<u64>) -> Walk {
        let Chunks::Tree(tree) = blob.chunks() else {
            let geometry = Geometry::new(iolite_values::Cutting::Fixed64K, 0);
            return Walk { geometry, lease_max: 0, leaves: 0..0, ahead: Vec::new(), met: None };
        };
        let geometry = Geometry::new(tree.cutting(), blob.length());
        let root = Layer { layer: geometry.depth(), names: tree.root().to_vec().into_iter(), next: 0 };
        let leaves = geometry.leaves_with(bytes);
        Walk { geometry, lease_max: lease_max(tree), leaves, ahead: vec![root], met: None }
    }

    pub fn geometry(&self) -> Geometry {
        self.geometry
    }

    /// Goes into the node that was met last.
    ///
    /// # Errors
    /// [`NodeError`]: this content is not that node's, or no node's.
    ///
    /// # Panics
    /// If the last chunk that was met is no node, or was entered.
    pub fn enter(&mut self, content: &[u8]) -> Result<(), NodeError> {
        let node = self.met.filter(|met| met.is_node()).expect("a node was met last");
        let below = self.geometry.names_of(node.place);
        let names = decode_node(node.name.id, content, below.end - below.start, self.lease_max)?;
        self.met = None;
        self.ahead.push(Layer { layer: node.place.layer - 1, names: names.into_iter(), next: below.start });
        Ok(())
    }

    /// Checks that a content is as long as the place of the leaf asks for that was met last. No node says how long its leaves are.
    ///
    /// # Errors
    /// [`NodeError::OtherLength`].
    ///
    /// # Panics
    /// If the last chunk that was met is no leaf.
    pub fn check_leaf(&self, content: &[u8]) -> Result<(), NodeError> {
        let leaf = self.met.filter(|met| !met.is_node()).expect("a leaf was met last");
        let place = self.geometry.bytes_of(leaf.place.index);
        let is_whole = content.len() as u64 == place.end - place.start;
        if is_whole { Ok(()) } else { Err(NodeError::OtherLength(leaf.name.id)) }
    }

    fn overlaps(&self, place: Place) -> bool {
        let leaves = self.geometry.leaves_of(place);
        leaves.start < self.leaves.end && self.leaves.start < leaves.end
    }
}

impl Iterator for Walk {
    type Item = Met;

    fn next(&mut self) -> Option<Met> {
        self.met = None;
        while let Some(layer) = self.ahead.last_mut() {
            let Some(name) = layer.names.next() else {
                self.ahead.pop();
                continue;
            };
            let place = Place { layer: layer.layer, index: layer.next };
            layer.next += 1;
            if self.overlaps(place) {
                self.met = Some(Met { place, name });
                return self.met;
            }
        }
        None
    }
}
