//! A replica's process: the replica, its journal and its disk.
//!
//! Syncs take time, and what the replica says leaves only when what it rests on is durable, as at the native host.

use iolite_engine::{
    CheckpointError, CrashFault, Durability, Incarnation, Journal, MemoryDisk, OpenError, Options, SyncError,
};
use iolite_machine::{Gate, Instant, Machine, Now, PersistId};
use iolite_replication::journal::JournalRecord;
use iolite_replication::node::{BetweenReplicas, Boot, FromReplica, Group, ReplicaId, Split};
use iolite_replication::{Extent, Replica, ReplicaInput, ReplicaOutput, ReplicaSettings, Retention};
use iolite_values::{Id, StoreIncarnation};

use super::checked::Checked;
use crate::broken::Broken;
use crate::history::History;
use crate::random::Random;

/// What a replica's process is, whatever its life.
#[derive(Clone, Debug)]
pub struct Place {
    pub id: ReplicaId,
    pub group: Group,
    /// The rows of its shard.
    pub extent: Extent,
    /// The split that made its shard, if one did.
    pub origin: Option<Split>,
    pub retention: Retention,
    pub broken: Broken,
    /// Whether an empty disk begins another history of the store. A cluster's history is not in one disk.
    pub is_alone: bool,
}

pub struct StoreNode {
    pub replica: Checked<Replica>,
    place: Place,
    journal: Journal<MemoryDisk>,
    gate: Gate<Said>,
    sync_is_running: bool,
    /// The group that it takes part in, as its disk has it.
    takes_part_in: Option<Group>,
    /// Likewise, when the sync that runs has ended.
    next_takes_part_in: Option<Group>,
}

/// What leaves a replica's process.
#[derive(Debug)]
pub enum Said {
    ToFront(FromReplica),
    ToPeer(BetweenReplicas),
}

/// Small, so that a run has many checkpoints and segments.
const CHECKPOINT_AFTER_BYTES: u64 = 1_000;
const SEGMENT_BYTES_MAX: u64 = 1_500;
const CHUNK_BYTES: usize = 600;

pub const OPTIONS: Options = Options { durability: Durability::Fsync, segment_bytes_max: SEGMENT_BYTES_MAX };

/// A disk that could not be opened, and as it is then.
#[derive(Debug)]
pub struct Refusal {
    pub error: OpenError,
    pub disk: MemoryDisk,
}

/// Whether a disk syncs now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiskSync {
    Idle,
    Begun,
}

impl StoreNode {
    /// Starts on a disk: an empty one, or what an earlier life left on it.
    ///
    /// # Errors
    /// The disk cannot be opened.
    pub fn start(
        place: &Place,
        mut disk: MemoryDisk,
        boot: u64,
        history: &mut History,
    ) -> Result<StoreNode, Box<Refusal>> {
        let new = Incarnation(if place.is_alone { history.stores.len() as u128 + 1 } else { 1 });
        let (journal, recovery) = match Journal::open(disk.clone(), OPTIONS, new) {
            Ok(opened) => opened,
            Err(error) => {
                // What a start that failed has written stays.
                drop(Journal::open(&mut disk, OPTIONS, new));
                return Err(Box::new(Refusal { error, disk }));
            }
        };
        let next = journal.position_of(PersistId(1));
        let store = StoreIncarnation(Id::from_u128(recovery.incarnation.0));
        history.recovered(store, (place.id, place.group.shard), next, &recovery.records);
        let broken = place.broken.of_replica();
        let Place { id, group, extent, origin, retention, .. } = place.clone();
        let settings = ReplicaSettings { id, group, extent, origin, store, boot: Boot(boot), retention, broken };
        let records = recovery.records.iter().map(|record| &record.bytes);
        let replica = Replica::recover(settings, &recovery.checkpoint_chunks, records).expect("its own records");
        let takes_part_in = taken_part_in(&replica);
        Ok(StoreNode {
            replica: Checked::new(replica),
            place: place.clone(),
            journal,
            gate: Gate::new(),
            sync_is_running: false,
            next_takes_part_in: takes_part_in.clone(),
            takes_part_in,
        })
    }

    /// What it answers an operator who asks for it: all that it has written is durable then.
    pub fn says_it_takes_part_in(&self, group: &Group) -> bool {
        self.takes_part_in.as_ref() == Some(group)
    }

