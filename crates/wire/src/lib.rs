//! Messages: what they say, and how they are encoded.
//!
//! Invariants: what is encoded decodes to an equal message; no bytes make a decoder panic, or allocate more than a small multiple of
//! their length. Encodings: docs/protocols/wire.md. The session's life: docs/protocols/session.md.
//! Source: our own; the dictionary of cells is that of HPACK (RFC 7541) in spirit.

pub mod blobs;
pub mod centres;
pub mod client_storage;
mod encoding;
mod error;
mod frame;
mod generated;
pub mod journal;
pub mod limits;
pub mod logs;
pub mod message;
pub mod node;
pub mod objects;
mod session;
pub mod tabs;

pub use error::{DecodeError, EncodeError};
pub use session::{SessionDecoder, SessionEncoder, SessionMessage};
