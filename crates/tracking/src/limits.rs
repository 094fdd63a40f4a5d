//! How much of everything there is at most. docs/limits.md has these values.

/// Asks that have no answer yet. The next one is told [`crate::Told::Busy`].
pub const OPEN_ASKS_MAX: usize = 4096;
