//! Calls of tabs that did not lead: each takes effect once in a history of the store, and what its tab was told is so in one of them.

use std::collections::BTreeMap;

use iolite_client::{CallStatus, MutationStatus};
use iolite_values::{Counter, StoreIncarnation};

use super::{Commits, Invariant, Violation};
use crate::history::{History, TicketCall};

/// # Errors
/// A call that took effect twice, that was stored and is lost, or that its tab was told a wrong end of.
pub fn check(history: &History, commits: &BTreeMap<StoreIncarnation, Commits>) -> Result<(), Violation> {
    for (ticket, called) in &history.tickets {
        let effects: Vec<Vec<Counter>> = commits.values().map(|commits| effects(commits, called)).collect();
        if effects.iter().any(|effects| effects.len() > 1) {
            let what = format!("{ticket:?} {called:?} took effect as {effects:?}");
            return Err(Violation::new(Invariant::ExactlyOnce, what));
        }
        let ended = |counter: &Counter| !history.calls[&(called.client, *counter)].ends.is_empty();
        // By the tab itself, or by the app of the one that leads.
        let asked_back = |counter: &Counter| history.was_asked_back((called.client, *counter));
        let over = called.asked_back || called.counters.iter().any(|counter| ended(counter) || asked_back(counter));
        if called.stored && called.told.is_empty() && !over {
            let what = format!("{ticket:?} {called:?} was stored and never ended");
            return Err(Violation::new(Invariant::Durability, what));
        }
        if let Some(wrong) = called.told.iter().find(|told| !effects.iter().any(|effects| fits(told, effects))) {
            let what = format!("{ticket:?} {called:?} was told {wrong:?}, but took effect as {effects:?}");
            return Err(Violation::new(Invariant::Durability, what));
        }
    }
    Ok(())
}

/// Under which counters it took effect in one history of the store.
fn effects(commits: &Commits, called: &TicketCall) -> Vec<Counter> {
    let took_effect = |counter: &Counter| commits.recorded((called.client, *counter)).is_some_and(|(_, effect)| effect);
    called.counters.iter().copied().filter(took_effect).collect()
}

fn fits(told: &CallStatus, effects: &[Counter]) -> bool {
    match told {
        CallStatus::Called | CallStatus::Stored | CallStatus::Queued(..) => true,
        CallStatus::ConfirmedEarlier => effects.len() == 1,
        CallStatus::Ended(counter, MutationStatus::Confirmed { .. }) => effects == [*counter],
        CallStatus::Ended(..) => effects.is_empty(),
    }
}
