//! What happens behind the gateways: messages between coordinators and replicas, disks, restarts.

use iolite_engine::MemoryDisk;
use iolite_replication::ReplicaInput;
use iolite_replication::node::{Answer, FromReplica, ReplicaId, ToReplica};

use super::events::{Event, ServerEvent};
use super::frames::{decode, encode};
use super::store_node::{DiskSync, Place, Said, StoreNode};
use super::{Process, World};
use crate::faults::Fault;
use crate::history::Moment;
use crate::occasions::Occasion;

const MILLISECOND: Moment = 1_000_000;

/// A replica of the server, up or down.
pub struct Store {
    pub place: Place,
    pub process: Process<StoreNode, MemoryDisk>,
    pub boot: u64,
    /// By how much its wall clock is wrong, in microseconds.
    pub skew: i64,
}

impl Store {
    pub fn disk(&self) -> &MemoryDisk {
        match &self.process {
            Process::Up(node) => node.disk(),
            Process::Down(disk) => disk,
        }
    }
}

/// One of the server's processes, as an end of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum End {
    Front(usize),
    Replica(ReplicaId),
}

impl World {
    /// All of the server's processes.
    pub(super) fn ends(&self) -> Vec<End> {
        let fronts = (0..self.fronts.len()).map(End::Front);
        fronts.chain(self.stores.keys().map(|id| End::Replica(*id))).collect()
    }

    /// The replica, if it is up and does not stand still.
    pub(super) fn running(&mut self, id: ReplicaId) -> Option<&mut StoreNode> {
        if self.is_still(End::Replica(id)) {
            return None;
        }
        match &mut self.stores.get_mut(&id)?.process {
            Process::Up(node) => Some(node),
            Process::Down(_) => None,
        }
    }

    pub(super) fn on_server_event(&mut self, event: ServerEvent) {
        match event {
            ServerEvent::Leaves { front, life, to, message } if self.front_lives[front] == life => {
                self.carry_to_replica(front, to, &message);
            }
            ServerEvent::Leaves { .. } => {}
            ServerEvent::ToReplica { to, frame } => {
                self.replica_takes(to, ReplicaInput::FromCoordinator(decode(&frame)))
            }
            ServerEvent::Between { to, frame } => self.replica_takes(to, ReplicaInput::FromPeer(decode(&frame))),
            ServerEvent::ToFront { front, life, frame } => self.front_takes(front, life, decode(&frame)),
            ServerEvent::SyncEnds { replica, boot } => self.sync_ends(replica, boot),
            ServerEvent::Checkpoint => self.checkpoint(),
            ServerEvent::StartReplica(id) => self.start_replica(id),
            ServerEvent::StartFront(front) => self.start_front(front),
            ServerEvent::DiskHasRoom(id) => self.make_room(id),
            ServerEvent::GoesOn => {}
        }
    }

    pub(super) fn checkpoint(&mut self) {
        for id in self.stores.keys().copied().collect::<Vec<_>>() {
            if self.running(id).is_some_and(|node| node.checkpoint_step().is_err()) {
                self.disk_failed(id);
            }
        }
        self.follow_operators();
        let wait = self.random.between(1, 30) * MILLISECOND;
        self.events.add(self.moment + wait, Event::Server(ServerEvent::Checkpoint));
    }

    /// Disks begin to sync that are idle and have something to do.
    pub(super) fn begin_syncs(&mut self) {
        for id in self.stores.keys().copied().collect::<Vec<_>>() {
            match self.running(id).map(StoreNode::begin_sync) {
                None | Some(Ok(DiskSync::Idle)) => {}
                Some(Ok(DiskSync::Begun)) => {
                    let takes = self.random.between(50_000, self.roughness.sync_delay_ms * MILLISECOND);
                    let ends = ServerEvent::SyncEnds { replica: id, boot: self.stores[&id].boot };
                    self.events.add(self.moment + takes, Event::Server(ends));
                }
                Some(Err(_)) => self.disk_failed(id),
            }
        }
    }

