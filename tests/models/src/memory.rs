//! The lock between a program, its saver and memoryd, with the processors' store buffers: every interleaving of one object.
//!
//! Invariants: the words are changed by the functions of `iolite_memory::word`, those that the program and the daemon use; whatever bounds the world is
//! in its [`Lock`].
//! Source: docs/protocols/memory.md, "The lock"; docs/models.md says what is cut.

mod app;
mod daemon;
mod machine;
mod saver;

use stateright::{Checker, HasDiscoveries, Model, Property};

pub use machine::{Broken, Lock, Thread, World};

use machine::Step;

/// Properties of every state.
pub const NEVER: [&str; 2] = ["a guard lends the object's bytes", "nothing else is punched"];
/// Sights that the search must meet, or it has searched too little.
pub const SIGHTS: [&str; 5] = [
    "a claim is given back",
    "memory is taken",
    "a claim is taken over",
    "an object is restored",
    "an old place is used again",
];

/// The result of a search.
#[derive(Clone, Debug)]
pub struct Found {
    pub states: usize,
    pub violated: Option<&'static str>,
    pub met: Vec<&'static str>,
    /// The shortest way to the violation.
    pub way: Vec<String>,
}

/// Looks at all states, nearest first, up to the first violation.
#[must_use]
pub fn explore_lock(lock: Lock) -> Found {
    let checker = lock.checker().threads(2).finish_when(HasDiscoveries::AnyFailures).spawn_bfs().join();
    let found = checker.discoveries();
    let violated = NEVER.into_iter().find(|name| found.contains_key(name));
    let way = violated.map(|name| found[name].clone().into_actions()).unwrap_or_default();
    Found {
        states: checker.unique_state_count(),
        violated,
        met: SIGHTS.into_iter().filter(|name| found.contains_key(name)).collect(),
        way: way.into_iter().map(|step| format!("{step:?}")).collect(),
    }
}

impl Model for Lock {
    type State = World;
    type Action = Step;

    fn init_states(&self) -> Vec<World> {
        vec![self.start()]
    }

    fn actions(&self, world: &World, steps: &mut Vec<Step>) {
        self.steps(world, steps);
    }

    fn next_state(&self, world: &World, step: Step) -> Option<World> {
        let mut next = world.clone();
        self.take(&mut next, step).then_some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        let [guard, other] = NEVER;
        let [given_back, taken, taken_over, restored, used_again] = SIGHTS;
        vec![
            Property::always(guard, |_, world: &World| !world.lent_wrong),
            Property::always(other, |_, world: &World| !world.other_is_hit()),
            Property::sometimes(given_back, |_, world: &World| world.sights.given_back),
            Property::sometimes(taken, |_, world: &World| world.sights.taken),
            Property::sometimes(taken_over, |_, world: &World| world.sights.taken_over),
            Property::sometimes(restored, |_, world: &World| world.sights.restored),
            Property::sometimes(used_again, |_, world: &World| world.sights.used_again),
        ]
    }
}
