//! The crate's tests of behaviour, a file a concern.

mod bad_input;
mod crowd;
mod limits;
pub(crate) mod lock;
mod order;
mod trap;
