//! The volumes of a deployment, the nodes that hold them, and the disk of each.

use std::collections::BTreeMap;

use iolite_machine::Instant;

use super::{Module, Outcome, Placed, Site, Work};
use crate::engine::{NodeId, Outputs, Volume};
use crate::file::{Problem, Section};

/// All volumes, spread over the nodes of a role: volume v is on the nodes v, v + 1, ... counted round.
#[derive(Debug)]
pub(super) struct Layout {
    nodes: Vec<NodeId>,
    replicas: usize,
    pub(super) volumes: u32,
}

impl Layout {
    pub(super) fn build(section: &Section, site: &Site<'_>) -> Result<Layout, Problem> {
        let nodes = super::send::nodes_of(section, site)?;
        let replicas = super::ring::replicas(section, nodes.len())?;
        let logs = site.deployment.disks() as u64 * section.count_or("logs_per_disk", 1)?;
        let volumes = nodes.len() as u64 * (logs / replicas as u64);
        if volumes == 0 || volumes > 1 << 24 {
            let what = format!("{logs} logs a node make no volumes of {replicas} replicas");
            return Err(section.problem("logs_per_disk", what, "give each disk more logs, or each node more disks"));
        }
        Ok(Layout { nodes, replicas, volumes: volumes as u32 })
    }

    pub(super) fn replicas(&self, volume: Volume) -> Vec<NodeId> {
        let node = |number| self.nodes[(volume.0 as usize + number) % self.nodes.len()];
        (0..self.replicas).map(node).collect()
    }
}

#[derive(Debug)]
pub(super) struct VolumePlacement {
    placed: BTreeMap<Volume, Placed>,
}

impl VolumePlacement {
    pub(super) fn build(section: &Section, site: &Site<'_>) -> Result<VolumePlacement, Problem> {
        let layout = Layout::build(section, site)?;
        let disks = site.deployment.disks();
        let own = (0..layout.volumes).map(Volume).filter(|volume| layout.replicas(*volume).contains(&site.own));
        let place = |(number, volume)| (volume, Placed { disk: number % disks, log: (number / disks) as u32 });
        Ok(VolumePlacement { placed: own.enumerate().map(place).collect() })
    }
}

impl Module for VolumePlacement {
    fn run(&mut self, _now: Instant, _call: &str, work: &mut Work, _out: &mut Outputs) -> Outcome {
        let volume = work.message.volume.expect("the ports were checked");
        work.placed = Some(*self.placed.get(&volume).expect("writes of a volume go to those who hold it"));
        Outcome("ok")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_node_holds_as_many_volumes_as_its_disks_have_logs_and_no_more() {
        let nodes: Vec<NodeId> = (1..=7).map(NodeId).collect();
        let layout = Layout { nodes: nodes.clone(), replicas: 3, volumes: 7 * (8 * 4 / 3) };
        for node in nodes {
            let held = (0..layout.volumes).filter(|volume| layout.replicas(Volume(*volume)).contains(&node)).count();
            assert_eq!(held, 30);
        }
    }
}
