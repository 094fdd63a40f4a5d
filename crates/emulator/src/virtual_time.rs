//! The virtual clock: all nodes in one thread, and the queues of disks, links and processors simulated.
//!
//! Invariant: events happen in the order of time, and of their making among equals; one plan, seed and roughness give one trace.

mod world;

use iolite_machine::Instant;

use crate::disk::DiskCounts;
use crate::engine::NodeId;
use crate::plan::{Plan, PlanError};
use crate::quantity::Span;
use crate::workload::Recorded;

use world::World;

/// Faults that a run gets on purpose.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Roughness {
    /// Each message takes up to so much longer. Two nodes keep the order of their messages; pairs overtake each other.
    pub delay: Span,
    /// Nodes that stop, and when.
    pub stops: Vec<(NodeId, Span)>,
}

/// The outcome of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct VirtualRun {
    pub history: Vec<Recorded>,
    /// The counts of each node's disks.
    pub disks: Vec<Vec<DiskCounts>>,
    /// For each node, the time that its processors and its link to the others were busy.
    pub processors: Vec<Span>,
    pub links: Vec<Span>,
    pub end: Instant,
    /// The digest of all that happened.
    pub digest: [u8; 32],
}

/// Runs a plan from the first operation to the last answer.
///
/// # Errors
/// What keeps the plan from starting.
pub fn run(plan: &Plan, roughness: &Roughness) -> Result<VirtualRun, PlanError> {
    let nodes = plan.nodes()?;
    Ok(World::new(plan, nodes, roughness).run())
}

#[cfg(test)]
mod tests;
