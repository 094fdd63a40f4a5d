//! A run of this world: work with faults, rest, one more call of everybody, rest.

use super::checker;
use crate::checker::Violation;
use crate::history::Moment;
use crate::world::World;

const SECOND: Moment = 1_000_000_000;
/// After this, calls are given up.
const WORK_AT_MOST: Moment = 40 * SECOND;
/// How long things may take to come to rest without faults.
const REST_AT_MOST: Moment = 180 * SECOND;
const LINKED_WITHIN: Moment = 200 * SECOND;
const LAST_SIGHT: Moment = 30 * SECOND;

/// Lives a world to its end, and checks it.
///
/// # Errors
/// The first [`Violation`] that is found.
pub fn live(world: &mut World) -> Result<(), Violation> {
    while !world.work_is_done() && world.moment() < WORK_AT_MOST {
        world.step();
        // The rest would be built on it.
        if let Some(wrong) = &world.history.centres.wrong {
            return Err(wrong.clone());
        }
    }
    world.send_one_away();
    if let Some(wrong) = &world.history.centres.wrong {
        return Err(wrong.clone());
    }
    world.heal();
    world.step_until(REST_AT_MOST, "everything rests", World::is_at_rest)?;
    world.step_until(LINKED_WITHIN, "every client finds its link anew", World::is_linked)?;
    world.visit_once_more();
    world.step_until(REST_AT_MOST, "everything rests", World::is_at_rest)?;
    world.step_for(LAST_SIGHT);
    checker::check(world)
}
