//! Decides whether tables that merge came to what was promised. The rules of a snapshot see only what clients were shown and told ([`snapshots`]):
//! - all rows of a call are shown or none, and with a call all that its author had seen or done before;
//! - a client's views lose nothing, and have its own calls;
//! - counters, registers, sets and posts are what the calls that are shown come to.
//!
//! At the end ([`ends`]) all clients and the store are equal, lack no call, and are what a plain model of all effects says ([`effects`]).

pub mod effects;
mod ends;
mod snapshots;

pub use ends::check;
pub use snapshots::judge;
