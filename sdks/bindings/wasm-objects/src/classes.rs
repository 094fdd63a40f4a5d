//! The classes that a node can run, as JavaScript declares them.

use iolite_objects::Class;
use iolite_values::{DeviceRight, ObjectName};
use iolite_wire::objects::Declared;
use wasm_bindgen::prelude::*;

use crate::failure::bad_arguments;

/// A list that a device is started with.
#[wasm_bindgen]
#[derive(Default)]
pub struct Classes {
    pub(crate) all: Vec<Class>,
}

#[wasm_bindgen]
impl Classes {
    #[wasm_bindgen(constructor)]
    pub fn new() -> Classes {
        Classes::default()
    }

    /// Adds a class. `reads` names the methods that only read.
    ///
    /// # Errors
    /// A name that no class has, or a right that devices do not have.
    pub fn add(&mut self, name: &str, version: u32, devices: &str, reads: Vec<String>) -> Result<(), JsValue> {
        // The name has to be one that an object can have.
        ObjectName::new(name, "id").map_err(|error| bad_arguments(&error.to_string()))?;
        let declared = declared(version, devices)?;
        self.all.push(Class { name: name.to_owned(), declared, reads: reads.into_iter().collect() });
        Ok(())
    }
}

/// The line above a class. Managers are not built yet, so there are none.
pub(crate) fn declared(version: u32, devices: &str) -> Result<Declared, JsValue> {
    let devices = match devices {
        "call" => DeviceRight::Call,
        "read" => DeviceRight::Read,
        "hold" => DeviceRight::Hold,
        other => return Err(bad_arguments(&format!("devices may call, read or hold, not {other:?}"))),
    };
    Ok(Declared { version, managers: String::new(), devices })
}
