//! Disks that are full for a while, and disks on which a bit changes by itself.
//!
//! Invariants:
//! - a process whose disk fails ends, and says nothing that rests on what it could not sync;
//! - a changed bit is noticed at the start, and the disk left as it is; or everything that was durable is read as it was written.
//!   (A bit of the last synced batch, whose mark a power cut took, cannot be told from a torn end: docs/protocols/journal.md. Such a bit stays.)

use iolite_engine::{Incarnation, Journal, OpenError};
use iolite_machine::PersistId;
use iolite_replication::node::{Group, ReplicaId};

use super::events::{Event, ServerEvent};
use super::operators::Operators;
use super::store_node::{OPTIONS, Refusal};
use super::{Process, World};
use crate::faults::Fault;
use crate::history::{Moment, Noticed};
use crate::occasions::Occasion;

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
        self.fronts_with(id).into_iter().for_each(|front| self.stop_front(front, down));
    }

    /// A bit of a disk may have changed while its process was down. Says whether the replica may start: one that would not is replaced, if its group
    /// bears it and has operators who do that; otherwise it starts later, from a copy.
    pub(super) fn survives_rot(&mut self, id: ReplicaId) -> bool {
        let Some(Process::Down(intact)) = self.stores.get(&id).map(|store| &store.process) else { return true };
        if self.healing || !self.random.chance(self.roughness.bit_rot) {
            return true;
        }
        let mut rotten = intact.clone();
        rotten.make_room();
        let random = &mut self.random;
        if rotten.flip_bit(&mut |end| random.below(end)).is_none() {
            return true;
        }
        let before = rotten.files();
        match Journal::open(&mut rotten, OPTIONS, Incarnation(0)) {
            Ok((journal, found)) => {
                let next = journal.position_of(PersistId(1));
                let is_whole = self.history.check_journal(id, next, &found.records) == Noticed::Whole;
                self.faults.add(Fault::BitRot, u64::from(is_whole));
                return true;
            }
            Err(error) => assert!(!matches!(error, OpenError::Disk(_)), "it has room: {error}"),
        }
        assert_eq!(rotten.files(), before, "what is refused is left as it is");
        self.faults.add(Fault::BitRot, 1);
        self.occasions.add(Occasion::DamageRefused, 1);
        let shard = self.stores.get(&id).map(|store| store.place.group.shard);
        let group = shard.filter(|shard| self.map.group(*shard).is_some()).map(|shard| self.latest_group(shard));
        // Before a majority takes part in an epoch, the replicas of the one before are needed as well, and some of these may be lost.
        let has_begun = |group: &Group| self.taking_part(group) > group.members().len() / 2;
        let bears = |group: Group| group.contains(id) && has_begun(&group) && self.bears_another_loss(&group);
        let bears = group.is_some_and(bears);
        if self.operating.kind == Operators::Replace && bears {
            self.lose_disk(id);
        } else {
            let at = self.moment + self.random.between(100, 1_000) * MILLISECOND;
            self.events.add(at, Event::Server(ServerEvent::StartReplica(id)));
        }
        false
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
