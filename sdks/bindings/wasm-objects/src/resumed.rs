//! The life and the objects that an earlier process of the node has left, as JavaScript kept them.

use iolite_objects::{KeptObject, Resumed as Machinery};
use iolite_values::{NodeLife, ObjectEpoch, StoreIncarnation};
use wasm_bindgen::prelude::*;

use crate::device::{id, object};

/// A life that a device is started with.
#[wasm_bindgen]
pub struct Resumed {
    pub(crate) all: Machinery,
}

#[wasm_bindgen]
impl Resumed {
    /// `connections`: at least as many as the earlier processes have made.
    ///
    /// # Errors
    /// A store that is no id.
    #[wasm_bindgen(constructor)]
    pub fn new(life: f64, store: &str, connections: f64) -> Result<Resumed, JsValue> {
        let (life, store, connections) = (NodeLife(life as u64), StoreIncarnation(id(store)?), connections as u64);
        Ok(Resumed { all: Machinery { life, store, connections, kept: Vec::new(), left: Vec::new() } })
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
