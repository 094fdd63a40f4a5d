//! One run: a seed, a world, a verdict.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::broken::Broken;
use crate::checker::{self, Cycle, Invariant, Violation};
use crate::counts::Counts;
use crate::faults::Fault;
use crate::history::Moment;
use crate::needs::Needs;
use crate::occasions::Occasion;
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

fn run_in(seed: u64, broken: Broken, needs: Needs) -> Outcome {
    let mut world = World::new(seed, broken, needs);
    let run = catch_unwind(AssertUnwindSafe(|| live(&mut world)));
    let violation = match run {
        Ok(result) => result.err(),
        Err(panic) => Some(Violation::new(Invariant::Assertion, panic_message(panic.as_ref()))),
    };
    world.count_disk_faults();
    let cycle = violation.as_ref().and_then(|violation| violation.cycle.as_ref());
    let timeline = cycle.map(|cycle| tell_again(World::new(seed, broken, needs), cycle, broken));
    Outcome {
        seed,
        violation,
        steps: world.steps,
        confirmed: checker::confirmed(&world.history),
        sightings: world.history.sightings.len() as u64,
        faults: world.faults.clone(),
        occasions: world.occasions.clone(),
        trace_hash: world.trace_hash(),
        timeline,
    }
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
    checker::check_shown(&world.pages_shown(), &end)?;
    checker::check_replicas(world)?;
    checker::check_stored(world, &end)
}

/// Everything that was called ends, after people have opened some apps again.
fn come_to_rest(world: &mut World) -> Result<(), Violation> {
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
    use crate::app::Model;
    use crate::history::{Called, Issued};

    fn at_its_end() -> World {
        at_the_end_of(1)
    }

    fn at_the_end_of(seed: u64) -> World {
        let mut world = World::new(seed, Broken::Nothing, Needs::Anything);
        live(&mut world).expect("the seed passes");
        world
    }

    #[test]
    fn a_watcher_that_missed_the_last_state_is_found() {
        let violation = checker::check_last(&at_its_end(), &Model::default()).err();
        assert_eq!(violation.map(|violation| violation.invariant), Some(Invariant::LastState));
    }

    /// A seed in whose last history texts were edited. Another change may shift that: then the next one is found from here, in more time.
    const EDITED: u64 = 4;

    #[test]
    fn a_text_that_clients_show_or_replicas_have_otherwise_is_found() {
        let are_found = (EDITED..EDITED + 40).any(|seed| {
            let mut world = at_the_end_of(seed);
            let shown = world.pages_shown();
            let end = checker::check(&world.history).expect("the seed passes");
            let found = |model: &Model| {
                let checks = [checker::check_shown(&shown, model), checker::check_stored(&world, model)];
                checks.map(|checked| checked.err().map(|violation| violation.invariant))
            };
            assert_eq!(found(&end), [None, None]);
            found(&Model::default()) == [Some(Invariant::Texts), Some(Invariant::Texts)]
        });
        assert!(are_found);
    }

    #[test]
    fn a_durable_mutation_that_never_ended_is_found() {
        let mut world = at_its_end();
        let model = checker::check(&world.history).expect("the seed passes");
        assert_eq!(checker::check_last(&world, &model), Ok(()));
        let history = &world.history;
        // One that nobody wanted back.
        let was_promised = |(mutation, called): &(&Issued, &Called)| {
            called.has_ended_by_name() && called.durable && !history.was_asked_back(**mutation)
        };
        let (mutation, _) = history.calls.iter().find(was_promised).expect("there are some");
        let mutation = *mutation;
        world.history.calls.get_mut(&mutation).expect("it was found").ends.clear();
        let violation = checker::check_last(&world, &model).err();
        assert_eq!(violation.map(|violation| violation.invariant), Some(Invariant::Durability));
    }
}
