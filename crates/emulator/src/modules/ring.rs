//! Consistent hashing: each node has points on a ring, and a key is on the nodes whose points follow it.
//!
//! Source: Karger et al., "Consistent hashing and random trees" (1997).

use std::collections::BTreeMap;

use iolite_machine::Instant;

use super::{Module, Outcome, Site, Work};
use crate::engine::{Key, NodeId, Outputs, scattered};
use crate::file::{Problem, Section};

#[derive(Debug)]
pub(super) struct Ring {
    points: BTreeMap<u64, NodeId>,
    replicas: usize,
}

impl Ring {
    pub(super) fn build(section: &Section, site: &Site<'_>) -> Result<Ring, Problem> {
        let nodes = super::send::nodes_of(section, site)?;
        let replicas = replicas(section, nodes.len())?;
        let points = section.count_or("points", 128)?.min(1 << 16);
        let point = |node: NodeId, number| (scattered(scattered(u64::from(node.0)) ^ number), node);
        let points = nodes.iter().flat_map(|node| (0..points).map(move |number| point(*node, number))).collect();
        Ok(Ring { points, replicas })
    }

    fn replicas(&self, key: Key) -> Vec<NodeId> {
        let mut found = Vec::new();
        let place = scattered(key.0);
        for node in self.points.range(place..).chain(self.points.range(..place)).map(|(_, node)| *node) {
            if !found.contains(&node) {
                found.push(node);
            }
            if found.len() == self.replicas {
                break;
            }
        }
        found
    }
}

/// How many nodes hold an object; as many as there are, or fewer.
pub(super) fn replicas(section: &Section, nodes: usize) -> Result<usize, Problem> {
    let replicas = section.count_or("replicas", 3)? as usize;
    if replicas <= nodes {
        return Ok(replicas);
    }
    let what = format!("{replicas} replicas do not fit on {nodes} nodes");
    Err(section.problem("replicas", what, "give the role more nodes, or ask for fewer replicas"))
}

impl Module for Ring {
    fn run(&mut self, _now: Instant, _call: &str, work: &mut Work, _out: &mut Outputs) -> Outcome {
        work.message.replicas = self.replicas(work.message.key);
        Outcome("ok")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_on_as_many_nodes_as_asked_and_spread_over_all() {
        let points = (0..10_u32)
            .flat_map(|node| (0..128).map(move |n| (scattered(scattered(u64::from(node)) ^ n), NodeId(node))));
        let ring = Ring { points: points.collect(), replicas: 3 };
        let mut heads: BTreeMap<NodeId, u32> = BTreeMap::new();
        for key in 0..10_000 {
            let replicas = ring.replicas(Key(key));
            assert_eq!(replicas.iter().collect::<std::collections::BTreeSet<_>>().len(), 3);
            *heads.entry(replicas[0]).or_default() += 1;
        }
        assert!(heads.len() == 10 && heads.values().all(|count| (600..1_500).contains(count)), "{heads:?}");
    }
}
