//! Decides whether what happened is what was promised. It sees only the history, and no machine's state but in the end, at the replicas (`rest`).
//!
//! The order of commits is that of their timestamps; everything is held against a model that replays them one after the other:
//! - each mutation's closure, run in the model just before its timestamp, comes to the writes that were committed, or to the same abort:
//!   so every read was valid, and the history is serializable;
//! - a mutation that was known to have ended before another was called comes before it: strictly;
//! - at the gateways the store is strictly serializable by itself: they are told of outcomes before clients are;
//! - mutations of one client take effect in the order of their counters;
//! - each takes effect once, none that was acknowledged is missing, none that ended otherwise took effect;
//! - each reactive transaction saw the model at its timestamp, with its client's pending mutations on top: serializable and causal;
//! - texts have what was typed, once and in one piece;
//! - the delivered view shows the model before its client's first commit that is not delivered, and what is told as delivered was applied (`delivery`, `prefix`).

mod commits;
mod delivery;
mod last;
mod levels;
mod order;
mod prefix;
mod real_time;
mod replay;
mod rest;
mod room;
mod strict;
#[cfg(test)]
mod tests;
mod texts;
mod tickets;

use std::collections::BTreeMap;
use std::fmt;

use crate::app::Model;
use crate::history::History;

pub use commits::{Commits, Completed, confirmed};
pub use delivery::check_last as check_delivered;
pub use last::check_last;
pub use order::check as check_order;
pub use replay::by_row;
pub use rest::{check_replicas, rows_of_stores};
pub use strict::{Before, Clash, Cycle, Step};
pub use texts::{check_shown, check_stored};

/// A promise that was broken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    pub invariant: Invariant,
    pub what: String,
    /// The transactions that it is about, when their order is what is wrong.
    pub cycle: Option<Cycle>,
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
    Strictness,
    ClientOrder,
    ReactiveSnapshot,
    OwnWritesVisible,
    /// No mutation is pending that the confirmed state contains: it would be seen twice.
    PendingOnce,
    MonotonicReads,
    /// The delivered view is the confirmed state before the first own commit that is not delivered, and never goes back.
    ViewPrefix,
    /// Everybody in the set has applied what is told as delivered; and in the end everything is told, once.
    Delivery,
    /// What was typed is there once, in one piece, and everybody shows the same.
    Texts,
    Room,
    Liveness,
    LastState,
    Rest,
    /// Nothing is committed over a row of a causal table that its calls had not read.
    Overwritten,
    /// An update brings no row of an eventual table back that was deleted.
    BroughtBack,
    /// A snapshot has all of a call or nothing, and with a call all that its author had seen or done before.
    Causality,
    /// A value of a table that merges is what the calls come to that its row shows.
    Merged,
    /// A conflict is listed exactly while a kept call's base is another row than the confirmed one.
    Conflicts,
    /// At most one node serves an object, and none in an epoch below one in which a method has started.
    OneOwner,
    /// Epochs of rows only grow, and who asks for a row gets one that was there.
    Epochs,
    /// A number that was put into an object and acknowledged is in every later list, and lists grow at their end only.
    KeptWrites,
    /// Everything that an app asks is answered once, and a call at its deadline at the latest.
    Answered,
    /// A method runs for the user of the session at which its call entered.
    Caller,
    /// An object is where its manager keeps it.
    Placed,
    /// An object that never changes is read as it began, and refuses writes.
    Unchanged,
    /// Under a manager that orders calls, one method runs at a time.
    OneAtATime,
    /// A node's own copy has what it pulled and its own writes since, and a push overwrites no other one.
    OwnCopies,
    /// A node reads its own writes and never back, and in the end all nodes read the same.
    Forward,
    /// All of a transaction is seen or nothing, and nothing before its commit was sent.
    AllOrNothing,
    /// The id of a client belongs to one user, and what a device has queued never commits as another one's.
    OneSubject,
    /// All that commits is allowed by its rules at its timestamp.
    Allowed,
    /// A mutation that somebody was told to be denied never commits.
    DeniedForGood,
    /// No conflict tells of rows that its user may not see.
    Hidden,
    /// Users see what they may read, no more and no less.
    Sight,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}", self.invariant, self.what)
    }
}

impl Violation {
    pub fn new(invariant: Invariant, what: impl Into<String>) -> Violation {
        Violation { invariant, what: what.into(), cycle: None }
    }
}

/// Checks a run. Each history of the store is held against a model of its own; the state that the last one ends in is returned.
///
/// # Errors
/// The first [`Violation`] that is found.
pub fn check(history: &History) -> Result<Model, Violation> {
    let mut all = BTreeMap::new();
    for (store, own) in &history.stores {
        let commits = Commits::collect(history, own)?;
        commits.check_ends(history, *store)?;
        commits.check_reports(history.store_calls(*store))?;
        strict::check(history, *store, &commits)?;
        real_time::check(history, *store, &commits)?;
        order::check(history, &commits)?;
        delivery::check(history, *store, &commits)?;
        all.insert(*store, commits);
    }
    tickets::check(history, &all)?;
    replay::check_monotonic(history)?;
    let mut model = Model::default();
    for (store, commits) in &all {
        model = replay::check(history, *store, commits)?;
        texts::check(history, commits, &model)?;
    }
    Ok(model)
}
