//! Searching all states, and what came of it.

use std::fmt;
use std::time::{Duration, Instant};

use stateright::{Checker, HasDiscoveries, Model};

use crate::judge::{SIGHTS, VIOLATIONS};
use crate::plan::Plan;
use crate::world::WorldModel;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Every state within the bounds was looked at.
    Exhausted,
    /// It was cut off.
    Cut,
    Violated(&'static str),
}

#[derive(Clone, Debug)]
pub struct Report {
    pub verdict: Verdict,
    pub states: usize,
    pub transitions: usize,
    pub depth: usize,
    pub nodes: usize,
    pub messages: usize,
    pub took: Duration,
    pub sights: Vec<&'static str>,
    /// The shortest way to the violation.
    pub way: Vec<String>,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Report { verdict, states, transitions, depth, nodes, messages, took, sights, way } = self;
        writeln!(
            f,
            "{verdict:?}: {states} states, {transitions} transitions, depth {depth}, {nodes} nodes, {messages} messages, {took:.1?}"
        )?;
        writeln!(f, "  met: {}", sights.join("; "))?;
        way.iter().try_for_each(|step| writeln!(f, "  {step}"))
    }
}

/// Looks at all states, nearest first, for at most so long and so many transitions.
pub fn explore(plan: Plan, at_most: Duration, transitions_max: usize) -> Report {
    let started = Instant::now();
    let model = WorldModel::new(plan);
    let pool = model.pool.clone();
    let checker = model.clone().checker().threads(2).timeout(at_most).target_state_count(transitions_max);
    let checker = checker.finish_when(HasDiscoveries::AnyFailures).spawn_bfs().join();
    let took = started.elapsed();
    let found = checker.discoveries();
    let violated = VIOLATIONS.into_iter().find(|name| found.contains_key(name));
    let is_cut = took >= at_most || checker.state_count() >= transitions_max;
    let verdict = match violated {
        Some(name) => Verdict::Violated(name),
        None if is_cut => Verdict::Cut,
        None => Verdict::Exhausted,
    };
    let way = violated.and_then(|name| found.get(name).cloned()).map(|path| {
        let actions = path.into_actions();
        actions.into_iter().map(|action| crate::walk::describe(&model, action)).collect()
    });
    let (nodes, messages, _) = pool.known().counts();
    Report {
        verdict,
        states: checker.unique_state_count(),
        transitions: checker.state_count(),
        depth: checker.max_depth(),
        nodes,
        messages,
        took,
        sights: SIGHTS.into_iter().filter(|name| found.contains_key(name)).collect(),
        way: way.unwrap_or_default(),
    }
}
