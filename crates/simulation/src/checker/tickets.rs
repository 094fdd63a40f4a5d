//! Calls of tabs that did not lead: each takes effect once, and what its tab was told is so.

use iolite_client::{CallStatus, MutationStatus};
use iolite_values::Counter;

use super::{Commits, Invariant, Violation};
use crate::history::{History, TicketCall};

/// # Errors
/// A call that took effect twice, that was stored and is lost, or that its tab was told a wrong end of.
pub fn check(history: &History, commits: &Commits) -> Result<(), Violation> {
    for (ticket, called) in &history.tickets {
        let effective = called.counters.iter().copied().filter(|counter| took_effect(commits, called, *counter));
        let effects: Vec<Counter> = effective.collect();
        if effects.len() > 1 {
            let what = format!("{ticket:?} {called:?} took effect as {effects:?}");
            return Err(Violation::new(Invariant::ExactlyOnce, what));
        }
        let ended = |counter: &Counter| history.calls[&(called.client, *counter)].end.is_some();
        if called.stored && !called.counters.iter().any(ended) {
            let what = format!("{ticket:?} {called:?} was stored and never ended");
            return Err(Violation::new(Invariant::Durability, what));
        }
        if let Some(wrong) = called.told.iter().find(|told| !fits(told, &effects)) {
            let what = format!("{ticket:?} {called:?} was told {wrong:?}, but took effect as {effects:?}");
            return Err(Violation::new(Invariant::Durability, what));
        }
    }
    Ok(())
}

fn took_effect(commits: &Commits, called: &TicketCall, counter: Counter) -> bool {
    let at = commits.by_mutation.get(&(called.client, counter));
    at.is_some_and(|at| commits.by_time[at].writes.is_some())
}

fn fits(told: &CallStatus, effects: &[Counter]) -> bool {
    match told {
        CallStatus::Called | CallStatus::Stored | CallStatus::Queued(..) => true,
        CallStatus::ConfirmedEarlier => effects.len() == 1,
        CallStatus::Ended(counter, MutationStatus::Confirmed { .. }) => effects == [*counter],
        CallStatus::Ended(..) => effects.is_empty(),
    }
}
