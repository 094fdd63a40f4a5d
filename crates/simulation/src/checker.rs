//! Decides whether what happened is what was promised. It sees only the history: no machine's state.
//!
//! The order of commits is that of their timestamps; everything is held against a model that replays them one after the other:
//! - each mutation's closure, run in the model just before its timestamp, comes to the writes that were committed, or to the same abort:
//!   so every read was valid, and the history is serializable;
//! - a mutation that was known to have ended before another was called comes before it: strictly;
//! - each takes effect once, none that was acknowledged is missing, none that ended otherwise took effect;
//! - each reactive transaction saw the model at its timestamp, with its client's pending mutations on top: serializable and causal.

mod commits;
mod last;
mod real_time;
mod replay;
mod tickets;

use std::fmt;

use crate::app::Model;
use crate::history::History;

pub use commits::{Commits, confirmed};
pub use last::check_last;

/// A promise that was broken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    pub invariant: Invariant,
    pub what: String,
}

/// The promises, by the names that reports use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Invariant {
    /// A machine's own check failed, or the code panicked.
    Assertion,
    ExactlyOnce,
    Durability,
    Serializability,
    RealTime,
    ReactiveSnapshot,
    OwnWritesVisible,
    MonotonicReads,
    Liveness,
    LastState,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}", self.invariant, self.what)
    }
}

impl Violation {
    pub fn new(invariant: Invariant, what: impl Into<String>) -> Violation {
        Violation { invariant, what: what.into() }
    }
}

/// Checks a history, and gives the state that it ends in.
///
/// # Errors
/// The first [`Violation`] that is found.
pub fn check(history: &History) -> Result<Model, Violation> {
    let commits = Commits::collect(history)?;
    commits.check_ends(history)?;
    tickets::check(history, &commits)?;
    real_time::check(history, &commits)?;
    replay::check(history, &commits)
}
