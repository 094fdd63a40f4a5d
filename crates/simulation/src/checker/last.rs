//! The end: everything rests, and everybody has seen the last state.

use super::{Invariant, Violation};
use crate::app::Model;
use crate::world::World;

/// # Errors
/// A mutation that was durable and never ended, or a watcher that missed the last state.
pub fn check_last(world: &World, model: &Model) -> Result<(), Violation> {
    let history = &world.history;
    let lost = history.calls.iter().find(|(_, called)| called.durable && called.end.is_none());
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
