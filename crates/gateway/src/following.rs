//! Following: what sessions subscribe to, how it is read, and which sessions a change concerns.
//!
//! Invariant: an interest that is being read misses no change.

mod answer;
mod buffers;
pub mod digest;
mod follow;
pub mod index;
pub mod load;
mod loading;
pub mod queries;
pub mod reading;
pub mod sets;
pub mod sight;
mod subscribe;
