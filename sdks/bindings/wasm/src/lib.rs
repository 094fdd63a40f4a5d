//! The browser and Node binding of the client core: thin, handles and bytes only.

use wasm_bindgen::prelude::wasm_bindgen;

/// The version of this module, so that a page can say which core it runs.
#[wasm_bindgen]
pub fn version() -> String {
    env!("CARGO_PKG_VERSION").to_owned()
}
