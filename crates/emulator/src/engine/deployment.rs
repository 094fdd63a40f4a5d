//! The nodes of a run, and the role of each.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct NodeId(pub u32);

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    pub role: String,
    /// From 1 on, among the nodes of its role.
    pub number: u32,
}

/// All nodes; the client is the first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deployment {
    places: Vec<Place>,
    disks: usize,
}

impl Deployment {
    pub const CLIENT: NodeId = NodeId(0);
    pub const CLIENT_ROLE: &str = "client";

    /// One client, so many nodes of each other role, and so many disks in each node.
    pub fn new(counts: &BTreeMap<String, u32>, disks: usize) -> Deployment {
        let client = Place { role: Deployment::CLIENT_ROLE.to_owned(), number: 1 };
        let others = counts.iter().filter(|(role, _)| *role != Deployment::CLIENT_ROLE);
        let others = others.flat_map(|(role, count)| (1..=*count).map(|number| Place { role: role.clone(), number }));
        Deployment { places: std::iter::once(client).chain(others).collect(), disks }
    }

    pub fn nodes(&self) -> impl Iterator<Item = NodeId> + use<> {
        (0..self.places.len() as u32).map(NodeId)
    }

    pub fn place(&self, node: NodeId) -> &Place {
        &self.places[node.0 as usize]
    }

    pub fn of(&self, role: &str) -> Vec<NodeId> {
        self.nodes().filter(|node| self.place(*node).role == role).collect()
    }

    pub fn disks(&self) -> usize {
        self.disks
    }

    /// As people write it: `store-2`.
    pub fn name(&self, node: NodeId) -> String {
        let Place { role, number } = self.place(node);
        format!("{role}-{number}")
    }

    pub fn named(&self, name: &str) -> Option<NodeId> {
        self.nodes().find(|node| self.name(*node) == name)
    }
}
