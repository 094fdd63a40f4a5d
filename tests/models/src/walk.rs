//! Random ways through a world to its end: where nothing more can happen within the bounds.

use std::collections::BTreeSet;
use std::fmt;
use std::time::{Duration, Instant};

use stateright::Model;

use crate::plan::Plan;
use crate::pool::Step;
use crate::world::{Action, World, WorldModel};

/// Steps that were computed are kept for so many walks.
const WALKS_A_POOL: u64 = 500;

/// A walk that has no end by then is left.
const STEPS_MAX: usize = 2_000;

#[derive(Clone, Debug)]
pub struct Walked {
    pub walks: u64,
    /// Walks that were left without an end.
    pub left: u64,
    pub steps: u64,
    pub sights: BTreeSet<&'static str>,
    /// The first violation, and the way to it.
    pub violation: Option<(&'static str, Vec<String>)>,
}

impl fmt::Display for Walked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Walked { walks, left, steps, sights, violation } = self;
        writeln!(f, "{walks} walks, {left} of them left before the end, {steps} steps")?;
        writeln!(f, "  met: {}", sights.iter().copied().collect::<Vec<_>>().join("; "))?;
        if let Some((name, way)) = violation {
            writeln!(f, "  VIOLATED: {name}")?;
            way.iter().try_for_each(|step| writeln!(f, "    {step}"))?;
        }
        Ok(())
    }
}

/// Walks until so many walks are done, or so much time is up. Equal seeds give equal walks.
pub fn walk(plan: &Plan, seed: u64, walks_max: u64, at_most: Duration) -> Walked {
    walk_to(plan, seed, walks_max, at_most, |_| true)
}

/// The same; a violation counts in such a world only.
pub fn walk_to(plan: &Plan, seed: u64, walks_max: u64, at_most: Duration, counts: impl Fn(&World) -> bool) -> Walked {
    let started = Instant::now();
    let mut walked = Walked { walks: 0, left: 0, steps: 0, sights: BTreeSet::new(), violation: None };
    let mut model = WorldModel::new(plan.clone());
    while walked.walks < walks_max && started.elapsed() < at_most && walked.violation.is_none() {
        if walked.walks % WALKS_A_POOL == WALKS_A_POOL - 1 {
            model = WorldModel::new(plan.clone());
        }
        walk_once(&model, Chance::new(seed, walked.walks), &counts, &mut walked);
        walked.walks += 1;
    }
    walked
}

fn walk_once(model: &WorldModel, mut chance: Chance, counts: &impl Fn(&World) -> bool, walked: &mut Walked) {
    let mut world = model.first();
    let mut way = Vec::new();
    while way.len() < STEPS_MAX {
        let Some((action, next)) = step_on(model, &world, &mut chance) else { break };
        way.push(action);
        world = next;
        walked.steps += 1;
        if let Some(name) = world.marks.violation()
            && counts(&world)
        {
            walked.violation = Some((name, way.iter().map(|action| describe(model, *action)).collect()));
            break;
        }
    }
    walked.left += u64::from(way.len() == STEPS_MAX);
    walked.sights.extend(world.marks.sights());
}

/// Something that can happen, and the world after it; none at an end.
fn step_on(model: &WorldModel, world: &World, chance: &mut Chance) -> Option<(Action, World)> {
    let mut actions = Vec::new();
    model.actions(world, &mut actions);
    while !actions.is_empty() {
        let action = actions.swap_remove(chance.below(actions.len()));
        if let Some(next) = model.after(world, action) {
            return Some((action, next));
        }
    }
    None
}

/// Where some walk ends.
#[cfg(test)]
pub fn an_end(model: &WorldModel, walk: u64) -> World {
    let (mut world, mut chance) = (model.first(), Chance::new(1, walk));
    while let Some((_, next)) = step_on(model, &world, &mut chance) {
        world = next;
    }
    world
}

/// One line for people.
pub fn describe(model: &WorldModel, action: Action) -> String {
    match action {
        Action::Step(node, Step::Deliver(message)) => {
            let known = model.pool.known();
            format!("node {node} gets {:?}", known.messages[message as usize].message.payload)
        }
        Action::Step(node, step) => format!("node {node}: {step:?}"),
        Action::Crash(node) => format!("node {node} crashes"),
    }
}

/// SplitMix64.
struct Chance(u64);

impl Chance {
    fn new(seed: u64, walk: u64) -> Chance {
        Chance(seed.wrapping_mul(0x2545_f491_4f6c_dd1d) ^ walk.wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed ^ mixed >> 31) % bound as u64).expect("below a usize")
    }
}
