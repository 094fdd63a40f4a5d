//! Telling: the store's feed, and the advances that bring its changes to sessions.
//!
//! Invariant: a session is told everything up to one timestamp at once, and nothing above the resolved one.

mod advance;
pub mod batch;
pub mod coalesce;
pub mod feed;
mod routing;
pub mod untold;
