//! The file of a history: JSON lines, so that a run that failed can be judged again.
//!
//! Invariant: what is read equals what was recorded, or the error says at which line and why not. The format is on the page `docs/histories.md`.

mod fields;
mod operations;
mod reader;
mod recorder;

pub use reader::{ReadError, read};
pub use recorder::Recorder;

/// The version that this code writes, and the only one it reads.
const VERSION: u64 = 1;
