//! A run of this world: work with faults, rest with conflicts that nobody has decided, decisions, rest.

use super::checker::{self, check_listed};
use crate::checker::{Violation, check_replicas};
use crate::history::Moment;
use crate::world::World;

const SECOND: Moment = 1_000_000_000;
/// After this, calls are given up.
const WORK_AT_MOST: Moment = 40 * SECOND;
/// How long things may take to come to rest without faults, but for conflicts.
const REST_AT_MOST: Moment = 180 * SECOND;
/// How long it may take from then on, as people decide.
const DECIDED_WITHIN: Moment = 60 * SECOND;
/// How long a conflict may wait for a person then.
const DECIDE_EVERY: Moment = SECOND;
const LAST_SIGHT: Moment = 5 * SECOND;
const LINKED_WITHIN: Moment = 200 * SECOND;

/// Lives a world to its end, and checks it.
///
/// # Errors
/// The first [`Violation`] that is found.
pub fn live(world: &mut World) -> Result<(), Violation> {
    while !world.work_is_done() && world.moment() < WORK_AT_MOST {
        world.step();
    }
    world.heal();
    world.step_until(REST_AT_MOST, "only people are waited for", World::waits_for_people)?;
    world.step_until(LINKED_WITHIN, "every client finds its link anew", World::is_linked)?;
    world.step_for(LAST_SIGHT);
    world.step_until(REST_AT_MOST, "only people are waited for", World::waits_for_people)?;
    let states = checker::rows_now(&world.history)?;
    for node in &world.clients {
        check_listed(&world.history, node, &states)?;
    }
    let end = world.moment() + DECIDED_WITHIN;
    while !world.is_at_rest() {
        if world.moment() > end {
            return Err(world.restless("restless though everything was decided"));
        }
        world.decide_all();
        world.step_for(DECIDE_EVERY);
    }
    world.step_for(LAST_SIGHT);
    checker::check(&world.history)?;
    check_replicas(world)
}
