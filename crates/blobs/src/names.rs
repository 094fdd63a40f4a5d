//! The names of a tree by their places, as far as its nodes are known.

use std::collections::BTreeMap;

use iolite_values::{Blob, ChunkName, Chunks, Tree};

use crate::geometry::{Geometry, Place};
use crate::node::{NodeError, decode_node, lease_max};

/// A node whose content is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Need {
    pub place: Place,
    pub name: ChunkName,
}

/// Random access to the names of a tree.
#[derive(Clone, Debug)]
pub struct Names {
    tree: Tree,
    geometry: Geometry,
    nodes: BTreeMap<Place, Vec<ChunkName>>,
    /// A walk in order needs no other node of a layer any more.
    one_a_layer: bool,
}

impl Names {
    /// `None`: the blob lies in its cell.
    pub fn of(blob: &Blob, one_a_layer: bool) -> Option<Names> {
        let Chunks::Tree(tree) = blob.chunks() else { return None };
        let geometry = Geometry::new(tree.cutting(), blob.length());
        Some(Names { tree: tree.clone(), geometry, nodes: BTreeMap::new(), one_a_layer })
    }

    pub fn tree(&self) -> &Tree {
        &self.tree
    }

    pub fn geometry(&self) -> Geometry {
        self.geometry
    }

    /// The name at a place; `None` where this tree has none.
    ///
    /// # Errors
    /// The node that has to be [given](Names::give) first.
    pub fn at(&self, place: Place) -> Result<Option<ChunkName>, Need> {
        if place.layer > self.geometry.depth() || place.index >= self.geometry.names(place.layer) {
            return Ok(None);
        }
        if place.layer == self.geometry.depth() {
            return Ok(Some(self.tree.root()[place.index as usize]));
        }
        let node = Place { layer: place.layer + 1, index: place.index / Tree::NODE_NAMES_MAX as u64 };
        let within = (place.index % Tree::NODE_NAMES_MAX as u64) as usize;
        match self.nodes.get(&node) {
            Some(names) => Ok(Some(names[within])),
            None => {
                let name = self.at(node)?.expect("a name has a node above it, or is of the root");
                Err(Need { place: node, name })
            }
        }
    }

    /// Takes the content of a node.
    ///
    /// # Errors
    /// [`NodeError`]: this is not the node that is needed.
    pub fn give(&mut self, need: Need, content: &[u8]) -> Result<(), NodeError> {
        let names = self.geometry.names_of(need.place);
        let names = decode_node(need.name.id, content, names.end - names.start, lease_max(&self.tree))?;
        if self.one_a_layer {
            self.nodes.retain(|place, _| place.layer != need.place.layer);
        }
        self.nodes.insert(need.place, names);
        Ok(())
    }
}
