//! Each property fails where one thing is told otherwise, in a world of which nothing is wrong before. (No variant of the protocol leads to all of them.)

use std::sync::Arc;

use iolite_values::Timestamp;

use super::*;
use crate::configurations::closing_apart;
use crate::facts::ReplicaFacts;
use crate::pool::NodeNumber;
use crate::walk::an_end;

/// A world at its end: a transaction was reported committed, and both coordinators' feeds have passed it.
struct End {
    plan: Plan,
    known: Known,
    world: World,
}

impl End {
    fn reach() -> End {
        (0..).find_map(|walk| End::of_walk(walk).filter(End::has_everything)).expect("some walk has it all")
    }

    fn of_walk(walk: u64) -> Option<End> {
        let model = WorldModel::new(closing_apart());
        let world = an_end(&model, walk);
        let WorldModel { plan, pool, .. } = model;
        Some(End { plan: (*plan).clone(), known: Arc::into_inner(pool)?.into_known(), world })
    }

    fn has_everything(&self) -> bool {
        let feeds = coordinators(&self.known, &self.world).filter(|facts| !facts.commits.is_empty()).count();
        feeds == 2 && reported(&self.known, &self.world) != 0
    }

    fn nodes<T>(&self, facts: impl Fn(&NodeFacts) -> Option<T>) -> Vec<(NodeNumber, T)> {
        let told = |node: &NodeNumber| Some((*node, facts(&self.known.nodes[*node as usize].facts)?));
        self.world.nodes.iter().filter_map(told).collect()
    }

    /// Of a replica that has a commit on record.
    fn replica(&self) -> (NodeNumber, ReplicaFacts) {
        let has_commit = |facts: &NodeFacts| match facts {
            NodeFacts::Replica(facts) if !facts.committed.is_empty() => Some(facts.clone()),
            _ => None,
        };
        self.nodes(has_commit).swap_remove(0)
    }

    /// Of one that has reported a commit.
    fn coordinator(&self) -> (NodeNumber, CoordinatorFacts) {
        let has_reported = |facts: &NodeFacts| match facts {
            NodeFacts::Coordinator(facts) if !facts.reported.is_empty() => Some(facts.clone()),
            _ => None,
        };
        self.nodes(has_reported).swap_remove(0)
    }

    /// What is found when a node has told this.
    fn violations_when(mut self, node: NodeNumber, facts: NodeFacts) -> Vec<&'static str> {
        assert_eq!(self.violations(), [""; 0], "nothing is wrong before");
        self.known.tell_otherwise(node, facts);
        self.violations()
    }

    fn violations(&self) -> Vec<&'static str> {
        let marks = judge(&self.plan, &self.known, &self.world);
        (0..).zip(VIOLATIONS).filter(|(bit, _)| marks.has(*bit)).map(|(_, name)| name).collect()
    }
}

#[test]
fn a_machine_that_panics_is_found() {
    let end = End::reach();
    let (node, _) = end.replica();
    assert!(end.violations_when(node, NodeFacts::Panicked).contains(&"no machine breaks an invariant of its own"));
}

#[test]
fn a_proposal_with_two_outcomes_is_found() {
    let end = End::reach();
    let (node, mut facts) = end.replica();
    facts.aborted.extend(facts.committed.iter().copied());
    assert_eq!(end.violations_when(node, NodeFacts::Replica(facts)), ["a proposal has one outcome"]);
}

#[test]
fn a_commit_that_was_reported_and_is_nowhere_is_found() {
    let end = End::reach();
    let (node, mut facts) = end.coordinator();
    facts.reported[0].1 = Timestamp::MAX;
    assert_eq!(end.violations_when(node, NodeFacts::Coordinator(facts)), ["what was reported committed is committed"]);
}

#[test]
fn a_commit_without_its_writes_in_a_feed_is_found() {
    let end = End::reach();
    let (node, mut facts) = end.coordinator();
    facts.commits[0].writes = [].into();
    assert_eq!(end.violations_when(node, NodeFacts::Coordinator(facts)), ["the feed has only what committed, whole"]);
}

#[test]
fn feeds_that_differ_are_found() {
    let end = End::reach();
    let (node, mut facts) = end.coordinator();
    facts.commits.remove(0);
    let found = end.violations_when(node, NodeFacts::Coordinator(facts));
    assert_eq!(found, ["nothing commits at or below a resolved timestamp outside of the feed", "feeds agree"]);
}
