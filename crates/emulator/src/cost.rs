//! Costs: what a deployment costs by a file of prices, whether it meets an SLO, and the cheapest size of a design that does.
//!
//! Invariant: a size that is named as the cheapest was run from each seed that was asked for, met the SLO in all, and kept its promise.

mod candidate;
mod objective;
mod prices;
mod search;

pub use candidate::{Candidate, Parts, Size, Trial};
pub use objective::{Bound, Measured, Slo};
pub use prices::{PRICES, Prices};
pub use search::{Searched, Space, Turn, smallest, turns};

#[cfg(test)]
mod tests;
