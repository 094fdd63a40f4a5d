//! A state of a world, and what may happen next, for stateright.
//!
//! Invariant: a message that was sent stays in the network: it is delivered at any later time, again, or never.

use std::sync::Arc;

use iolite_replication::node::Ask;
use iolite_values::Transaction;
use stateright::{Model, Property};

use crate::facts::{MessageFacts, NodeFacts};
use crate::judge::{self, Marks};
use crate::node::{Kept, Payload};
use crate::plan::{Closes, Plan, Submission, Submits};
use crate::pool::{Known, MessageNumber, NodeNumber, Pool, Step};
use crate::start;

/// The most transactions that a plan submits.
pub const TRANSACTIONS_MAX: usize = 4;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct World {
    /// Replicas first, then coordinators.
    pub nodes: Box<[NodeNumber]>,
    /// Sorted.
    pub network: Vec<MessageNumber>,
    /// A bit for each node that has crashed.
    pub down: u16,
    /// A bit for each transaction that was submitted.
    pub submitted: u8,
    /// The transactions that had been reported when each one was submitted.
    pub reported_before: [u8; TRANSACTIONS_MAX],
    spent: Spent,
    /// What a judge makes of it.
    pub marks: Marks,
}

/// How much of the bounds is used up.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Spent {
    view_changes: u8,
    coordinator_crashes: u8,
    replica_crashes: u8,
    restarts: u8,
    replica_deadlines: u8,
    coordinator_deadlines: [u8; 4],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    Step(u8, Step),
    Crash(u8),
}

#[derive(Clone, Debug)]
pub struct WorldModel {
    pub plan: Arc<Plan>,
    pub pool: Arc<Pool>,
    /// Where each message goes is asked for all the time.
    replicas: usize,
}

impl WorldModel {
    pub fn new(plan: Plan) -> WorldModel {
        assert!(plan.submissions.len() <= TRANSACTIONS_MAX, "so many transactions have a bit");
        assert!(plan.clocks.len() <= 4, "so many coordinators are counted");
        let snapshot = start::snapshot(&start::nodes(&plan));
        let on_it = |own: &Submission| Transaction { snapshot, ..own.transaction.clone() };
        let pool = Pool::new(plan.submissions.iter().map(on_it).collect());
        let replicas = start::replicas(&plan);
        WorldModel { plan: Arc::new(plan), pool: Arc::new(pool), replicas }
    }

    pub fn first(&self) -> World {
        let nodes: Vec<NodeNumber> =
            start::nodes(&self.plan).into_iter().map(|node| self.pool.add_node(node)).collect();
        let mut world = World {
            nodes: nodes.into(),
            network: Vec::new(),
            down: 0,
            submitted: 0,
            reported_before: [0; TRANSACTIONS_MAX],
            spent: Spent::default(),
            marks: Marks::default(),
        };
        if self.plan.submits == Submits::AtOnce {
            for (which, submission) in (0..).zip(&self.plan.submissions) {
                let node = u8::try_from(self.replicas + submission.coordinator).expect("there are few");
                world = self.after(&world, Action::Step(node, Step::Submit(which))).expect("it is open");
            }
        }
        world
    }

    pub fn after(&self, world: &World, action: Action) -> Option<World> {
        let mut next = world.clone();
        match action {
            Action::Crash(node) => {
                next.down |= 1 << node;
                match usize::from(node) < self.replicas {
                    true => next.spent.replica_crashes += 1,
                    false => next.spent.coordinator_crashes += 1,
                }
                self.drop_unheard(&self.pool.known(), &mut next);
            }
            Action::Step(node, step) => {
                let place = usize::from(node);
                let stepped = self.pool.step(world.nodes[place], step)?;
                self.spend(&mut next, place, step);
                next.nodes[place] = stepped.node;
                let known = self.pool.known();
                for number in &stepped.said {
                    if self.is_carried(&known, *number)
                        && let Err(place) = next.network.binary_search(number)
                    {
                        next.network.insert(place, *number);
                    }
                }
                self.drop_unheard(&known, &mut next);
                if next == *world || self.is_beyond(&known, stepped.node) {
                    return None;
                }
                next.marks = judge::judge(&self.plan, &known, &next);
            }
        }
        Some(next)
    }

