//! The care that a gateway's host takes of the store of chunks: sweeps, checks, how full it is.
//!
//! Invariant: nothing here decides what is garbage. The machine of a sweep does (`iolite_blobs::Sweep`).

pub(crate) mod asks;
pub(crate) mod cells;
pub(crate) mod check;
pub(crate) mod commands;
pub(crate) mod pass;
pub(crate) mod rows;
pub(crate) mod sweeper;
pub(crate) mod trace;
pub(crate) mod usage;
