//! Where objects were when this node last heard of them. All references of a node share this, so what one learns all know.

use std::sync::Arc;

use iolite_values::{NodeId, ObjectEpoch, ObjectName};

use crate::limits::LOCATIONS_MAX;
use crate::table::Table;

#[derive(Debug, Default)]
pub(super) struct Locations {
    places: Table<ObjectName, (NodeId, ObjectEpoch)>,
    /// The managers of objects, in their canonical text.
    managers: Table<ObjectName, Arc<str>>,
}

impl Locations {
    pub fn of(&self, object: &ObjectName) -> Option<(NodeId, ObjectEpoch)> {
        self.places.get(object).copied()
    }

    /// Takes note of a place, unless a later one is known.
    pub fn learn(&mut self, object: &ObjectName, at: NodeId, epoch: ObjectEpoch) {
        if self.of(object).is_some_and(|(_, known)| known > epoch) {
            return;
        }
        // Asking tracking anew for all of them is seldom, and simpler than knowing which of them is used.
        if self.places.len() >= LOCATIONS_MAX && !self.places.contains_key(object) {
            self.places.clear();
            self.managers.clear();
        }
        self.places.insert(object.clone(), (at, epoch));
    }

    pub fn managers(&self, object: &ObjectName) -> Option<Arc<str>> {
        self.managers.get(object).cloned()
    }

    pub fn learn_managers(&mut self, object: &ObjectName, managers: &str) {
        if self.managers.get(object).is_none_or(|known| **known != *managers) {
            self.managers.insert(object.clone(), managers.into());
        }
    }

    #[cfg(test)]
    fn len(&self) -> usize {
        self.places.len()
    }

    pub fn forget(&mut self, object: &ObjectName) {
        self.places.remove(object);
    }
}

#[cfg(test)]
mod tests {
    use iolite_values::{Id, NodeLife, NodeName};

    use super::*;

    #[test]
    fn so_many_places_are_remembered_and_an_older_one_never_replaces_a_later_one() {
        let at = |device| NodeId { name: NodeName::Device(Id::from_u128(device)), life: NodeLife(1) };
        let name = |number: usize| ObjectName::new("A", &number.to_string()).expect("a name");
        let mut locations = Locations::default();
        for number in 0..LOCATIONS_MAX {
            locations.learn(&name(number), at(1), ObjectEpoch(2));
        }
        locations.learn(&name(0), at(2), ObjectEpoch(1));
        assert_eq!(locations.of(&name(0)), Some((at(1), ObjectEpoch(2))));
        assert_eq!(locations.len(), LOCATIONS_MAX);
        locations.learn(&name(LOCATIONS_MAX), at(1), ObjectEpoch(1));
        assert_eq!(locations.len(), 1, "all others are asked for anew");
    }
}
