//! How much of everything there is at most. docs/limits.md has these values.

/// Asks that have no answer yet. The next one is told [`crate::Told::Busy`].
pub const OPEN_ASKS_MAX: usize = 4096;

/// Bytes of the memory of an object's coordinators. More is refused as too large.
pub const MEMORY_BYTES_MAX: usize = 4096;
