//! A heap in a region: objects of bytes and references, kept by roots, and a collector that touches no page.
//!
//! Invariants: the references of an object are outside of its pages, so a collection restores nothing; what a root reaches is not dropped.
//! Source: Marvin (Lebeck 2020) 4.6.3, the bookmarking collector. Deviation: references are outside only, so that no copies have to be kept equal.

use std::sync::{Arc, Weak};

use crate::error::{AccessError, PutError};
use crate::pool::{Pool, Slot};
use crate::region::guards::{ReadGuard, WriteGuard};

/// Objects that refer to each other. One thread uses it at a time.
#[derive(Debug)]
pub struct Heap {
    pool: Pool,
    cells: Vec<Cell>,
    free: Vec<u32>,
    roots: Vec<(u32, Weak<()>)>,
}

/// An object of a heap. It keeps nothing alive: a collection drops what no root reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Node {
    index: u32,
    generation: u32,
}

/// Keeps an object, and all that it reaches, until it is dropped.
#[derive(Debug)]
pub struct Root {
    node: Node,
    _held: Arc<()>,
}

/// The outcome of a collection, in objects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Collected {
    pub kept: u64,
    pub dropped: u64,
}

/// Why an object of a heap cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HeapError {
    #[error("a collection has dropped this object: hold a root for as long as it is needed")]
    Collected,
    #[error("the object has {references} references, and none at {at}: `references` lists them")]
    NoReference { at: usize, references: usize },
    #[error(transparent)]
    Put(#[from] PutError),
    #[error(transparent)]
    Access(#[from] AccessError),
}

/// A place for one object after the other.
#[derive(Debug, Default)]
struct Cell {
    generation: u32,
    object: Option<Object>,
}

#[derive(Debug)]
struct Object {
    slot: Slot,
    references: Vec<Node>,
}

impl Root {
    #[must_use]
    pub fn node(&self) -> Node {
        self.node
    }
}

impl Heap {
    pub(crate) fn of(pool: Pool) -> Heap {
        Heap { pool, cells: Vec::new(), free: Vec::new(), roots: Vec::new() }
    }

    /// Makes an object with a copy of the bytes. Take a root before the next collection.
    ///
    /// # Errors
    /// When there is no room, or a reference is to an object that was dropped.
    pub fn new_object(&mut self, bytes: &[u8], references: &[Node]) -> Result<Node, HeapError> {
        for reference in references {
            self.object(*reference)?;
        }
        let object = Object { slot: self.pool.put(bytes)?, references: references.to_vec() };
        let index = self.free.pop().unwrap_or_else(|| {
            self.cells.push(Cell::default());
            u32::try_from(self.cells.len() - 1).expect("a region has fewer objects than that")
        });
        let cell = &mut self.cells[index as usize];
        cell.object = Some(object);
        Ok(Node { index, generation: cell.generation })
    }

    /// Keeps an object for as long as the root is held.
    ///
    /// # Errors
    /// When a collection has dropped it.
    pub fn root(&mut self, node: Node) -> Result<Root, HeapError> {
        self.object(node)?;
        if self.roots.len() == self.roots.capacity() {
            // A program that takes and drops roots, and never collects, is not to grow by them.
            self.roots.retain(|(_, held)| held.strong_count() > 0);
        }
        let held = Arc::new(());
        self.roots.push((node.index, Arc::downgrade(&held)));
        Ok(Root { node, _held: held })
    }

    /// Reads an object's bytes; restores them first if it must.
    ///
    /// # Errors
    /// When a collection has dropped it, or it cannot be read.
    pub fn read(&self, node: Node) -> Result<ReadGuard<'_>, HeapError> {
        Ok(self.pool.read(&self.object(node)?.slot)?)
    }

    /// Lends an object's bytes to be written.
    ///
    /// # Errors
    /// As for reading.
    pub fn write(&mut self, node: Node) -> Result<WriteGuard<'_>, HeapError> {
        let cell = self.cells.get_mut(node.index as usize).filter(|cell| cell.generation == node.generation);
        let object = cell.and_then(|cell| cell.object.as_mut()).ok_or(HeapError::Collected)?;
        Ok(self.pool.write(&mut object.slot)?)
    }

    /// The object's references, in the order in which they were given. Reads no page.
    ///
    /// # Errors
    /// When a collection has dropped the object.
    pub fn references(&self, node: Node) -> Result<&[Node], HeapError> {
        Ok(&self.object(node)?.references)
    }

    /// Lets a reference of an object name another object. Restores nothing.
    ///
    /// # Errors
    /// When a collection has dropped one of the two, or there is no such reference.
    pub fn set_reference(&mut self, node: Node, at: usize, to: Node) -> Result<(), HeapError> {
        self.object(to)?;
        let references = self.object(node)?.references.len();
        let object = self.cells[node.index as usize].object.as_mut().expect("it was looked at a line above");
        *object.references.get_mut(at).ok_or(HeapError::NoReference { at, references })? = to;
        Ok(())
    }

    /// Drops each object that no root reaches. Reads no page, and restores nothing.
    pub fn collect(&mut self) -> Collected {
        self.roots.retain(|(_, held)| held.strong_count() > 0);
        let is_reached = self.mark();
        let mut collected = Collected::default();
        for (index, (cell, is_reached)) in (0..).zip(self.cells.iter_mut().zip(is_reached)) {
            if is_reached {
                collected.kept += 1;
            } else if cell.object.take().is_some() {
                collected.dropped += 1;
                // A node of the old object names nothing from now on.
                cell.generation = cell.generation.wrapping_add(1);
                self.free.push(index);
            }
        }
        collected
    }

    /// Marks the cells that the roots reach.
    fn mark(&self) -> Vec<bool> {
        let mut is_reached = vec![false; self.cells.len()];
        let mut stack: Vec<u32> = self.roots.iter().map(|(index, _)| *index).collect();
        while let Some(index) = stack.pop() {
            if !std::mem::replace(&mut is_reached[index as usize], true) {
                let object = self.cells[index as usize].object.as_ref().expect("what is reached was not dropped");
                stack.extend(object.references.iter().map(|node| node.index));
            }
        }
        is_reached
    }

    fn object(&self, node: Node) -> Result<&Object, HeapError> {
        let cell = self.cells.get(node.index as usize).filter(|cell| cell.generation == node.generation);
        cell.and_then(|cell| cell.object.as_ref()).ok_or(HeapError::Collected)
    }
}

#[cfg(test)]
mod tests;