    pub fn handle(&mut self, now: Now, input: ReplicaInput, history: &mut History) -> Vec<Said> {
        self.replica.handle(now, input);
        self.drain(history)
    }

    pub fn deadline(&self) -> Option<Instant> {
        self.replica.deadline()
    }

    pub fn on_deadline(&mut self, now: Now, history: &mut History) -> Vec<Said> {
        self.replica.on_deadline(now);
        self.drain(history)
    }

    /// Leaves the view for the next one.
    pub fn change_view(&mut self, now: Now, history: &mut History) -> Vec<Said> {
        self.replica.begin_view_change(now);
        self.drain(history)
    }

    fn drain(&mut self, history: &mut History) -> Vec<Said> {
        let mut leaving = Vec::new();
        while let Some(output) = self.replica.poll() {
            let (after, said) = match output {
                ReplicaOutput::Persist { id, record } => {
                    let own = self.journal.append(&record).expect("the disk works");
                    assert_eq!(id, own, "replica and journal count alike");
                    let record = JournalRecord::decode(&record).expect("its own record");
                    history.note_record(self.place.id, self.journal.position_of(own), record);
                    continue;
                }
                ReplicaOutput::Reply { after, message } => (after, Said::ToFront(message)),
                ReplicaOutput::ToPeer { after, message } => (after, Said::ToPeer(message)),
            };
            if self.place.broken == Broken::AcknowledgeBeforeFsync {
                leaving.push(said);
            } else {
                self.gate.hold(after, said);
            }
        }
        leaving.extend(std::iter::from_fn(|| self.gate.release()));
        leaving
    }

    /// Begins a sync if the disk is idle and something waits for one, as at the native host; for how long the rest may wait there does not matter
    /// here, since it may be lost anyway. It ends when the caller says so.
    ///
    /// # Errors
    /// The disk has failed: the process has to end.
    pub fn begin_sync(&mut self) -> Result<DiskSync, SyncError> {
        if self.sync_is_running || self.awaited() <= self.gate.persisted() {
            return Ok(DiskSync::Idle);
        }
        self.journal.flush()?;
        self.sync_is_running = true;
        self.next_takes_part_in = taken_part_in(&self.replica);
        Ok(DiskSync::Begun)
    }

    fn awaited(&self) -> PersistId {
        if self.place.broken == Broken::AcknowledgeBeforeFsync { self.journal.appended() } else { self.gate.awaited() }
    }

    /// # Errors
    /// As of [`StoreNode::begin_sync`].
    pub fn end_sync(&mut self, history: &mut History) -> Result<Vec<Said>, SyncError> {
        self.sync_is_running = false;
        let durable = self.journal.sync()?;
        history.note_durable(self.place.id, self.journal.position_of(durable));
        self.gate.advance(durable);
        self.takes_part_in = self.next_takes_part_in.clone();
        Ok(std::iter::from_fn(|| self.gate.release()).collect())
    }

    /// Does one step of a checkpoint, or begins one if it is due.
    ///
    /// # Errors
    /// As of [`StoreNode::begin_sync`].
    pub fn checkpoint_step(&mut self) -> Result<(), CheckpointError> {
        if !self.journal.checkpoint_is_running() {
            if self.journal.journal_bytes_since_checkpoint() > CHECKPOINT_AFTER_BYTES {
                self.replica.begin_checkpoint();
                self.journal.begin_checkpoint()?;
            }
            return Ok(());
        }
        match self.replica.next_chunk(CHUNK_BYTES) {
            Some(chunk) => self.journal.checkpoint_chunk(&chunk),
            None => self.journal.finish_checkpoint().map(drop),
        }
    }

    /// The process ends, and the disk suffers what `power_cut` draws.
    pub fn crash(self, power_cut: bool, random: &mut Random) -> MemoryDisk {
        let mut disk = self.journal.into_disk();
        let faults: &[CrashFault] = if power_cut { &CrashFault::ALL } else { &[] };
        disk.crash(faults, &mut |end| random.below(end));
        disk
    }

    pub fn disk_mut(&mut self) -> &mut MemoryDisk {
        self.journal.disk_mut()
    }

    pub fn disk(&self) -> &MemoryDisk {
        self.journal.disk()
    }

    pub fn validate(&mut self) {
        self.replica.validate();
    }
}

fn taken_part_in(replica: &Replica) -> Option<Group> {
    replica.takes_part().then(|| replica.group().clone())
}
