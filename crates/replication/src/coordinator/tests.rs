//! Transitions of the coordinator, as whole lists of outputs.

mod bench;
mod feed;
mod levels;
mod requests;
mod session;
mod time_limits;
mod validating;
