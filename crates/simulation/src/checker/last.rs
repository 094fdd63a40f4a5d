//! The end: everything rests, and everybody has seen the last state.

use super::{Invariant, Violation};
use crate::app::Model;
use crate::history::{Called, Issued};
use crate::world::World;

/// # Errors
/// A mutation that was durable and never ended, or a watcher that missed the last state.
pub fn check_last(world: &World, model: &Model) -> Result<(), Violation> {
    let history = &world.history;
    // What somebody asked to take back may be gone with a crash of the client before it said so.
    let promised = |mutation: &Issued, called: &Called| called.durable && !history.was_asked_back(*mutation);
    let never_ended = |called: &Called| called.ends.is_empty() && !called.is_lost();
    let lost = history.calls.iter().find(|(mutation, called)| promised(mutation, called) && never_ended(called));
    if let Some((mutation, called)) = lost {
        let what = format!("{mutation:?} {:?} was durable and never ended", called.call);
        return Err(Violation::new(Invariant::Durability, what));
    }
    for node in &world.clients {
        let tabs = node.tabs.values().flat_map(|tab| tab.last_seen());
        for (watcher, seen) in node.last_seen().chain(tabs) {
            let last = watcher.run(&mut model.clone()).expect("nothing is missing in a model");
            if seen != Some(&last) {
                let what = format!("{watcher:?} of {:?} saw {seen:?} last, and should have seen {last}", node.index);
                return Err(Violation::new(Invariant::LastState, what));
            }
        }
    }
    Ok(())
}
