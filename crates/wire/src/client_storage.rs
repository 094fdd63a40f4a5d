//! What a client keeps on its device: its queue, its rows, its interests, and itself.
//!
//! Invariant: each record stands alone. [`StoredMeta`] carries the version of them all: read it first, and nothing else if it fails.

mod cache;
mod end;
mod log;
mod meta;
mod mutation;

pub use cache::{StoredInterest, StoredRow};
pub use end::{EndedAs, StoredEnd};
pub use log::{StoredLog, StoredLogCall};
pub use meta::{Bound, FORMAT_VERSION, StoredMeta};
pub use mutation::{MutationStatus, StoredMutation};
