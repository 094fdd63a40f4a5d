//! The replica: validates, decides, keeps and shows what commits. At f = 0 its word is the group's.
//!
//! Invariants:
//! - nothing commits at or below the barrier, and the barrier never passes the ceiling that is in the journal;
//! - commit timestamps are unique;
//! - a transaction has one completion record, which comes with its effect, and is kept until its client acknowledges it;
//! - what an answer tells is durable before it leaves.
//!
//! Source: TAPIR (TOCS 2018) sections 3 and 5, with the strict validation rule instead of its Figure 9. docs/protocols/replica.md has the
//! states, the rules and the reasons.

mod attempts;
mod ceiling;
mod checkpoint;
mod clients;
mod close;
mod lists;
mod outgoing;
mod prepare;
mod record;
mod recover;
mod types;
mod validate;

use std::collections::{BTreeMap, VecDeque};

use iolite_machine::{Instant, Machine, Now, PersistId};
use iolite_store::{ReadLimit, Refusal};
use iolite_values::{ClientId, Counter, Interest, StoreIncarnation, Timestamp};

use crate::broken::Broken;
use crate::journal::JournalRecord;
use crate::messages::{Answer, Ask, Boot, FromReplica, ToReplica};
use crate::versions::{Retention, Versions};

pub use attempts::ATTEMPTS_MAX;
use attempts::Attempts;
pub use ceiling::{CEILING_AHEAD, CLOCK_LEAD_MAX, PROPOSAL_LEAD_MAX};
use checkpoint::Checkpoint;
use clients::Clients;
pub use close::CLOSED_WRITES_MAX;
pub use recover::RecoverError;

/// What a replica is started with.
#[derive(Clone, Copy, Debug)]
pub struct ReplicaSettings {
    pub store: StoreIncarnation,
    pub boot: Boot,
    pub retention: Retention,
    /// [`Broken::Nothing`] outside simulations and tests.
    pub broken: Broken,
}

/// What a replica asks of its host. The host writes records in the order in which they come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReplicaOutput {
    /// Append this record (a [`JournalRecord`], encoded); `id` is its place among the records since the start, from 1.
    Persist { id: PersistId, record: Vec<u8> },
    /// Send this once everything up to `after` is durable.
    Reply { after: PersistId, message: FromReplica },
}

/// One replica of a shard.
#[derive(Debug)]
pub struct Replica {
    settings: ReplicaSettings,
    versions: Versions,
    clients: Clients,
    attempts: Attempts,
    /// Nothing commits at or below this any more.
    barrier: Timestamp,
    /// Everything at or below the barrier, and the barrier itself, is durable when this is.
    barrier_after: PersistId,
    /// Commits above the barrier, and their records.
    open_commits: BTreeMap<Timestamp, PersistId>,
    ceiling: Timestamp,
    /// The highest timestamp at which something that was read was found true, or something was aborted.
    reads_through: Timestamp,
    /// The last record that was handed out.
    persisted: PersistId,
    checkpoint: Option<Checkpoint>,
    outputs: VecDeque<ReplicaOutput>,
}

/// How many old commits are forgotten for each message, at most: more than one message adds, so that it catches up, and few enough to stay
/// unnoticed.
pub const COLLECTED_EACH_TIME: usize = 64;

impl Replica {
    /// A replica with an empty store.
    pub fn new(settings: ReplicaSettings) -> Replica {
        Replica {
            settings,
            versions: Versions::default(),
            clients: Clients::default(),
            attempts: Attempts::default(),
            barrier: Timestamp::ZERO,
            barrier_after: PersistId::START,
            open_commits: BTreeMap::new(),
            ceiling: Timestamp::ZERO,
            reads_through: Timestamp::ZERO,
            persisted: PersistId::START,
            checkpoint: None,
            outputs: VecDeque::new(),
        }
    }

    /// Nothing commits at or below this any more.
    pub fn resolved(&self) -> Timestamp {
        self.barrier
    }

    /// Below this nothing can be read any more.
    pub fn low_watermark(&self) -> Timestamp {
        self.versions.low_watermark()
    }

