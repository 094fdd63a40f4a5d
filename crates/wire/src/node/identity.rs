//! Who and when, among nodes: shards, replicas, views, ballots, lives.

use std::sync::Arc;

use iolite_values::CoordinatorId;

/// A part of the rows, kept by one group of replicas.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct ShardId(pub u32);

/// A replica with its disk. One that has lost its disk is another replica, under another id.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct ReplicaId(pub u64);

/// Numbers the configurations of a shard. No quorum is made of answers of two.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Epoch(pub u32);

/// Numbers the views of an epoch. No quorum is made of answers of two.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct View {
    pub epoch: Epoch,
    pub number: u32,
}

impl View {
    pub fn next(self) -> View {
        View { number: self.number + 1, ..self }
    }
}

/// The replicas of a shard in one epoch: 2f + 1 of them, of which f may fail.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Group {
    pub shard: ShardId,
    pub epoch: Epoch,
    members: Arc<[ReplicaId]>,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GroupError {
    #[error("a group has an odd number of replicas, at most {max}, not {0}", max = Group::MEMBERS_MAX)]
    Size(usize),
    #[error("replica {0:?} is named twice in one group")]
    Twice(ReplicaId),
}

impl Group {
    /// More than f = 3 is of no use to anyone, and quorums are counted often.
    pub const MEMBERS_MAX: usize = 7;

    /// # Errors
    /// [`GroupError`].
    pub fn new(shard: ShardId, epoch: Epoch, members: &[ReplicaId]) -> Result<Group, GroupError> {
        if members.len().is_multiple_of(2) || members.len() > Group::MEMBERS_MAX {
            return Err(GroupError::Size(members.len()));
        }
        let mut sorted = members.to_vec();
        sorted.sort_unstable();
        match sorted.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(pair) => Err(GroupError::Twice(pair[0])),
            None => Ok(Group { shard, epoch, members: sorted.into() }),
        }
    }

    /// The group of one.
    pub fn alone(shard: ShardId, replica: ReplicaId) -> Group {
        Group { shard, epoch: Epoch(0), members: [replica].into() }
    }

    /// In the order of their ids.
    pub fn members(&self) -> &[ReplicaId] {
        &self.members
    }

    pub fn contains(&self, replica: ReplicaId) -> bool {
        self.members.binary_search(&replica).is_ok()
    }

    /// Who merges the records when this view begins.
    pub fn leader(&self, view: View) -> ReplicaId {
        self.members[view.number as usize % self.members.len()]
    }
}

/// One run of a replica, from a start to the next. Differs from every earlier one's; a random number will do.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Boot(pub u64);

/// One run of a coordinator. Differs from every earlier one's of the same coordinator id; a random number will do.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Life(pub u64);

/// Numbers the lives of a coordinator id, as replicas have registered them: what an earlier one sent is refused.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Term(pub u32);

/// The last life of a coordinator id that a replica knows of.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Registered {
    pub coordinator: CoordinatorId,
    pub term: Term,
    pub life: Life,
}

/// Names a question. Not used again.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct MessageId {
    pub life: Life,
    pub number: u64,
}

/// Who decides an operation for a group: its proposer at first, then whoever takes it over, each above the last.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Ballot {
    pub number: u32,
    pub by: CoordinatorId,
    pub term: Term,
}

impl Ballot {
    /// The proposer's, which alone has the fast path.
    pub const FIRST: Ballot =
        Ballot { number: 0, by: CoordinatorId::new(0).expect("zero is small enough"), term: Term(0) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_has_an_odd_number_of_replicas_and_not_too_many() {
        let group = |ids: &[u64]| {
            let members: Vec<ReplicaId> = ids.iter().copied().map(ReplicaId).collect();
            Group::new(ShardId(1), Epoch(0), &members)
        };
        assert_eq!(group(&[3, 1, 2]).map(|group| group.members().to_vec()), Ok([1, 2, 3].map(ReplicaId).to_vec()));
        assert_eq!(group(&[]), Err(GroupError::Size(0)));
        assert_eq!(group(&[1, 2]), Err(GroupError::Size(2)));
        assert_eq!(group(&[1, 2, 1]), Err(GroupError::Twice(ReplicaId(1))));
        let most: Vec<u64> = (0..Group::MEMBERS_MAX as u64).collect();
        assert!(group(&most).is_ok());
        let more: Vec<u64> = (0..Group::MEMBERS_MAX as u64 + 2).collect();
        assert_eq!(group(&more), Err(GroupError::Size(more.len())));
    }

    #[test]
    fn views_are_led_in_turn() {
        let group = Group::new(ShardId(1), Epoch(0), &[1, 2, 3].map(ReplicaId)).expect("three");
        let mut view = View::default();
        let mut leaders = Vec::new();
        for _ in 0..4 {
            leaders.push(group.leader(view).0);
            view = view.next();
        }
        assert_eq!(leaders, [1, 2, 3, 1]);
    }
}
