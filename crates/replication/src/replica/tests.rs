//! Transitions of the replica, as whole lists of outputs.

mod bench;
mod checkpoints;
mod closing;
mod proposals;
mod recovery;