    pub(super) fn send_to_replica(&mut self, front: usize, to: ReplicaId, message: &ToReplica) {
        let queue = self.needs.queue_ms(front) * MILLISECOND;
        if queue > 0 && !self.healing {
            let (life, message) = (self.front_lives[front], Box::new(message.clone()));
            let leaves = ServerEvent::Leaves { front, life, to, message };
            return self.events.add(self.moment + queue, Event::Server(leaves));
        }
        self.carry_to_replica(front, to, message);
    }

    fn carry_to_replica(&mut self, front: usize, to: ReplicaId, message: &ToReplica) {
        let frame = encode(message);
        for at in self.arrivals(End::Front(front), End::Replica(to)) {
            self.events.add(at, Event::Server(ServerEvent::ToReplica { to, frame: frame.clone() }));
        }
    }

    fn replica_takes(&mut self, id: ReplicaId, input: ReplicaInput) {
        let now = self.now_of_replica(id);
        if let Some(Store { process: Process::Up(store), .. }) = self.stores.get_mut(&id) {
            let said = store.handle(now, input, &mut self.history);
            self.send_said(said);
        }
    }

    pub(super) fn expire_replicas(&mut self) {
        for id in self.stores.keys().copied().collect::<Vec<_>>() {
            let now = self.now_of_replica(id);
            if self.is_still(End::Replica(id)) {
                continue;
            }
            let Some(Store { process: Process::Up(store), .. }) = self.stores.get_mut(&id) else { continue };
            if store.deadline().is_some_and(|at| at.as_nanos() <= self.moment) {
                let said = store.on_deadline(now, &mut self.history);
                self.send_said(said);
            }
        }
    }

    fn front_takes(&mut self, front: usize, life: u64, message: FromReplica) {
        let now = self.now_of_front(front);
        if let (Process::Up(node), true) = (&mut self.fronts[front], self.front_lives[front] == life) {
            let looked_through = matches!(&message.answer, Answer::Read(Ok(piece)) if piece.looked_through.is_some());
            self.occasions.add(Occasion::LookedThrough, u64::from(looked_through));
            node.answer(now, message);
        }
    }

    fn sync_ends(&mut self, id: ReplicaId, boot: u64) {
        if let Some(Store { process: Process::Up(store), boot: own, .. }) = self.stores.get_mut(&id)
            && *own == boot
        {
            match store.end_sync(&mut self.history) {
                Ok(said) => self.send_said(said),
                Err(_) => self.disk_failed(id),
            }
        }
    }

    pub(super) fn send_said(&mut self, said: Vec<Said>) {
        for said in said {
            match said {
                Said::ToFront(message) => {
                    let front = usize::from(message.to.number());
                    let life = self.front_lives[front];
                    let frame = encode(&message);
                    for at in self.arrivals(End::Replica(message.from), End::Front(front)) {
                        let frame = frame.clone();
                        self.events.add(at, Event::Server(ServerEvent::ToFront { front, life, frame }));
                    }
                }
                Said::ToPeer(message) => {
                    let (to, frame) = (message.to, encode(&message));
                    for at in self.arrivals(End::Replica(message.from), End::Replica(to)) {
                        self.events.add(at, Event::Server(ServerEvent::Between { to, frame: frame.clone() }));
                    }
                }
            }
        }
    }

    /// When a message within the server arrives: once, or never, or twice, or late.
    fn arrivals(&mut self, from: End, to: End) -> Vec<Moment> {
        let calm = self.healing;
        let is_cut = self.cuts.get(&(from, to)).is_some_and(|until| *until > self.moment);
        if !calm && is_cut {
            return Vec::new();
        }
        if !calm && self.random.chance(self.roughness.drop) {
            self.faults.add(Fault::Drop, 1);
            return Vec::new();
        }
        let mut arrivals = vec![self.server_arrival(calm)];
        if !calm && self.random.chance(self.roughness.duplicate) {
            self.faults.add(Fault::Duplicate, 1);
            arrivals.push(self.server_arrival(calm));
        }
        arrivals
    }

    fn server_arrival(&mut self, calm: bool) -> Moment {
        let at = self.moment + self.random.between(10_000, self.roughness.server_delay_ms * MILLISECOND);
        if !calm && self.random.chance(self.roughness.reorder) {
            self.faults.add(Fault::Reorder, 1);
            return at + self.random.between(1, 20 * self.roughness.server_delay_ms) * MILLISECOND;
        }
        at
    }
}
