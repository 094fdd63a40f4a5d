//! Mutations that clients submit: checked, given to the store in order, and answered with their outcomes.
//!
//! Invariant: the outcome of a mutation is told with, or after, the state that contains it.

pub mod acknowledging;
mod causal;
mod lane;
pub mod lanes;
mod leases;
mod log;
pub mod order;
pub mod own_outcomes;
pub mod rights;
mod rows;
mod strong;
mod submit;
