//! The checks of `iolite simulate --check`: rules of the simulation itself that need whole runs, each in seconds of an optimised build.
//!
//! Invariant: every check runs worlds from fixed seeds, so it passes or fails the same way on every machine.

mod k_away;
mod last_state;

use std::time::Duration;

use crate::broken::Broken;
use crate::checker::{Invariant, Violation};
use crate::game::play;
use crate::needs::{Needs, WorldKind};
use crate::report::{Report, Simulated};
use crate::run::{Outcome, run, run_whole};

/// One rule, and how it is looked at.
#[derive(Clone, Copy)]
pub struct Check {
    /// The rule, as a sentence.
    pub rule: &'static str,
    run: fn() -> Result<(), String>,
}

impl Check {
    /// Runs the worlds of the check.
    ///
    /// # Errors
    /// A sentence for people that says what was seen instead, with the seed.
    pub fn run(&self) -> Result<(), String> {
        (self.run)()
    }
}

/// All checks. The longest stands first, so that cores which share them end together.
pub const CHECKS: [Check; 8] = [
    Check { rule: "the anomaly of Figure 9 is found and told as a timeline", run: figure_9_is_told },
    Check { rule: "rounds of the game go on while a gateway, a replica and a client are killed", run: game_goes_on },
    Check { rule: "the worlds of all variants pass with nothing taken out", run: worlds_of_variants_pass },
    Check { rule: "300 calls end no session while K data centres cannot be reached", run: k_away::calls_go_on },
    Check { rule: "equal seeds give equal runs", run: equal_seeds_are_equal },
    Check { rule: "a watcher that missed the last state is found", run: last_state::missed_by_a_watcher },
    Check { rule: "a text that clients show or replicas have otherwise is found", run: last_state::texts_otherwise },
    Check { rule: "a durable mutation that never ended is found", run: last_state::durable_without_an_end },
];

fn equal_seeds_are_equal() -> Result<(), String> {
    let hash = || Report::of(Simulated::Whole(WorldKind::Main), [Simulated::Whole(WorldKind::Main).run(11)]).trace_hash;
    let (first, second) = (hash(), hash());
    if first == second { Ok(()) } else { Err(format!("seed 11 ran twice, as {first} and as {second}")) }
}

fn worlds_of_variants_pass() -> Result<(), String> {
    let mut seen: Vec<Needs> = vec![Needs::Anything];
    for variant in Broken::all() {
        if seen.contains(&variant.needs()) {
            continue;
        }
        seen.push(variant.needs());
        if let Some(violation) = run_whole(1, variant).violation {
            return Err(format!("seed 1 of the world of {}: {violation}", variant.name()));
        }
    }
    Ok(())
}

/// The seeds in which the anomaly is looked for. What Figure 9 lets through shows at weaker levels too, and then as another violation.
const FIGURE_9_SEEDS: std::ops::RangeInclusive<u64> = 20..=100;

/// The steps of the anomaly, in order: T1 is told first and began first, and T2 comes before it all the same.
const FIGURE_9_STEPS: [&str; 7] = [
    "is given T1",
    "sends PREPARE of T1",
    "T1 IS ACKNOWLEDGED",
    "is given T2",
    "T2 IS ACKNOWLEDGED",
    "T2 -> T1",
    "T1 -> T2",
];

fn figure_9_is_told() -> Result<(), String> {
    let is_a_cycle = |violation: &Violation| violation.invariant == Invariant::Strictness;
    let mut runs = FIGURE_9_SEEDS.map(|seed| run(seed, Broken::ValidateAsFigure9));
    let found: Option<Outcome> = runs.find(|outcome| outcome.violation.as_ref().is_some_and(is_a_cycle));
    let Some(found) = found else { return Err(format!("no seed of {FIGURE_9_SEEDS:?} finds it")) };
    let Some(timeline) = found.timeline else { return Err(format!("seed {} tells no timeline", found.seed)) };
    told_in_order(&timeline).map_err(|wrong| format!("seed {}: {wrong}", found.seed))
}

fn told_in_order(timeline: &str) -> Result<(), String> {
    let places = FIGURE_9_STEPS.map(|step| timeline.find(step));
    let is_told = places.iter().all(Option::is_some) && places.is_sorted();
    if is_told { Ok(()) } else { Err(format!("the steps stand at {places:?} in\n{timeline}")) }
}

/// How long a kill may keep the onlooker from the next round, in the simulation's time.
const PAUSE: Duration = Duration::from_secs(3);

fn game_goes_on() -> Result<(), String> {
    for seed in 1..=3 {
        let game = play(seed, 6).map_err(|violation| format!("seed {seed}: {violation}"))?;
        let goes_on =
            game.rounds > 60 && game.sum >= game.rounds && game.pauses.iter().all(|(_, pause)| *pause < PAUSE);
        if !goes_on {
            return Err(format!("seed {seed}: {game:?}"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timeline_that_lacks_a_step_or_has_it_too_early_is_refused() {
        let whole = FIGURE_9_STEPS.join("\n");
        assert_eq!(told_in_order(&whole), Ok(()));
        assert!(told_in_order(&whole.replace("T2 -> T1", "")).is_err());
        let mut swapped = FIGURE_9_STEPS;
        swapped.swap(0, 3);
        assert!(told_in_order(&swapped.join("\n")).is_err());
    }
}
