//! The crate's tests of behaviour, a file a concern.

mod bad_input;
mod crowd;
mod limits;
mod lock;
mod trap;
