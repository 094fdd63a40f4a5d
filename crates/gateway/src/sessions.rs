//! Sessions: how one begins, what the gateway keeps of it, when it is looked at, and how it ends.
//!
//! Invariant: no session costs another one anything.

pub mod devices;
pub mod due;
pub mod farewell;
pub mod greeting;
pub mod group;
pub mod idle;
pub mod keys;
mod pressure;
pub mod revoked;
pub mod rights;
pub mod session;
pub mod timers;
