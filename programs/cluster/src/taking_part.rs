//! Whether a group that was chosen has begun, so that it can do without who leaves.
//!
//! A majority that takes part has the records of the group before, and the rows: an epoch has begun then for good. Who answers and is on the way is waited for,
//! but not who is silent: it may be lost, and then the next change replaces it.
//! Source: docs/decisions/0009-sealed-epochs.md.

use iolite_replication::node::{Group, ReplicaId};

use crate::reports::Reports;

/// Who is waited for still, with all that are missing; none, if that is nobody.
pub(crate) fn waited_for(group: &Group, reports: &Reports) -> Option<Vec<ReplicaId>> {
    let takes_part =
        |id: &&ReplicaId| reports.get(*id).is_some_and(|report| report.takes_part && report.group.epoch >= group.epoch);
    let missing: Vec<ReplicaId> = group.members().iter().filter(|id| !takes_part(id)).copied().collect();
    let is_minority = missing.len() * 2 < group.members().len();
    let are_silent = missing.iter().all(|id| !reports.contains_key(id));
    (!is_minority || !are_silent).then_some(missing)
}

#[cfg(test)]
mod tests {
    use iolite_replication::node::{Epoch, Report, ShardId};
    use iolite_values::Timestamp;

    use super::*;

    fn group(epoch: u32) -> Group {
        let members: Vec<ReplicaId> = (0..5).map(ReplicaId).collect();
        Group::new(ShardId(0), Epoch(epoch), &members).expect("a group")
    }

    /// The replicas that answer, the epoch that each knows, and whether it takes part.
    fn waited(told: &[(u64, u32, bool)]) -> Option<Vec<u64>> {
        let report = |epoch, takes_part| Report {
            group: group(epoch),
            takes_part,
            is_fetching: false,
            complete: Timestamp::ZERO,
            split: None,
            begun: Vec::new(),
        };
        let reports =
            told.iter().map(|(id, epoch, takes_part)| (ReplicaId(*id), report(*epoch, *takes_part))).collect();
        waited_for(&group(1), &reports).map(|missing| missing.iter().map(|id| id.0).collect())
    }

    #[test]
    fn a_group_has_begun_when_a_majority_takes_part_and_the_others_are_silent() {
        assert_eq!(waited(&[(0, 1, true), (1, 1, true), (2, 2, true)]), None);
        assert_eq!(waited(&[(0, 1, true), (1, 1, true)]), Some(vec![2, 3, 4]));
        assert_eq!(waited(&[(0, 1, true), (1, 1, true), (2, 0, true)]), Some(vec![2, 3, 4]), "of the group before");
    }

    #[test]
    fn who_answers_and_is_on_the_way_is_waited_for() {
        let three = [(0, 1, true), (1, 1, true), (2, 1, true)];
        assert_eq!(waited(&[&three[..], &[(3, 1, false)]].concat()), Some(vec![3, 4]));
        assert_eq!(waited(&[&three[..], &[(3, 1, true), (4, 1, true)]].concat()), None);
    }
}
