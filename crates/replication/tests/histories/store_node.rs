//! A replica with its disk.

use std::time::Duration;

use iolite_machine::{Gate, Machine, Now};
use iolite_replication::node::{BetweenReplicas, Boot, FromReplica, Group, ReplicaId, Split};
use iolite_replication::{Broken, Extent, Replica, ReplicaInput, ReplicaOutput, ReplicaSettings, Retention};
use iolite_values::{Id, StoreIncarnation};

use super::checker::{self, Violation};
use super::disk::Disk;
use super::random::Random;

pub const STORE: StoreIncarnation = StoreIncarnation(Id::from_u128(7));

/// Whether answers wait for the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Host {
    WaitsForSync,
    DoesNotWait,
    /// Sometimes comes back without its disk, under its number.
    ComesBackEmpty,
}

pub enum Said {
    ToCoordinator(FromReplica),
    ToPeer(BetweenReplicas),
}

pub struct StoreNode {
    pub replica: Replica,
    pub disk: Disk,
    gate: Gate<Said>,
    host: Host,
    settings: ReplicaSettings,
    /// The group that it takes part in, as its disk has it. Operators are told of nothing else.
    takes_part_in: Option<Group>,
    pub clock_offset_micros: i64,
    /// Off until this step.
    pub down_until: u64,
}

impl StoreNode {
    /// A replica of a shard that has these rows.
    pub fn new(
        id: ReplicaId,
        (group, extent, origin): (Group, Extent, Option<Split>),
        broken: Broken,
        host: Host,
        clock_offset_micros: i64,
    ) -> StoreNode {
        let retention = Retention { age: Duration::from_secs(3), operations_max: 60 };
        let settings = ReplicaSettings { id, group, extent, origin, store: STORE, boot: Boot(1), retention, broken };
        let replica = Replica::new(settings.clone());
        StoreNode {
            takes_part_in: taken_part_in(&replica),
            replica,
            disk: Disk::default(),
            gate: Gate::new(),
            host,
            settings,
            clock_offset_micros,
            down_until: 0,
        }
    }

    pub fn handle(&mut self, now: Now, input: ReplicaInput) {
        self.replica.handle(now, input);
    }

    pub fn sync(&mut self) {
        self.gate.advance(self.disk.sync());
        self.takes_part_in = taken_part_in(&self.replica);
    }

    /// What it answers an operator who asks for it: all that it has written is durable then.
    pub fn says_it_takes_part_in(&self, group: &Group) -> bool {
        self.takes_part_in.as_ref() == Some(group)
    }

    /// What may leave now.
    pub fn said(&mut self) -> Vec<Said> {
        let mut said = Vec::new();
        while let Some(output) = self.replica.poll() {
            let (after, what) = match output {
                ReplicaOutput::Persist { id, record } => {
                    self.disk.append(id, record);
                    continue;
                }
                ReplicaOutput::Reply { after, message } => (after, Said::ToCoordinator(message)),
                ReplicaOutput::ToPeer { after, message } => (after, Said::ToPeer(message)),
            };
            match self.host {
                Host::WaitsForSync | Host::ComesBackEmpty => self.gate.hold(after, what),
                Host::DoesNotWait => said.push(what),
            }
        }
        said.extend(std::iter::from_fn(|| self.gate.release()));
        said
    }

    /// A step of a checkpoint. Says whether one was completed.
    pub fn checkpoint(&mut self, random: &mut Random) -> bool {
        if !self.disk.is_checkpointing() {
            self.disk.begin_checkpoint();
            self.replica.begin_checkpoint();
            return false;
        }
        let bytes_max = [1, 200, 2_000][random.index(3)];
        let chunk = self.replica.next_chunk(bytes_max);
        let is_complete = self.disk.take_chunk(chunk);
        if is_complete {
            self.sync();
        }
        is_complete
    }

    /// The process ends and starts again. Returns how many records were lost.
    pub fn crash(&mut self, random: &mut Random) -> Result<u64, Violation> {
        self.said();
        let unsynced = self.disk.unsynced();
        let kept = random.index(unsynced + 1);
        self.disk.crash(kept);
        self.gate = Gate::new();
        self.settings.boot.0 += 1;
        if self.host == Host::ComesBackEmpty && random.percent(50) {
            (self.disk, self.replica) = (Disk::default(), Replica::new(self.settings.clone()));
            self.takes_part_in = taken_part_in(&self.replica);
            return Ok(0);
        }
        let recovered =
            Replica::recover(self.settings.clone(), self.disk.chunks(), self.disk.records_since_checkpoint());
        let recovered = recovered.map_err(|error| Violation::Recovery(error.to_string()))?;
        let before = std::mem::replace(&mut self.replica, recovered);
        if kept == unsynced && self.settings.broken == Broken::Nothing {
            checker::check_same_state(before, &mut self.replica)?;
        }
        self.takes_part_in = taken_part_in(&self.replica);
        Ok((unsynced - kept) as u64)
    }
}

fn taken_part_in(replica: &Replica) -> Option<Group> {
    replica.takes_part().then(|| replica.group().clone())
}
