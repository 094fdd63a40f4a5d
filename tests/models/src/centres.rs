//! A few data centres that hold the same tables that merge: every interleaving of one or two transactions.
//!
//! Invariants: nothing here decides anything that `Centres` or a gateway decides: both are the real machines; whatever bounds the world is in its [`Plan`].
//! Source: the model `centres-check` of the design; docs/models.md says what is real, what stands in, and what is cut.

mod canonical;
mod client;
pub mod configurations;
mod greeting;
mod judge;
mod node;
mod plan;
mod pool;
mod store;
mod world;

use std::collections::{BTreeSet, HashSet, VecDeque};
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::{Duration, Instant};

pub use judge::{
    BREAKS, BROUGHT_TWICE, ENDLESS, ENDS, GOES_AWAY, LOSES_OWN, MOVED, NEVER, OPEN_PREFIX, OPEN_VIEW, ORDERS, ROW_LIES,
    SEEN_TWICE, SHOWN_EARLY, SHUT_OUT, SIGHTS, SURVIVED, TWICE, UNEQUAL,
};
pub use plan::{Bounds, Broken, Called, Pace, Plan};
pub use world::{Action, World};

use world::Model;

/// The result of a search.
#[derive(Clone, Debug)]
pub struct Found {
    pub states: usize,
    pub nodes: usize,
    pub depth: usize,
    pub took: Duration,
    /// Whether the search ended before it had seen all.
    pub is_cut: bool,
    pub violated: Option<&'static str>,
    pub met: Vec<&'static str>,
    /// The shortest way to the violation.
    pub way: Vec<String>,
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Found { states, nodes, depth, took, is_cut, violated, met, way } = self;
        let whole = if *is_cut { "cut" } else { "whole" };
        writeln!(f, "{violated:?}: {states} states ({whole}), {nodes} nodes, depth {depth}, {took:.1?}")?;
        writeln!(f, "  met: {}", met.join("; "))?;
        way.iter().try_for_each(|step| writeln!(f, "  {step}"))
    }
}

/// Looks at all states, nearest first, up to the first violation or a number of steps.
#[must_use]
pub fn explore_centres(plan: Plan, steps_max: usize) -> Found {
    let started = Instant::now();
    let mut search = Search::new(Model::new(plan));
    let violated = search.run(steps_max);
    let way = violated.map(|_| search.way()).unwrap_or_default();
    Found {
        states: search.reached.len(),
        nodes: search.model.pool.nodes(),
        depth: search.depth,
        took: started.elapsed(),
        is_cut: violated.is_none() && !search.due.is_empty(),
        violated,
        met: search.met.into_iter().collect(),
        way: way.into_iter().map(|action| format!("{action:?}")).collect(),
    }
}

/// A search, nearest states first.
struct Search {
    model: Model,
    /// States that were reached, by their digests.
    known: HashSet<u128>,
    /// From which one each was reached, and how.
    reached: Vec<(usize, Option<Action>)>,
    due: VecDeque<(usize, usize, World)>,
    depth: usize,
    met: BTreeSet<&'static str>,
}

impl Search {
    fn new(model: Model) -> Search {
        let first = model.first();
        let known = [digest(&first)].into();
        let due = [(0, 0, first)].into();
        Search { model, known, reached: vec![(0, None)], due, depth: 0, met: BTreeSet::new() }
    }

    /// Searches until something is violated, and says what.
    fn run(&mut self, steps_max: usize) -> Option<&'static str> {
        let mut steps = 0;
        while let Some((number, depth, world)) = self.due.pop_front() {
            self.depth = depth;
            for sight in SIGHTS.into_iter().filter(|sight| !self.met.contains(sight)).collect::<Vec<_>>() {
                if judge::is_sight(&self.model, &world, sight) {
                    self.met.insert(sight);
                }
            }
            for action in self.model.can(&world, true) {
                steps += 1;
                let Some(next) = self.model.after(&world, action) else { continue };
                if !self.known.insert(digest(&next)) {
                    continue;
                }
                self.reached.push((number, Some(action)));
                if next.fault.is_some() {
                    return next.fault;
                }
                self.due.push_back((self.reached.len() - 1, depth + 1, next));
            }
            if steps >= steps_max {
                return None;
            }
        }
        None
    }

    /// The way to the state that was reached last.
    fn way(&self) -> Vec<Action> {
        let (mut at, mut way) = (self.reached.len() - 1, Vec::new());
        while let (before, Some(action)) = self.reached[at] {
            way.push(action);
            at = before;
        }
        way.reverse();
        way
    }
}

fn digest(world: &World) -> u128 {
    let (mut first, mut second) = (DefaultHasher::new(), DefaultHasher::new());
    second.write_u8(1);
    world.hash(&mut first);
    world.hash(&mut second);
    u128::from(first.finish()) << 64 | u128::from(second.finish())
}
