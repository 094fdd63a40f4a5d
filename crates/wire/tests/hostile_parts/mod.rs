//! What the hostile tests are made of.

pub mod memory;
pub mod mutation;
