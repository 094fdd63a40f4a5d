//! Where objects were when this node last heard of them. All references of a node share this, so what one learns all know.

use std::collections::BTreeMap;

use iolite_values::{NodeId, ObjectEpoch, ObjectName};

use crate::limits::LOCATIONS_MAX;

#[derive(Debug, Default)]
pub(super) struct Locations(BTreeMap<ObjectName, (NodeId, ObjectEpoch)>);

impl Locations {
    pub fn of(&self, object: &ObjectName) -> Option<(NodeId, ObjectEpoch)> {
        self.0.get(object).copied()
    }

    /// Takes note of a place, unless a later one is known.
    pub fn learn(&mut self, object: &ObjectName, at: NodeId, epoch: ObjectEpoch) {
        if self.of(object).is_some_and(|(_, known)| known > epoch) {
            return;
        }
        // Asking tracking anew for all of them is seldom, and simpler than knowing which of them is used.
        if self.0.len() >= LOCATIONS_MAX && !self.0.contains_key(object) {
            self.0.clear();
        }
        self.0.insert(object.clone(), (at, epoch));
    }

    #[cfg(test)]
    fn len(&self) -> usize {
        self.0.len()
    }

    pub fn forget(&mut self, object: &ObjectName) {
        self.0.remove(object);
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
