//! A run of this world: work with faults while rights change, then rest under the rights of members, and the checks.

use super::checker;
use super::told::RightsEvent;
use crate::checker::{Violation, check_replicas};
use crate::history::Moment;
use crate::run::come_to_rest;
use crate::world::World;

const SECOND: Moment = 1_000_000_000;
/// After this, calls are given up.
const WORK_AT_MOST: Moment = 40 * SECOND;
const LINKED_WITHIN: Moment = 200 * SECOND;
const LAST_SIGHT: Moment = 30 * SECOND;

/// Lives a world to its end, and checks it.
///
/// # Errors
/// The first [`Violation`] that is found.
pub fn live(world: &mut World) -> Result<(), Violation> {
    while !world.work_is_done() && world.moment() < WORK_AT_MOST {
        world.step();
    }
    world.heal();
    come_to_rest(world)?;
    world.step_until(LINKED_WITHIN, "every client finds its link anew", World::is_linked)?;
    come_to_rest(world)?;
    world.step_for(LAST_SIGHT);
    let in_part = checker::check(&world.history)?;
    world.rights_events.add(RightsEvent::SeenInPart, in_part);
    check_replicas(world)
}
