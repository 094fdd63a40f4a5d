//! A run of this world: work with faults, rest with conflicts that nobody has decided, decisions, rest.

use super::checker::{self, check_listed};
use crate::checker::{Invariant, Violation, check_replicas};
use crate::history::Moment;
use crate::world::{ClientNode, World};

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
    step_until(world, REST_AT_MOST, "only people are waited for", World::waits_for_people)?;
    step_until(world, LINKED_WITHIN, "a client did not find its link anew", World::is_linked)?;
    step_for(world, LAST_SIGHT);
    step_until(world, REST_AT_MOST, "only people are waited for", World::waits_for_people)?;
    let states = checker::rows_now(&world.history)?;
    for node in &world.clients {
        check_listed(&world.history, node, &states)?;
    }
    let end = world.moment() + DECIDED_WITHIN;
    while !world.is_at_rest() {
        if world.moment() > end {
            return Err(restless(world, "restless though everything was decided"));
        }
        world.decide_all();
        step_for(world, DECIDE_EVERY);
    }
    step_for(world, LAST_SIGHT);
    checker::check(&world.history)?;
    check_replicas(world)
}

fn step_for(world: &mut World, time: Moment) {
    let end = world.moment() + time;
    while world.moment() < end && world.step() {}
}

fn step_until(world: &mut World, time: Moment, wanted: &str, is_so: impl Fn(&World) -> bool) -> Result<(), Violation> {
    let end = world.moment() + time;
    while !is_so(world) {
        if world.moment() > end || !world.step() {
            return Err(restless(world, &format!("not in time: {wanted}")));
        }
    }
    Ok(())
}

fn restless(world: &World, what: &str) -> Violation {
    let nodes: Vec<String> = world.clients.iter().map(ClientNode::restlessness).collect();
    Violation::new(Invariant::Liveness, format!("{what}: {nodes:?}"))
}
