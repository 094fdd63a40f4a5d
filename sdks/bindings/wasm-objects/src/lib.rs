//! The browser and Node binding of objects: the node that dials a server, as one class.
//!
//! Thin: names, numbers and bytes go in and come out. JavaScript has the objects, runs their methods and writes the CBOR.
//! Times are milliseconds: of a monotonic clock for instants, since 1970 for wall times.

mod classes;
mod device;
mod failure;
mod output;
mod panic;
mod resumed;

use wasm_bindgen::prelude::wasm_bindgen;

/// The version of this module, so that a page can say which one it runs.
#[wasm_bindgen]
pub fn version() -> String {
    env!("CARGO_PKG_VERSION").to_owned()
}