    fn spend(&self, next: &mut World, place: usize, step: Step) {
        match step {
            Step::Deliver(_) => {}
            Step::Submit(which) => {
                next.submitted |= 1 << which;
                let known = self.pool.known();
                next.reported_before[usize::from(which)] = judge::reported(&known, next);
            }
            Step::Deadline if place < self.replicas => next.spent.replica_deadlines += 1,
            Step::Deadline => next.spent.coordinator_deadlines[place - self.replicas] += 1,
            Step::BeginViewChange => next.spent.view_changes += 1,
            Step::Restart(_) => next.spent.restarts += 1,
        }
    }

    fn is_carried(&self, known: &Known, number: MessageNumber) -> bool {
        let feeds = match &known.messages[number as usize].message.payload {
            Payload::Asked(message) => {
                matches!(message.ask, Ask::Close { .. } | Ask::Resolved { .. })
            }
            Payload::Answered(_) | Payload::Peer(_) => false,
        };
        !feeds || self.plan.closes != Closes::Lost
    }

    /// Takes out what nobody will hear any more: nodes that are down do not, and a coordinator without requests only takes note, when it does
    /// not follow the feed. What judges look at stays.
    fn drop_unheard(&self, known: &Known, next: &mut World) {
        let is_deaf = |node: usize| match &known.nodes[next.nodes[node] as usize].facts {
            NodeFacts::Coordinator(facts) => facts.is_idle && self.plan.closes == Closes::Lost,
            NodeFacts::Replica(_) | NodeFacts::Panicked => false,
        };
        let deaf: u16 = (0..next.nodes.len()).filter(|node| is_deaf(*node)).map(|node| 1 << node).sum();
        let deaf = deaf | next.down;
        if deaf != 0 {
            next.network.retain(|number| {
                let message = &known.messages[*number as usize];
                let to = start::index(&self.plan, message.message.to);
                deaf >> to & 1 == 0 || !matches!(message.facts, MessageFacts::Other)
            });
        }
    }

    fn is_beyond(&self, known: &Known, node: NodeNumber) -> bool {
        match &known.nodes[node as usize].facts {
            NodeFacts::Replica(facts) => facts.view > self.plan.bounds.view_max,
            NodeFacts::Coordinator(_) | NodeFacts::Panicked => false,
        }
    }

    fn replica_actions(&self, world: &World, node: u8, actions: &mut Vec<Action>) {
        let (spent, bounds) = (&world.spent, &self.plan.bounds);
        if spent.restarts < bounds.restarts {
            actions.push(Action::Step(node, Step::Restart(Kept::Durable)));
            actions.push(Action::Step(node, Step::Restart(Kept::All)));
        }
        if spent.replica_crashes < bounds.replica_crashes {
            actions.push(Action::Crash(node));
        }
        if spent.replica_deadlines < bounds.replica_deadlines {
            actions.push(Action::Step(node, Step::Deadline));
        }
        if spent.view_changes < bounds.view_changes {
            actions.push(Action::Step(node, Step::BeginViewChange));
        }
    }

    fn coordinator_actions(&self, world: &World, node: u8, actions: &mut Vec<Action>) {
        let (spent, bounds) = (&world.spent, &self.plan.bounds);
        let which = usize::from(node) - self.replicas;
        if spent.coordinator_crashes < bounds.coordinator_crashes {
            actions.push(Action::Crash(node));
        }
        if spent.coordinator_deadlines[which] < bounds.coordinator_deadlines {
            actions.push(Action::Step(node, Step::Deadline));
        }
        for (number, submission) in (0..).zip(&self.plan.submissions) {
            if submission.coordinator == which && world.submitted >> number & 1 == 0 {
                actions.push(Action::Step(node, Step::Submit(number)));
            }
        }
    }
}

impl Model for WorldModel {
    type State = World;
    type Action = Action;

    fn init_states(&self) -> Vec<World> {
        vec![self.first()]
    }

    fn actions(&self, world: &World, actions: &mut Vec<Action>) {
        {
            let known = self.pool.known();
            for number in &world.network {
                let to = start::index(&self.plan, known.messages[*number as usize].message.to);
                if world.down >> to & 1 == 0 {
                    actions.push(Action::Step(u8::try_from(to).expect("there are few"), Step::Deliver(*number)));
                }
            }
        }
        for node in (0..world.nodes.len()).filter(|node| world.down >> node & 1 == 0) {
            let number = u8::try_from(node).expect("there are few");
            match node < self.replicas {
                true => self.replica_actions(world, number, actions),
                false => self.coordinator_actions(world, number, actions),
            }
        }
    }

    fn next_state(&self, world: &World, action: Action) -> Option<World> {
        self.after(world, action)
    }

    fn properties(&self) -> Vec<Property<WorldModel>> {
        judge::properties()
    }
}
