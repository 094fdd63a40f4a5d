//! The life and the objects that an earlier process of the node has left, as JavaScript kept them.

use iolite_objects::{KeptObject, Resumed as Machinery};
use iolite_values::{NodeId, NodeName, ObjectEpoch, StoreIncarnation};
use wasm_bindgen::prelude::*;

use crate::device::{id, object};
use crate::failure::bad_arguments;

/// A life that a device is started with.
#[wasm_bindgen]
pub struct Resumed {
    pub(crate) all: Machinery,
}

#[wasm_bindgen]
impl Resumed {
    /// `node` is a device in its life, as `LinkOpen` tells it. `connections`: at least as many as the earlier processes have made.
    ///
    /// # Errors
    /// A node that is no device, and a store that is no id.
    #[wasm_bindgen(constructor)]
    pub fn new(node: &str, store: &str, connections: f64) -> Result<Resumed, JsValue> {
        let Ok(NodeId { name: NodeName::Device(name), life }) = node.parse() else {
            return Err(bad_arguments(&format!("{node:?} is no device")));
        };
        let (store, connections) = (StoreIncarnation(id(store)?), connections as u64);
        Ok(Resumed { all: Machinery { name, life, store, connections, kept: Vec::new(), left: Vec::new() } })
    }

    /// Adds an object that JavaScript has made again, with the epoch that came with its state.
    ///
    /// # Errors
    /// No object has such a name.
    pub fn add(&mut self, class: &str, id: &str, epoch: f64) -> Result<(), JsValue> {
        self.all.kept.push(KeptObject { object: object(class, id)?, epoch: ObjectEpoch(epoch as u64) });
        Ok(())
    }

    /// Adds an object that JavaScript cannot make, of this version of its class.
    ///
    /// # Errors
    /// No object has such a name.
    pub fn leave(&mut self, class: &str, id: &str, version: u32) -> Result<(), JsValue> {
        self.all.left.push((object(class, id)?, version));
        Ok(())
    }
}
