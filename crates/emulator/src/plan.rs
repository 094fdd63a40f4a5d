//! A plan: one design under one workload on so much hardware, from one seed; and its nodes with the data that are there before a run.
//!
//! Invariant: the same plan gives the same nodes in each process that builds them, so a real run needs no step in which data are loaded.

use std::collections::{BTreeMap, VecDeque};

use iolite_machine::Instant;
use serde::{Deserialize, Serialize};

use crate::design::Design;
use crate::disk::{AllocationError, Device, DiskAlloc};
use crate::engine::{
    Answer, Asked, Content, Deployment, Key, Message, Node, NodeId, NodeInput, NodeOutput, OperationId,
};
use crate::file::Problem;
use crate::hardware::Hardware;
use crate::workload::{Workload, request, value_of};

/// A file as it was read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanFile {
    pub name: String,
    pub text: String,
}

/// The files and numbers that a plan is made of; a process of a real run gets this.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanFiles {
    pub design: PlanFile,
    pub workload: PlanFile,
    pub hardware: PlanFile,
    /// Nodes of roles, where they are not as many as the design says.
    pub roles: BTreeMap<String, u32>,
    /// Disks a node, where they are not as many as the hardware says.
    pub disks: Option<u32>,
    pub seed: u64,
}

#[derive(Debug)]
pub struct Plan {
    pub design: Design,
    pub workload: Workload,
    pub hardware: Hardware,
    pub deployment: Deployment,
    pub seed: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    #[error("{}", .0.iter().map(Problem::to_string).collect::<Vec<_>>().join("\n"))]
    Files(Vec<Problem>),
    #[error("the design has no role `{role}` of which there can be several: --roles takes {known}")]
    NoSuchRole { role: String, known: String },
    #[error("{what} must be from 1 to {most}: take another number")]
    Count { what: String, most: u64 },
    #[error("{node}: {source}")]
    Disk { node: String, source: AllocationError },
    #[error(
        "the data do not fit: the store refused object {object} of {objects}; take more or larger disks, or less `data`"
    )]
    DataDoNotFit { object: u64, objects: u64 },
}

/// A node with its disks.
#[derive(Debug)]
pub struct Loaded {
    pub node: Node,
    pub disks: Vec<Device>,
}

impl Plan {
    pub const NODES_MAX: u64 = 1_000;

    /// # Errors
    /// All that is wrong with the files, or what does not go together.
    pub fn read(files: &PlanFiles) -> Result<Plan, PlanError> {
        let mut problems = Vec::new();
        let design = Design::load(&files.design.name, &files.design.text).map_err(|found| problems.extend(found)).ok();
        let workload =
            Workload::load(&files.workload.name, &files.workload.text).map_err(|found| problems.push(found)).ok();
        let hardware =
            Hardware::load(&files.hardware.name, &files.hardware.text).map_err(|found| problems.push(found)).ok();
        let (Some(design), Some(workload), Some(hardware)) = (design, workload, hardware) else {
            return Err(PlanError::Files(problems));
        };
        let counts = counts(&design, &files.roles)?;
        let disks = u64::from(files.disks.unwrap_or(hardware.disks));
        if !(1..=Hardware::DISKS_MAX).contains(&disks) {
            return Err(PlanError::Count { what: "disks a node".to_owned(), most: Hardware::DISKS_MAX });
        }
        let deployment = Deployment::new(&counts, disks as usize);
        Ok(Plan { design, workload, hardware, deployment, seed: files.seed })
    }

    /// The value of an object before the run.
    pub fn before(&self, key: Key) -> Option<Content> {
        (key.0 < self.workload.objects).then(|| value_of(OperationId(key.0), self.workload.size.0))
    }

