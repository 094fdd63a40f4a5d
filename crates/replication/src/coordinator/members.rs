//! How the replicas answer, so that the slow path begins in time and the nearest one is read from.
//!
//! Nothing here decides an outcome.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use iolite_machine::Instant;
use iolite_values::Timestamp;

use crate::node::{Boot, Group, ReplicaId};
use crate::shards::ShardMap;

/// No answer comes sooner than that for sure, so the slow path is not begun within it.
pub const PATIENCE_MIN: Duration = Duration::from_millis(2);

/// An answer that took longer says that its replica was away, not how far it is.
pub const ROUND_TRIP_MAX: Duration = Duration::from_secs(1);

#[derive(Clone, Debug)]
pub(super) struct Members {
    members: BTreeMap<ReplicaId, Member>,
}

/// So many boots of a replica are told apart. A message of an earlier one, if it ever comes, only makes questions be asked once more.
const BOOTS_KNOWN: usize = 4;

#[derive(Clone, Debug, Default)]
struct Member {
    /// The latest last.
    boots: VecDeque<Boot>,
    /// A moving average.
    round_trip: Duration,
    /// It did not answer in time, and not since.
    is_late: bool,
    /// How far it follows clocks, as of its last message.
    limit: Timestamp,
}

impl Members {
    pub fn new(shards: &ShardMap) -> Members {
        let all = shards.groups().flat_map(|group| group.members());
        Members { members: all.map(|replica| (*replica, Member::default())).collect() }
    }

    /// Whether it has restarted since it was last heard of. A late message of an earlier boot says nothing of the kind.
    pub fn on_boot(&mut self, replica: ReplicaId, boot: Boot) -> bool {
        let known = &mut self.members.entry(replica).or_default().boots;
        if known.contains(&boot) {
            return false;
        }
        known.push_back(boot);
        if known.len() > BOOTS_KNOWN {
            known.pop_front();
        }
        known.len() > 1
    }

    pub fn on_answer(&mut self, replica: ReplicaId, asked_at: Instant, now: Instant) {
        let member = self.members.entry(replica).or_default();
        let took = now.since(asked_at).min(ROUND_TRIP_MAX);
        member.is_late = false;
        member.round_trip = match member.round_trip.is_zero() {
            true => took,
            false => (member.round_trip * 7 + took) / 8,
        };
    }

    pub fn set_limit(&mut self, replica: ReplicaId, limit: Timestamp) {
        self.members.entry(replica).or_default().limit = limit;
    }

    /// How far a majority of every shard follows clocks: a replica whose own clock is far off does not matter.
    pub fn limit(&self, shards: &ShardMap) -> Timestamp {
        let of_group = |group: &Group| {
            let limits = group
                .members()
                .iter()
                .map(|replica| self.members.get(replica).map_or(Timestamp::ZERO, |own| own.limit));
            let mut limits: Vec<Timestamp> = limits.collect();
            limits.sort_unstable();
            limits[limits.len() / 2]
        };
        shards.groups().map(of_group).min().unwrap_or_default()
    }

    pub fn on_silence(&mut self, replica: ReplicaId) {
        self.members.entry(replica).or_default().is_late = true;
    }

    pub fn is_late(&self, replica: ReplicaId) -> bool {
        self.members.get(&replica).is_some_and(|member| member.is_late)
    }

    pub fn round_trip(&self, replica: ReplicaId) -> Duration {
        self.members.get(&replica).map_or(Duration::ZERO, |member| member.round_trip)
    }

    /// The longest round trip to one that answers.
    pub fn farthest(&self) -> Duration {
        let in_time = self.members.values().filter(|member| !member.is_late);
        in_time.map(|member| member.round_trip).max().unwrap_or_default()
    }

    /// The nearest first; those that did not answer last.
    pub fn by_distance(&self, mut replicas: Vec<ReplicaId>) -> Vec<ReplicaId> {
        replicas.sort_by_key(|replica| (self.is_late(*replica), self.round_trip(*replica), *replica));
        replicas
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_was_away_for_long_is_not_taken_to_be_far_for_long() {
        let mut members = Members::new(&ShardMap::alone());
        let (replica, asked_at) = (ReplicaId::default(), Instant::from_nanos(0));
        let mut answers = |took| {
            members.on_answer(replica, asked_at, asked_at + took);
            members.round_trip(replica)
        };
        let usual = Duration::from_millis(10);
        answers(usual);
        assert_eq!(answers(Duration::from_secs(60)), (usual * 7 + ROUND_TRIP_MAX) / 8);
        assert!((0..20).map(|_| answers(usual)).last() < Some(usual * 2));
    }

    #[test]
    fn a_restart_is_told_once_however_late_messages_of_the_earlier_boot_come() {
        let mut members = Members::new(&ShardMap::alone());
        let replica = ReplicaId::default();
        let mut heard = |boot| members.on_boot(replica, Boot(boot));
        assert_eq!([7, 7, 3, 7, 3, 7].map(&mut heard), [false, false, true, false, false, false]);
        assert_eq!([10, 11, 12, 13].map(&mut heard), [true; 4], "each new one is a restart");
    }
}
