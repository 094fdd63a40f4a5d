//! Designs: files that say which modules each role runs for each message, checked whole when they are loaded.
//!
//! Invariant: a design that loads never meets, while it runs, a message without a handler, a result without an edge, or a module without what it
//! takes.

mod graph;
mod kept;
mod loading;
mod ports;

use std::collections::BTreeMap;
use std::rc::Rc;

pub use kept::{BROKEN, Broken, DESIGNS, Kept};

use crate::engine::{Deployment, Kinds, Node, NodeId, Program};
use crate::file::{Problem, Section};
use crate::modules::{Entry, Site};
use crate::quantity::Bytes;

/// The promise of a design to its clients; the judge holds it to that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Promise {
    /// Each operation takes effect at one moment between its start and its end.
    Linearizable,
    /// A get gives the latest write that was acknowledged before it began, or one that was not yet.
    ReadLatest,
}

impl Promise {
    const NAMES: &[(&str, Promise)] =
        &[("linearizable", Promise::Linearizable), ("read-latest-acknowledged", Promise::ReadLatest)];

    pub fn name(self) -> &'static str {
        Promise::NAMES.iter().find(|(_, promise)| *promise == self).expect("each promise has a name").0
    }
}

/// A module of a role, before it is built.
#[derive(Debug)]
struct Planned {
    entry: &'static Entry,
    /// The parameters of the step.
    section: Section,
}

#[derive(Debug)]
struct Role {
    count: u32,
    modules: Vec<Planned>,
    program: Program,
}

#[derive(Debug)]
pub struct Design {
    pub name: String,
    pub about: String,
    pub promise: Promise,
    /// How the design behaves when a node is lost.
    pub survives: String,
    kinds: Kinds,
    roles: BTreeMap<String, Role>,
    global: Rc<Section>,
}

impl Design {
    /// Reads and checks a design.
    ///
    /// # Errors
    /// All that is wrong with it, in the order of lines.
    pub fn load(file: &str, text: &str) -> Result<Design, Vec<Problem>> {
        loading::load(file, text)
    }

    /// How many nodes of each role the file asks for.
    pub fn counts(&self) -> BTreeMap<String, u32> {
        self.roles.iter().map(|(role, planned)| (role.clone(), planned.count)).collect()
    }

    pub fn kinds(&self) -> &Kinds {
        &self.kinds
    }

    /// The modules of each role, by name.
    pub fn modules(&self) -> impl Iterator<Item = (&str, &'static str)> {
        let of = |(role, planned): (_, &Role)| {
            planned.modules.iter().map(move |module| (role, module.entry.name)).collect::<Vec<_>>()
        };
        self.roles.iter().map(|(role, planned)| (role.as_str(), planned)).flat_map(of)
    }

    /// A node, with empty modules.
    ///
    /// # Errors
    /// A parameter that does not go with this deployment.
    pub fn node(&self, deployment: &Deployment, own: NodeId, disk_capacity: Bytes) -> Result<Node, Problem> {
        let role = self.roles.get(&deployment.place(own).role).expect("a deployment is of a design's roles");
        let site = Site { deployment, own, kinds: &self.kinds, disk_capacity };
        let build = |planned: &Planned| (planned.entry.build)(&planned.section, &site);
        let modules = role.modules.iter().map(build).collect::<Result<Vec<_>, Problem>>()?;
        Ok(Node::new(own, role.program.clone(), modules))
    }
}

#[cfg(test)]
mod tests;
