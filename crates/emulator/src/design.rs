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

use crate::engine::{Deployment, Kinds, Node, Program};
use crate::file::{Problem, Section};
use crate::modules::{Entry, Site};
use crate::quantity::Span;

/// The promise of a design to its clients; the judge holds it to that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Promise {
    /// Each operation takes effect at one moment between its start and its end.
    Linearizable,
    /// A get gives the latest write that was acknowledged before it began, or one that was not yet.
    ReadLatest,
    /// Each session sees its own operations in order, and what it sees comes after all that its writer had seen.
    Causal,
    /// A get gives a write that nothing followed which was acknowledged so long before.
    BoundedStaleness(Span),
    /// A get gives the latest write that was acknowledged, or says that there is none: for caches.
    MissAllowed,
}

impl Promise {
    const NAMES: &[&str] = &["linearizable", "read-latest-acknowledged", "causal", "bounded-staleness", "miss-allowed"];

    pub fn name(self) -> &'static str {
        match self {
            Promise::Linearizable => Promise::NAMES[0],
            Promise::ReadLatest => Promise::NAMES[1],
            Promise::Causal => Promise::NAMES[2],
            Promise::BoundedStaleness(_) => Promise::NAMES[3],
            Promise::MissAllowed => Promise::NAMES[4],
        }
    }

    fn read(root: &Section) -> Result<Promise, Problem> {
        Ok(match root.choice("consistency", Promise::NAMES, None)? {
            0 => Promise::Linearizable,
            1 => Promise::ReadLatest,
            2 => Promise::Causal,
            3 => Promise::BoundedStaleness(root.span("staleness")?),
            _ => Promise::MissAllowed,
        })
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
        Design::load_with(file, text, &BTreeMap::new())
    }

    /// Reads and checks a design, with other values for some of its global parameters.
    ///
    /// # Errors
    /// All that is wrong with it, in the order of lines.
    pub fn load_with(file: &str, text: &str, parameters: &BTreeMap<String, String>) -> Result<Design, Vec<Problem>> {
        loading::load(file, text, parameters)
    }

    /// The names of the parameters in `[global]`.
    pub fn parameters(&self) -> impl Iterator<Item = &str> {
        self.global.keys()
    }

    /// The roles of which a node has parts of disks.
    ///
    /// # Errors
    /// A parameter that does not go with the deployment of the file.
    pub fn roles_with_disks(&self) -> Result<Vec<String>, Problem> {
        let deployment = Deployment::new(&self.counts(), 8);
        let mut with = Vec::new();
        for role in self.roles.keys() {
            let site = loading::usual_site(self, &deployment, role);
            if !self.node(&site)?.allocations().is_empty() {
                with.push(role.clone());
            }
        }
        Ok(with)
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
    pub fn node(&self, site: &Site<'_>) -> Result<Node, Problem> {
        let role = self.roles.get(&site.deployment.place(site.own).role).expect("a deployment is of a design's roles");
        let build = |planned: &Planned| (planned.entry.build)(&planned.section, site);
        let modules = role.modules.iter().map(build).collect::<Result<Vec<_>, Problem>>()?;
        Ok(Node::new(site.own, role.program.clone(), modules))
    }
}

#[cfg(test)]
mod tests;
