//! Decides whether rows that sync came to what was promised. It sees the history: the store's journals, and what clients were shown and told.
//!
//! Everything is held against a replay of all commits in timestamp order:
//! - a commit of a causal table writes over the row that its calls had read ([`sets`]);
//! - a commit of an eventual table brings no row into being that its calls did not insert ([`sets`]);
//! - a strong commit is what its closure comes to on the confirmed rows ([`replay`]);
//! - a call ended once: its writes are in the confirmed row, or a person overruled it, or it was refused ([`ends`]);
//! - a conflict is told of calls that the confirmed rows do not contain ([`conflicts`]).

mod conflicts;
mod ends;
mod replay;
mod sets;
mod states;

use crate::checker::{Commits, Invariant, Violation};
use crate::history::History;

pub use conflicts::check_listed;
pub use states::States;

/// Checks a run. The rows that the last history of the store ends with are returned.
///
/// # Errors
/// The first [`Violation`] that is found.
pub fn check(history: &History) -> Result<States, Violation> {
    let mut last = States::default();
    for (store, own) in &history.stores {
        let commits = Commits::collect(history, own)?;
        commits.check_reports(history.store_calls(*store))?;
        last = replay::check(history, *store, &commits)?;
        sets::check(history, *store, &commits, &last)?;
        ends::check(history, *store, &commits, &last)?;
        conflicts::check_told(history, *store, &commits)?;
    }
    if let Some(wrong) = history.rows.wrong.first() {
        return Err(Violation::new(Invariant::Conflicts, wrong.clone()));
    }
    ends::check_all(history, &last)?;
    Ok(last)
}

/// The rows of the store that goes on, as its journals have them now.
///
/// # Errors
/// [`Violation`]
pub fn rows_now(history: &History) -> Result<States, Violation> {
    let Some((_, own)) = history.stores.last_key_value() else { return Ok(States::default()) };
    let mut states = States::default();
    for (at, completed) in &Commits::collect(history, own)?.by_time {
        states.apply(*at, completed.writes.as_deref().unwrap_or_default());
    }
    Ok(states)
}
