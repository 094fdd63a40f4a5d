//! How the replicas answer, so that the slow path begins in time and the nearest one is read from.
//!
//! Nothing here decides an outcome.

use std::collections::BTreeMap;
use std::time::Duration;

use iolite_machine::Instant;
use iolite_values::Timestamp;

use crate::node::{Boot, Group, ReplicaId};
use crate::shards::ShardMap;

/// No answer comes sooner than that for sure, so the slow path is not begun within it.
pub const PATIENCE_MIN: Duration = Duration::from_millis(2);

#[derive(Clone, Debug)]
pub(super) struct Members {
    members: BTreeMap<ReplicaId, Member>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Member {
    boot: Option<Boot>,
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

    /// Whether it has restarted since it was last heard of.
    pub fn on_boot(&mut self, replica: ReplicaId, boot: Boot) -> bool {
        let member = self.members.entry(replica).or_default();
        let before = member.boot.replace(boot);
        before.is_some_and(|before| before != boot)
    }

    pub fn on_answer(&mut self, replica: ReplicaId, asked_at: Instant, now: Instant) {
        let member = self.members.entry(replica).or_default();
        let took = now.since(asked_at);
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

    /// The nearest first; those that did not answer last.
    pub fn by_distance(&self, mut replicas: Vec<ReplicaId>) -> Vec<ReplicaId> {
        replicas.sort_by_key(|replica| (self.is_late(*replica), self.round_trip(*replica), *replica));
        replicas
    }
}
