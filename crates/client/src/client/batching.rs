//! Rebase batching: what others did to a log is replayed in batches, so that the pending operations run again once a batch.
//!
//! Invariants: a batch is replayed to its end; nothing is said to be applied while entries wait. An own entry that is next is taken at once, because no
//! closure runs for it.
//! Source: Hercules (Lebeck 2020, section 3.4.5).

use std::collections::BTreeMap;
use std::time::Duration;

use iolite_machine::Instant;
use iolite_values::{LaneNumber, LogId};

use super::Client;
use super::logs::LogError;

/// The logs whose entries are replayed in batches, by their lanes.
#[derive(Debug, Default)]
pub(super) struct Batches(BTreeMap<LaneNumber, Batch>);

#[derive(Debug)]
struct Batch {
    every: Duration,
    stands: Stands,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stands {
    /// Everything that is here is replayed.
    Idle,
    /// Entries wait until then.
    Waiting(Instant),
    /// The batch is being replayed.
    Open,
}

impl Batches {
    /// Whether what others did is replayed now.
    pub(super) fn is_open(&self, lane: LaneNumber) -> bool {
        self.0.get(&lane).is_none_or(|batch| batch.stands == Stands::Open)
    }

    /// Everything that is here is replayed.
    pub(super) fn end(&mut self, lane: LaneNumber) {
        if let Some(batch) = self.0.get_mut(&lane) {
            batch.stands = Stands::Idle;
        }
    }

    /// The log begins anew: what is here does not wait.
    pub(super) fn open(&mut self, lane: LaneNumber) {
        if let Some(batch) = self.0.get_mut(&lane) {
            batch.stands = Stands::Open;
        }
    }

    pub(super) fn forget(&mut self, lane: LaneNumber) {
        self.0.remove(&lane);
    }

    /// Whether entries wait to be replayed.
    pub(super) fn hold_back(&self) -> bool {
        self.0.values().any(|batch| batch.stands != Stands::Idle)
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        let waiting = self.0.values().filter_map(|batch| match batch.stands {
            Stands::Waiting(until) => Some(until),
            Stands::Idle | Stands::Open => None,
        });
        waiting.min()
    }

    pub(super) fn on_due(&mut self, now: Instant) {
        for batch in self.0.values_mut() {
            if matches!(batch.stands, Stands::Waiting(until) if until <= now) {
                batch.stands = Stands::Open;
            }
        }
    }
}

impl Client {
    /// The longest time between two batches.
    pub const REBASE_EVERY_MAX: Duration = Duration::from_secs(10);

    /// Replays what others do to a log in batches: so much time is between two of them. Zero, as at first: each entry is replayed as it comes.
    ///
    /// Own operations that wait behind entries of others are confirmed with the batch, and other members wait so much longer for `delivered`.
    ///
    /// # Errors
    /// [`LogError::NotJoined`], [`LogError::BatchTooLong`].
    pub fn rebase_every(&mut self, log: &LogId, every: Duration) -> Result<(), LogError> {
        let lane = self.logs.lane(log).ok_or_else(|| LogError::NotJoined { log: log.name.to_string() })?;
        if every > Client::REBASE_EVERY_MAX {
            return Err(LogError::BatchTooLong { given: every, limit: Client::REBASE_EVERY_MAX });
        }
        if every.is_zero() {
            self.batches.forget(lane);
        } else {
            // What is here already does not wait: it may be the whole of a log that was just joined. In one that stands still nothing is to come.
            let is_stuck = self.logs.member(lane).is_some_and(|member| member.stuck().is_some());
            let stands = if is_stuck { Stands::Idle } else { Stands::Open };
            self.batches.0.insert(lane, Batch { every, stands });
        }
        Ok(())
    }

    /// Something has come: entries that are next wait for the end of their batch.
    pub(super) fn begin_batches(&mut self, now: Instant) {
        let idle = self.batches.0.iter().filter(|(_, batch)| batch.stands == Stands::Idle);
        let begun: Vec<LaneNumber> = idle.map(|(lane, _)| *lane).filter(|lane| self.has_next_entry(*lane)).collect();
        for lane in begun {
            if let Some(batch) = self.batches.0.get_mut(&lane) {
                batch.stands = Stands::Waiting(now + batch.every);
            }
        }
    }
}