    /// All nodes, with the data of the workload in them.
    ///
    /// # Errors
    /// A parameter that does not go with the deployment, or disks that are too small.
    pub fn nodes(&self) -> Result<Vec<Loaded>, PlanError> {
        let mut nodes = self.deployment.nodes().map(|node| self.empty(node)).collect::<Result<Vec<_>, _>>()?;
        for key in 0..self.workload.objects {
            let (operation, key) = (OperationId(key), Key(key));
            let message = request(operation, Asked::Put, key, self.before(key), self.workload.room());
            if load(&mut nodes, message) != Some(Answer::Stored) {
                return Err(PlanError::DataDoNotFit { object: key.0 + 1, objects: self.workload.objects });
            }
        }
        for device in nodes.iter_mut().flat_map(|node| &mut node.disks) {
            device.use_model(self.hardware.disk.clone(), self.hardware.scheduler);
        }
        Ok(nodes)
    }

    fn empty(&self, own: NodeId) -> Result<Loaded, PlanError> {
        let capacity = self.hardware.disk_capacity;
        let node =
            self.design.node(&self.deployment, own, capacity).map_err(|problem| PlanError::Files(vec![problem]))?;
        let requests = node.allocations();
        let device = |number| {
            let own: Vec<&DiskAlloc> = requests.iter().filter(|request| request.disk == number).collect();
            Device::new(number, capacity, &own)
        };
        let disks = (0..self.deployment.disks()).map(device).collect::<Result<Vec<_>, _>>();
        let disks = disks.map_err(|source| PlanError::Disk { node: self.deployment.name(own), source })?;
        Ok(Loaded { node, disks })
    }
}

fn counts(design: &Design, asked: &BTreeMap<String, u32>) -> Result<BTreeMap<String, u32>, PlanError> {
    let mut counts = design.counts();
    counts.remove(Deployment::CLIENT_ROLE);
    for (role, count) in asked {
        let known = counts.keys().cloned().collect::<Vec<_>>().join(", ");
        *counts.get_mut(role).ok_or_else(|| PlanError::NoSuchRole { role: role.clone(), known })? = *count;
    }
    let nodes: u64 = counts.values().map(|count| u64::from(*count)).sum();
    if nodes > Plan::NODES_MAX || counts.values().any(|count| *count == 0) {
        return Err(PlanError::Count {
            what: "the nodes of each role, and all together,".to_owned(),
            most: Plan::NODES_MAX,
        });
    }
    Ok(counts)
}

/// Runs one operation through all nodes, where nothing takes time.
fn load(nodes: &mut [Loaded], message: Message) -> Option<Answer> {
    let now = Instant::default();
    let operation = message.operation;
    let mut waiting = VecDeque::from([(Deployment::CLIENT, NodeInput::Message(message))]);
    let mut answer = None;
    while let Some((at, input)) = waiting.pop_front() {
        let Loaded { node, disks } = &mut nodes[at.0 as usize];
        node.handle(now, input);
        while let Some(output) = node.poll() {
            match output {
                NodeOutput::Send { to, message } => waiting.push_back((to, NodeInput::Message(message))),
                NodeOutput::Finished(message) => answer = answer.or(Some(message.answer.unwrap_or(Answer::Stored))),
                NodeOutput::Disk { disk, request } => {
                    disks[disk].submit(now, request);
                    let done = std::iter::from_fn(|| disks[disk].poll());
                    waiting.extend(done.map(|done| (at, NodeInput::Disk(done))));
                }
            }
        }
    }
    nodes[Deployment::CLIENT.0 as usize].node.handle(now, NodeInput::Forget(operation));
    answer
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_of_limits_has_these_values() {
        let limits = [
            ("Plan::NODES_MAX", Plan::NODES_MAX),
            ("Hardware::DISKS_MAX", Hardware::DISKS_MAX),
            ("Workload::OBJECTS_MAX", Workload::OBJECTS_MAX),
            ("Workload::OPERATIONS_MAX", Workload::OPERATIONS_MAX),
        ];
        for (name, value) in limits {
            let row = format!("| `emulator::{name}` | {value} |");
            assert!(include_str!("../../../docs/limits.md").contains(&row), "{row} is not on the page");
        }
    }
}
