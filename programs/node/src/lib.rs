//! The server as a library: gateway, coordinator, replica and journal, composed and hosted in one process.
//!
//! Source: Iolite's own. `iolite dev` runs it, and so does the embedded mode of the Rust SDK.
//!
//! [`Node`] is the composition as one pure machine; [`Server`] gives it a disk, a port and time.

mod checkpoints;
mod data_directory;
mod node;
mod recovery;
mod server;
mod sessions;

pub use data_directory::DataDirectoryError;
pub use node::{Node, NodeInput, NodeOutput};
pub use server::{RunError, Server, ServerError, ServerSettings};
