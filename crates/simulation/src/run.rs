//! One run: a seed, a world, a verdict.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::broken::Broken;
use crate::checker::{self, Invariant, Violation};
use crate::faults::FaultCounts;
use crate::history::Moment;
use crate::world::World;

const SECOND: Moment = 1_000_000_000;
/// After this, calls are given up; a run of a few minutes is over long before.
const WORK_AT_MOST: Moment = 120 * SECOND;
/// How long things may take to come to rest without faults.
const REST_AT_MOST: Moment = 180 * SECOND;
/// How long watchers may take to see the last state once everything rests.
const LAST_SIGHT: Moment = 30 * SECOND;

/// What came of a seed.
#[derive(Clone, Debug)]
pub struct Outcome {
    pub seed: u64,
    pub violation: Option<Violation>,
    pub steps: u64,
    pub confirmed: u64,
    pub sightings: u64,
    pub faults: FaultCounts,
    pub trace_hash: [u8; 32],
}

/// Runs a seed. A panic of a machine is a violation like any other.
pub fn run(seed: u64, broken: Broken) -> Outcome {
    let mut world = World::new(seed, broken);
    let run = catch_unwind(AssertUnwindSafe(|| live(&mut world)));
    let violation = match run {
        Ok(result) => result.err(),
        Err(panic) => Some(Violation::new(Invariant::Assertion, panic_message(panic.as_ref()))),
    };
    world.count_disk_faults();
    Outcome {
        seed,
        violation,
        steps: world.steps,
        confirmed: checker::confirmed(&world.history),
        sightings: world.history.sightings.len() as u64,
        faults: world.faults.clone(),
        trace_hash: world.trace_hash(),
    }
}

fn live(world: &mut World) -> Result<(), Violation> {
    while !world.work_is_done() && world.moment() < WORK_AT_MOST {
        world.step();
    }
    world.heal();
    let end = world.moment() + REST_AT_MOST;
    while !world.is_at_rest() {
        if world.moment() > end || !world.step() {
            let pending: Vec<_> = world.clients.iter().map(|node| node.client.pending().collect::<Vec<_>>()).collect();
            return Err(Violation::new(Invariant::Liveness, format!("still pending without faults: {pending:?}")));
        }
    }
    let end = world.moment() + LAST_SIGHT;
    while world.moment() < end && world.step() {}
    let end = checker::check(&world.history)?;
    checker::check_last(world, &end)
}

fn panic_message(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().cloned();
    text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned())).unwrap_or_else(|| "a panic".into())
}
