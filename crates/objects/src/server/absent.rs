//! Devices that have lost their connection. One that stays away is marked as lost, and the objects of a node of the service begin anew elsewhere.
//!
//! Invariant: a node of the service stops serving before it is marked. It relies on its connection for [`crate::DEVICE_LEASE`] from when it last
//! asked; its server waits longer than that from when the connection ended.

use std::collections::BTreeMap;
use std::time::Duration;

use iolite_machine::Instant;
use iolite_values::NodeId;

use super::asking::Asked;
use super::{Server, TrackAsk};

/// How long a device may be away before it is taken for lost.
pub(super) const GONE_AFTER: Duration = Duration::from_secs(15);

#[derive(Debug, Default)]
pub(super) struct Absent {
    /// When each is taken for lost, and the number of its last connection.
    devices: BTreeMap<NodeId, (Instant, u64)>,
}

impl Absent {
    pub fn deadline(&self) -> Option<Instant> {
        self.devices.values().map(|(at, _)| *at).min()
    }

    pub fn came(&mut self, node: NodeId) {
        self.devices.remove(&node);
    }
}

impl Server {
    pub(super) fn went(&mut self, node: NodeId, connection: u64) {
        self.absent.devices.insert(node, (self.now.instant + GONE_AFTER, connection));
    }

    pub(super) fn absent_overdue(&mut self) {
        let is_late = |(_, (at, _)): &(&NodeId, &(Instant, u64))| *at <= self.now.instant;
        let late: Vec<(NodeId, u64)> =
            self.absent.devices.iter().filter(is_late).map(|(node, (_, connection))| (*node, *connection)).collect();
        for (device, connection) in late {
            self.absent.devices.remove(&device);
            self.ask(Asked::Nobody, TrackAsk::Gone { device, connection });
        }
    }
}
