//! One run: a seed, a world, a verdict.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::broken::Broken;
use crate::centres::{self, CentreEvent};
use crate::checker::{self, Cycle, Invariant, Violation};
use crate::counts::Counts;
use crate::faults::Fault;
use crate::history::Moment;
use crate::needs::{Needs, WorldKind};
use crate::objects::{self, ObjectEvent};
use crate::occasions::Occasion;
use crate::rights::{self, RightsEvent};
use crate::rows::{self, RowEvent};
use crate::timeline::{self, Timeline};
use crate::world::{ClientNode, World};

const SECOND: Moment = 1_000_000_000;
/// After this, calls are given up.
const WORK_AT_MOST: Moment = 40 * SECOND;
/// How long things may take to come to rest without faults.
const REST_AT_MOST: Moment = 180 * SECOND;
/// How long a call may take when everything rests and every link is whole.
const ANSWER_WITHIN: Moment = 5 * SECOND;
/// When people open an app again.
const START_AGAIN_AFTER: Moment = 60 * SECOND;
/// How long watchers may take to see the last state once everything rests.
const LAST_SIGHT: Moment = 30 * SECOND;
/// A tab looks for its leader anew after 150 s of silence. A link on which only what the client says is lost is found out sooner.
const LINKED_WITHIN: Moment = 200 * SECOND;

/// What came of a seed.
#[derive(Clone, Debug)]
pub struct Outcome {
    pub seed: u64,
    pub violation: Option<Violation>,
    pub steps: u64,
    pub confirmed: u64,
    pub sightings: u64,
    pub faults: Counts<Fault>,
    pub occasions: Counts<Occasion>,
    /// In the world of tables that sync.
    pub row_events: Counts<RowEvent>,
    /// In the world of tables that merge.
    pub centre_events: Counts<CentreEvent>,
    /// In the world of rights.
    pub rights_events: Counts<RightsEvent>,
    /// In the world of objects.
    pub object_events: Counts<ObjectEvent>,
    pub trace_hash: [u8; 32],
    /// How the transactions of a cycle came to be one, for people.
    pub timeline: Option<String>,
}

/// Runs a seed, in the world that its number draws or the variant needs. A panic of a machine is a violation like any other.
pub fn run(seed: u64, broken: Broken) -> Outcome {
    run_in(seed, broken, broken.needs())
}

/// Runs a seed with nothing taken out, in the world that a variant needs.
pub fn run_whole(seed: u64, variant: Broken) -> Outcome {
    run_in(seed, Broken::Nothing, variant.needs())
}

/// Runs a seed with nothing taken out, in the world of this kind that its number draws.
pub fn run_world(seed: u64, kind: WorldKind) -> Outcome {
    run_in(seed, Broken::Nothing, kind.needs())
}

fn run_in(seed: u64, broken: Broken, needs: Needs) -> Outcome {
    if needs == Needs::Objects {
        return objects::run(seed, broken);
    }
    let mut world = World::new(seed, broken, needs);
    let violation = catching(|| live_as(needs, &mut world)).err();
    world.count_disk_faults();
    world.count_ends();
    world.count_calls();
    world.count_denials();
    let cycle = violation.as_ref().and_then(|violation| violation.cycle.as_ref());
    let timeline = cycle.map(|cycle| tell_again(World::new(seed, broken, needs), cycle, broken));
    Outcome {
        seed,
        violation,
        steps: world.steps,
        confirmed: checker::confirmed(&world.history),
        sightings: world.history.sightings.len() as u64 + world.history.centres.snapshots,
        faults: world.faults.clone(),
        occasions: world.occasions.clone(),
        row_events: world.row_events.clone(),
        centre_events: world.centre_events.clone(),
        rights_events: world.rights_events.clone(),
        object_events: Counts::default(),
        trace_hash: world.trace_hash(),
        timeline,
    }
}

fn live_as(needs: Needs, world: &mut World) -> Result<(), Violation> {
    match needs {
        Needs::Rows => rows::live(world),
        Needs::Centres => centres::live(world),
        Needs::Rights => rights::live(world),
        Needs::Anything
        | Needs::Shelves
        | Needs::BusyApps
        | Needs::TwoClocks
        | Needs::Views { .. }
        | Needs::Operators(_)
        | Needs::Game
        | Needs::LateOutcomes
        // It has a world of its own.
        | Needs::Objects => live(world),
    }
}

/// Gives the closure's answer. A panic of a machine is a violation like any other.
pub(crate) fn catching<T>(run: impl FnOnce() -> Result<T, Violation>) -> Result<T, Violation> {
    let told =
        |panic: Box<dyn std::any::Any + Send>| Violation::new(Invariant::Assertion, panic_message(panic.as_ref()));
    catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|panic| Err(told(panic)))
}

/// The same run once more, of which the steps of some transactions are written down.
fn tell_again(mut world: World, cycle: &Cycle, broken: Broken) -> String {
    world.history.timeline = Timeline::of(cycle.steps.iter().map(|step| step.transaction).collect());
    // How it ends is known.
    drop(live(&mut world));
    timeline::tell(&world.history, cycle, broken.rule())
}

/// Lives a world to its end, and checks it.
pub(crate) fn live(world: &mut World) -> Result<(), Violation> {
    while !world.work_is_done() && world.moment() < WORK_AT_MOST {
        world.step();
    }
    world.heal();
    come_to_rest(world)?;
    let end = world.moment() + LINKED_WITHIN;
    while !world.is_linked() && world.moment() < end && world.step() {}
    if !world.is_linked() {
        return Err(Violation::new(Invariant::Liveness, "a client or a tab did not find its link anew"));
    }
    world.call_once_more();
    rest_within(world, ANSWER_WITHIN, "a call took too long")?;
    let end = world.moment() + LAST_SIGHT;
    while world.moment() < end && world.step() {}
    let end = checker::check(&world.history)?;
    checker::check_last(world, &end)?;
    checker::check_delivered(world)?;
    checker::check_shown(&world.pages_shown(), &end)?;
    checker::check_replicas(world)?;
    checker::check_stored(world, &end)
}

/// Everything that was called ends, after people have opened some apps again.
pub(crate) fn come_to_rest(world: &mut World) -> Result<(), Violation> {
    for _ in 0..REST_AT_MOST / START_AGAIN_AFTER - 1 {
        if rest_within(world, START_AGAIN_AFTER, "").is_ok() {
            return Ok(());
        }
        world.restart_stranded();
    }
    rest_within(world, START_AGAIN_AFTER, "restless without faults")
}

fn rest_within(world: &mut World, time: Moment, otherwise: &str) -> Result<(), Violation> {
    let end = world.moment() + time;
    while !world.is_at_rest() {
        if world.moment() > end || !world.step() {
            let restless: Vec<String> = world.clients.iter().map(ClientNode::restlessness).collect();
            return Err(Violation::new(Invariant::Liveness, format!("{otherwise}: {restless:?}")));
        }
    }
    Ok(())
}

fn panic_message(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().cloned();
    text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned())).unwrap_or_else(|| "a panic".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_a_violation_that_says_what_it_said() {
        let found = catching::<()>(|| panic!("a machine broke its rule"));
        assert!(found.is_err_and(|violation| violation.to_string().contains("a machine broke its rule")));
        assert_eq!(catching(|| Ok(7)).ok(), Some(7));
    }
}
