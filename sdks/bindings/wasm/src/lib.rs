//! The browser and Node binding of the client core.
//!
//! Thin: one class around the core's machines: the client, and the follower of one in another tab. What goes in and out are handles, bytes and JavaScript values; closures run in JavaScript,
//! between two calls of it. Errors are thrown as a text, `code`, a line break, a message, which the package turns into its classes.
//! Times are milliseconds: of a monotonic clock for instants, since 1970 for wall times.

mod blob;
mod blobs;
mod conflicts;
mod core;
mod failure;
mod following;
mod layout;
mod leading;
mod listing;
mod live;
mod logs;
mod operations;
mod output;
mod panic;
mod peek;
mod reads;
mod role;
mod run;
mod schema;
mod texts;
mod value;
mod writes;

use wasm_bindgen::prelude::wasm_bindgen;

/// The version of this module, so that a page can say which core it runs.
#[wasm_bindgen]
pub fn version() -> String {
    env!("CARGO_PKG_VERSION").to_owned()
}
