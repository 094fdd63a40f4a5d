//! Disks that are full for a while.
//!
//! Invariant: a process whose disk fails ends, and says nothing that rests on what it could not sync.

use iolite_engine::OpenError;
use iolite_replication::node::ReplicaId;

use super::events::{Event, ServerEvent};
use super::store_node::Refusal;
use super::{Process, World};
use crate::faults::Fault;
use crate::history::Moment;

const MILLISECOND: Moment = 1_000_000;

impl World {
    /// Little more fits on a replica's disk, for a while.
    pub(super) fn fill_disk(&mut self) {
        let ids: Vec<ReplicaId> = self.stores.keys().copied().collect();
        let id = ids[self.random.below(ids.len() as u64) as usize];
        let (room, until) = (self.random.below(1_500), self.moment + self.random.between(50, 3_000) * MILLISECOND);
        if let Some(node) = self.running(id) {
            node.disk_mut().fill_up_to(room);
            self.events.add(until, Event::Server(ServerEvent::DiskHasRoom(id)));
        }
    }

    pub(super) fn make_room(&mut self, id: ReplicaId) {
        match self.stores.get_mut(&id).map(|store| &mut store.process) {
            Some(Process::Up(node)) => node.disk_mut().make_room(),
            Some(Process::Down(disk)) => disk.make_room(),
            None => {}
        }
    }

    /// A replica whose disk is full ends at once, and starts again later. The embedded server is one process.
    pub(super) fn disk_failed(&mut self, id: ReplicaId) {
        self.faults.add(Fault::DiskFull, 1);
        let down = self.random.between(1, 400) * MILLISECOND;
        self.crash_replica(id, false, false, down);
        if self.topology.is_alone() {
            (0..self.fronts.len()).for_each(|front| self.stop_front(front, down));
        }
    }

    /// A replica could not open its disk, which is full: it tries again.
    ///
    /// # Panics
    /// When there is any other reason.
    pub(super) fn refused(&mut self, id: ReplicaId, refusal: Refusal) {
        let Refusal { error, disk } = refusal;
        assert!(matches!(error, OpenError::Disk(_)), "no synced byte was harmed: {error}");
        self.faults.add(Fault::DiskFull, 1);
        if let Some(store) = self.stores.get_mut(&id) {
            store.process = Process::Down(disk);
        }
        let at = self.moment + self.random.between(50, 400) * MILLISECOND;
        self.events.add(at, Event::Server(ServerEvent::StartReplica(id)));
    }
}
