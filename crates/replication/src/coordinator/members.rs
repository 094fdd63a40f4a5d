//! How the replicas answer, so that the slow path begins in time and the nearest one is read from.
//!
//! Invariant: large reads wait at a replica for those before them, so how long they take says only how far it is at most, and nothing of when its vote will come.
//! Nothing here decides an outcome.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use iolite_machine::Instant;
use iolite_values::Timestamp;

use crate::node::{Ask, Boot, Group, ReplicaId};
use crate::reads::may_be_much;
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

/// What a replica is asked to do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Work {
    /// What may be much.
    Reading,
    Rest,
}

impl Work {
    pub fn of(ask: &Ask) -> Work {
        if may_be_much(ask) { Work::Reading } else { Work::Rest }
    }
}

/// How it answers.
#[derive(Clone, Debug, Default)]
struct Pace {
    /// A moving average.
    round_trip: Duration,
    /// It did not answer in time, and nothing since.
    is_late: bool,
}

#[derive(Clone, Debug, Default)]
struct Member {
    /// The latest last.
    boots: VecDeque<Boot>,
    /// Of all but large reads.
    pace: Pace,
    of_reads: Pace,
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

    pub fn on_answer(&mut self, replica: ReplicaId, work: Work, asked_at: Instant, now: Instant) {
        let member = self.members.entry(replica).or_default();
        let took = now.since(asked_at).min(ROUND_TRIP_MAX);
        (member.pace.is_late, member.of_reads.is_late) = (false, false);
        let own = &mut member.pace_of(work).round_trip;
        *own = if own.is_zero() { took } else { (*own * 7 + took) / 8 };
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

    pub fn on_silence(&mut self, replica: ReplicaId, work: Work) {
        self.members.entry(replica).or_default().pace_of(work).is_late = true;
    }

    /// Whether it is with all but large reads.
    pub fn is_late(&self, replica: ReplicaId) -> bool {
        self.members.get(&replica).is_some_and(|member| member.pace.is_late)
    }

    pub fn round_trip(&self, replica: ReplicaId, work: Work) -> Duration {
        self.members.get(&replica).map_or(Duration::ZERO, |member| match work {
            Work::Reading => member.of_reads.round_trip.max(member.pace.round_trip),
            // One that was never measured otherwise is no nearer than that.
            Work::Rest if member.pace.round_trip.is_zero() => member.of_reads.round_trip,
            Work::Rest => member.pace.round_trip,
        })
    }

    /// The longest round trip to one that answers.
    pub fn farthest(&self) -> Duration {
        let in_time = self.members.values().filter(|member| !member.pace.is_late);
        in_time.map(|member| member.pace.round_trip).max().unwrap_or_default()
    }

    /// The nearest first; those that did not answer such questions last.
    pub fn by_distance(&self, mut replicas: Vec<ReplicaId>, work: Work) -> Vec<ReplicaId> {
        let is_late = |replica| {
            let own = self.members.get(&replica);
            own.is_some_and(|own| own.pace.is_late || work == Work::Reading && own.of_reads.is_late)
        };
        replicas.sort_by_key(|replica| (is_late(*replica), self.round_trip(*replica, Work::Rest), *replica));
        replicas
    }
}

impl Member {
    fn pace_of(&mut self, work: Work) -> &mut Pace {
        match work {
            Work::Reading => &mut self.of_reads,
            Work::Rest => &mut self.pace,
        }
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
            members.on_answer(replica, Work::Rest, asked_at, asked_at + took);
            members.round_trip(replica, Work::Rest)
        };
        let usual = Duration::from_millis(10);
        answers(usual);
        assert_eq!(answers(Duration::from_secs(60)), (usual * 7 + ROUND_TRIP_MAX) / 8);
        assert!((0..20).map(|_| answers(usual)).last() < Some(usual * 2));
    }

    #[test]
    fn a_replica_whose_reads_wait_is_not_taken_to_be_far_or_late() {
        let mut members = Members::new(&ShardMap::alone());
        let (replica, asked_at) = (ReplicaId::default(), Instant::from_nanos(0));
        let [near, long] = [10, 900].map(Duration::from_millis);
        members.on_answer(replica, Work::Rest, asked_at, asked_at + near);
        members.on_silence(replica, Work::Reading);
        assert_eq!((members.is_late(replica), members.farthest()), (false, near));
        members.on_answer(replica, Work::Reading, asked_at, asked_at + long);
        assert_eq!([Work::Reading, Work::Rest].map(|work| members.round_trip(replica, work)), [long, near]);
        assert_eq!(members.farthest(), near);
    }

    #[test]
    fn who_was_measured_by_large_reads_only_is_not_taken_to_be_the_nearest() {
        let mut members = Members::new(&ShardMap::alone());
        let (far, near, asked_at) = (ReplicaId(1), ReplicaId(2), Instant::from_nanos(0));
        members.on_answer(far, Work::Reading, asked_at, asked_at + Duration::from_millis(80));
        members.on_answer(near, Work::Rest, asked_at, asked_at + Duration::from_millis(2));
        for work in [Work::Reading, Work::Rest] {
            assert_eq!(members.by_distance(vec![far, near], work), [near, far]);
        }
    }

    #[test]
    fn whose_large_reads_are_late_is_the_last_for_those_and_for_nothing_else() {
        let mut members = Members::new(&ShardMap::alone());
        let (one, other) = (ReplicaId(1), ReplicaId(2));
        members.on_silence(one, Work::Reading);
        assert_eq!(members.by_distance(vec![one, other], Work::Reading), [other, one]);
        assert_eq!(members.by_distance(vec![one, other], Work::Rest), [one, other]);
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
