//! Whether a group can take over a shard: its new members have what the shard has, and a majority of it answers.
//!
//! Invariant: nobody has caught up before a majority of the members has told how far it is. Until then an empty replica has as much as is known.

use std::collections::BTreeMap;

use iolite_replication::node::{Group, ReplicaId, Report};
use iolite_values::Timestamp;

use crate::reports::Reports;

/// What is known so far of the members of a shard, for the group that is to follow.
#[derive(Debug)]
pub(crate) struct Ability<'g> {
    group: &'g Group,
    next: &'g Group,
    /// How far each member was when it first told.
    told: BTreeMap<ReplicaId, Timestamp>,
    /// What new members are to have: it stays where it is once it is known, for the shard goes on.
    through: Option<Timestamp>,
}

/// Why a group cannot take over yet.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Inability {
    /// These have not what the shard has.
    pub behind: Vec<ReplicaId>,
    /// These do not answer.
    pub silent: Vec<ReplicaId>,
}

impl<'g> Ability<'g> {
    pub fn new(group: &'g Group, next: &'g Group) -> Ability<'g> {
        Ability { group, next, told: BTreeMap::new(), through: None }
    }

    /// What is in the way, as far as these and earlier reports tell.
    pub fn problem(&mut self, reports: &Reports) -> Option<Inability> {
        for (id, report) in reports.iter().filter(|(id, _)| self.group.contains(**id)) {
            self.told.entry(*id).or_insert(report.complete);
        }
        let members = self.group.members();
        if self.through.is_none() && self.told.len() * 2 > members.len() {
            self.through = self.told.values().max().copied();
        }
        let is_new = |id: &ReplicaId| !self.group.contains(*id);
        let joins = self.next.members().iter().any(is_new);
        if joins && self.through.is_none() {
            let asked = members.iter().chain(self.next.members().iter().filter(|id| is_new(id)));
            let silent = asked.filter(|id| !self.told.contains_key(id) && !reports.contains_key(id));
            return Some(Inability { behind: Vec::new(), silent: silent.copied().collect() });
        }
        let unable: Vec<ReplicaId> =
            self.next.members().iter().filter(|id| !self.is_able(**id, reports)).copied().collect();
        // One that is of the group already may be down: it is not asked for more than before.
        if unable.len() * 2 < self.next.members().len() && !unable.iter().any(is_new) {
            return None;
        }
        let (behind, silent) = unable.into_iter().partition(|id| reports.contains_key(id));
        Some(Inability { behind, silent })
    }

    fn is_able(&self, id: ReplicaId, reports: &Reports) -> bool {
        let caught_up = |report: &Report| {
            report.group == *self.group && self.through.is_some_and(|through| report.complete >= through)
        };
        reports.get(&id).is_some_and(|report| self.group.contains(id) || caught_up(report))
    }
}

#[cfg(test)]
mod tests {
    use iolite_replication::node::{Epoch, ShardId};
    use iolite_values::CoordinatorId;

    use super::*;

    fn group(epoch: u32, members: &[u64]) -> Group {
        let members: Vec<ReplicaId> = members.iter().copied().map(ReplicaId).collect();
        Group::new(ShardId(0), Epoch(epoch), &members).expect("a group")
    }

    fn at(micros: u64) -> Timestamp {
        Timestamp::new(micros, CoordinatorId::new(0).expect("a number"))
    }

    /// What these say of themselves, all of epoch 0.
    fn reports(told: &[(u64, Timestamp)]) -> Reports {
        let of = |complete| Report {
            group: group(0, &[0, 1, 2]),
            takes_part: true,
            is_fetching: false,
            complete,
            split: None,
            begun: Vec::new(),
        };
        told.iter().map(|(id, complete)| (ReplicaId(*id), of(*complete))).collect()
    }

    fn ids(numbers: &[u64]) -> Vec<ReplicaId> {
        numbers.iter().copied().map(ReplicaId).collect()
    }

    #[test]
    fn an_empty_replica_has_not_caught_up_with_members_that_are_slow_to_answer() {
        let (group, next) = (group(0, &[0, 1, 2]), group(1, &[1, 2, 3]));
        let mut ability = Ability::new(&group, &next);
        let empty = (3, Timestamp::ZERO);
        let problem = ability.problem(&reports(&[empty]));
        assert_eq!(problem, Some(Inability { behind: vec![], silent: ids(&[0, 1, 2]) }));
        // One of three that is behind the others is no measure.
        let problem = ability.problem(&reports(&[(0, Timestamp::ZERO), empty]));
        assert_eq!(problem, Some(Inability { behind: vec![], silent: ids(&[1, 2]) }));
        let problem = ability.problem(&reports(&[(1, at(70)), (2, at(60)), empty]));
        assert_eq!(problem, Some(Inability { behind: ids(&[3]), silent: vec![] }));
        assert_eq!(ability.problem(&reports(&[(1, at(90)), (2, at(80)), (3, at(70))])), None);
    }

    #[test]
    fn what_members_tell_one_after_the_other_counts_together() {
        let (group, next) = (group(0, &[0, 1, 2]), group(1, &[1, 2, 3]));
        let mut ability = Ability::new(&group, &next);
        assert!(ability.problem(&reports(&[(0, at(50)), (3, at(50))])).is_some());
        // The replicas 1 and 3 are a majority of those that follow, and 0 and 1 of those before.
        assert_eq!(ability.problem(&reports(&[(1, at(40)), (3, at(50))])), None);
    }

    #[test]
    fn a_group_without_new_members_needs_a_majority_of_its_own_only() {
        let (group, next) = (group(0, &[0, 1, 2]), group(1, &[2]));
        let mut ability = Ability::new(&group, &next);
        assert_eq!(ability.problem(&reports(&[])), Some(Inability { behind: vec![], silent: ids(&[2]) }));
        assert_eq!(ability.problem(&reports(&[(2, at(9))])), None);
    }
}
