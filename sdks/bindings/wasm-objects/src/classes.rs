//! The classes that a node can run, as JavaScript declares them.

use iolite_objects::Class;
use iolite_objects::managers::canonical;
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

    /// Adds a class. `managers` is their text, and `reads` names the methods that only read.
    ///
    /// # Errors
    /// A name that no class has, a right that devices do not have, or managers that there are not.
    pub fn add(
        &mut self,
        name: &str,
        version: u32,
        devices: &str,
        managers: &str,
        reads: Vec<String>,
    ) -> Result<(), JsValue> {
        // The name has to be one that an object can have.
        ObjectName::new(name, "id").map_err(|error| bad_arguments(&error.to_string()))?;
        let declared = declared(version, devices, managers)?;
        self.all.push(Class { name: name.to_owned(), declared, reads: reads.into() });
        Ok(())
    }
}

/// The line above a class.
pub(crate) fn declared(version: u32, devices: &str, managers: &str) -> Result<Declared, JsValue> {
    let devices = match devices {
        "call" => DeviceRight::Call,
        "read" => DeviceRight::Read,
        "hold" => DeviceRight::Hold,
        other => return Err(bad_arguments(&format!("devices may call, read or hold, not {other:?}"))),
    };
    let managers = canonical(managers).map_err(|problem| bad_arguments(&problem.to_string()))?;
    Ok(Declared { version, managers, devices })
}