    /// The rows with their history, for checkers.
    pub fn versions(&self) -> &Versions {
        &self.versions
    }

    /// The highest timestamp of anything here.
    fn highest(&self) -> Timestamp {
        let last_commit = self.versions.last_commit().unwrap_or_default();
        self.barrier.max(self.reads_through).max(last_commit)
    }

    fn on_open(&mut self) -> (PersistId, Answer) {
        (self.barrier_after, Answer::Opened { resolved: self.barrier })
    }

    fn on_read_at(&mut self, interest: &Interest, at: Timestamp, limit: ReadLimit) -> (PersistId, Answer) {
        let answer = match self.check_resolved(at) {
            Ok(()) => Answer::Read(self.versions.read_at(interest, at, limit)),
            Err(refusal) => Answer::Refused(refusal),
        };
        (self.barrier_after, answer)
    }

    fn on_changes(&mut self, interests: &[Interest], after: Timestamp, through: Timestamp) -> (PersistId, Answer) {
        let answer = match self.check_resolved(through) {
            Ok(()) => Answer::Changes(self.versions.changes(interests, after, through)),
            Err(refusal) => Answer::Refused(refusal),
        };
        (self.barrier_after, answer)
    }

    fn on_acknowledge(&mut self, client: ClientId, through: Counter) -> (PersistId, Answer) {
        if self.clients.acknowledge(client, through) {
            self.attempts.forget_through(client, through);
            self.persist(&JournalRecord::Acknowledged { client, through });
        }
        (self.persisted, Answer::Acknowledged)
    }

    fn check_resolved(&self, asked: Timestamp) -> Result<(), Refusal> {
        if asked <= self.barrier { Ok(()) } else { Err(Refusal::NotResolved { asked, resolved: self.barrier }) }
    }
}

impl Machine for Replica {
    type Input = ToReplica;
    type Output = ReplicaOutput;

    fn handle(&mut self, now: Now, input: ToReplica) {
        let ToReplica { from, id, store, ask } = input;
        if ask != Ask::Open && store != Some(self.settings.store) {
            return self.reply(now, from, id, PersistId::START, Answer::WrongStore);
        }
        let (after, answer) = match ask {
            Ask::Open => self.on_open(),
            Ask::Prepare { transaction, at } => self.on_prepare(now, &transaction, at),
            Ask::Close { through, cursor } => self.on_close(now, through, cursor),
            Ask::ReadAt { interest, at, limit } => self.on_read_at(&interest, at, limit),
            Ask::Changes { interests, after, through } => self.on_changes(&interests, after, through),
            Ask::Acknowledge { client, through } => self.on_acknowledge(client, through),
        };
        if !self.is_writing_commits() {
            self.versions.collect(self.settings.retention, self.barrier, COLLECTED_EACH_TIME);
        }
        self.reply(now, from, id, after, answer);
    }

    fn poll(&mut self) -> Option<ReplicaOutput> {
        self.outputs.pop_front()
    }

    /// A replica of one waits for nothing.
    fn deadline(&self) -> Option<Instant> {
        None
    }

    fn on_deadline(&mut self, _now: Now) {}

    fn validate(&self) {
        self.versions.validate();
        self.clients.validate();
        assert!(self.barrier <= self.ceiling, "the barrier passed the ceiling");
        assert!(self.versions.low_watermark() <= self.barrier, "history was forgotten that is not resolved");
        assert!(self.barrier_after <= self.persisted, "the barrier waits for a record that was not handed out");
        for (at, id) in &self.open_commits {
            assert!(*at > self.barrier, "a commit at or below the barrier is still open");
            assert!(self.versions.has_commit_at(*at), "an open commit is not in the log");
            assert!(*id <= self.persisted, "an open commit waits for a record that was not handed out");
        }
        let last = self.versions.last_commit().filter(|last| *last > self.barrier);
        assert_eq!(self.open_commits.keys().next_back().copied(), last, "the last commit above the barrier is open");
    }
}

#[cfg(test)]
mod tests;
