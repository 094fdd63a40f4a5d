//! Certificates of a cluster: an authority of its own, what it issues to nodes, and the files of both.
//!
//! Invariants:
//! - a private key is in a file that only its owner can read, and never in a log;
//! - a node's folder never holds the authority's key.
//!
//! Source: Iolite's own; X.509 by rcgen. docs/protocols/links.md says what the certificates are for.

mod authority;
mod files;

pub use authority::{Authority, AuthorityError};
pub(crate) use files::{Chain, Stamp};
pub use files::{TlsFiles, TlsFilesError};
