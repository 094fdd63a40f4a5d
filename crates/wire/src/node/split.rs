//! The end of a shard: where it is cut, and who keeps the two shards that have its rows from then on.
//!
//! Invariant: both parts have ids of their own, which no shard had before; their groups are first ones, of replicas that are in none of the others.

use iolite_values::{RowKey, TableId};

use crate::DecodeError;
use crate::encoding::required;
use crate::generated::proto;

use super::configuration::{read_group, write_group};
use super::{Epoch, Group, ReplicaId};

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Split {
    parent: Group,
    at_table: TableId,
    at_key: RowKey,
    lower: Group,
    upper: Group,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SplitError {
    #[error("the parts of a shard that is split need ids of their own: take two that no shard had before")]
    SameShard,
    #[error("the parts of a shard that is split begin with their first epochs: take groups of epoch 0")]
    LaterEpoch,
    #[error(
        "replica {} is in two of the groups: a replica keeps one shard, so the parts take replicas of their own", .0.0
    )]
    SharedReplica(ReplicaId),
}

impl Split {
    /// # Errors
    /// [`SplitError`].
    pub fn new(parent: Group, at: (TableId, RowKey), lower: Group, upper: Group) -> Result<Split, SplitError> {
        if parent.shard == lower.shard || parent.shard == upper.shard || lower.shard == upper.shard {
            return Err(SplitError::SameShard);
        }
        if lower.epoch != Epoch(0) || upper.epoch != Epoch(0) {
            return Err(SplitError::LaterEpoch);
        }
        let all = [&parent, &lower, &upper].map(Group::members).concat();
        let is_twice = |replica: &&ReplicaId| all.iter().filter(|other| other == replica).count() > 1;
        if let Some(replica) = all.iter().find(is_twice) {
            return Err(SplitError::SharedReplica(*replica));
        }
        let (at_table, at_key) = at;
        Ok(Split { parent, at_table, at_key, lower, upper })
    }

    /// Who keeps the shard that ends.
    pub fn parent(&self) -> &Group {
        &self.parent
    }

    /// The first place of the upper part.
    pub fn at(&self) -> (TableId, &RowKey) {
        (self.at_table, &self.at_key)
    }

    /// Who keeps what is below the place. It also answers for the shard that ended.
    pub fn lower(&self) -> &Group {
        &self.lower
    }

    /// Who keeps the rest.
    pub fn upper(&self) -> &Group {
        &self.upper
    }

    pub(crate) fn to_proto(&self) -> proto::ShardSplit {
        proto::ShardSplit {
            parent: Some(write_group(&self.parent)),
            at_table: self.at_table.0,
            at_key: self.at_key.as_bytes().to_vec(),
            lower: Some(write_group(&self.lower)),
            upper: Some(write_group(&self.upper)),
        }
    }

    pub(crate) fn from_proto(split: proto::ShardSplit) -> Result<Split, DecodeError> {
        let group = |group| required(group, "a split without a group").and_then(read_group);
        let key = match &split.at_key[..] {
            // Where the table begins.
            [] => RowKey::bound(&[]),
            bytes => RowKey::from_bytes(bytes).map_err(|_| DecodeError::malformed("a split at no key"))?,
        };
        let (parent, lower, upper) = (group(split.parent)?, group(split.lower)?, group(split.upper)?);
        let split = Split::new(parent, (TableId(split.at_table), key), lower, upper);
        split.map_err(|_| DecodeError::malformed("the parts of a split are new shards"))
    }
}

#[cfg(test)]
mod tests {
    use super::super::ShardId;
    use super::*;

    fn group(shard: u32, members: &[u64]) -> Group {
        let members: Vec<ReplicaId> = members.iter().copied().map(ReplicaId).collect();
        Group::new(ShardId(shard), Epoch(0), &members).expect("an odd number of them")
    }

    fn split(lower: Group, upper: Group) -> Result<Split, SplitError> {
        Split::new(group(1, &[1, 2, 3]), (TableId(5), RowKey::bound(&[])), lower, upper)
    }

    #[test]
    fn the_parts_are_new_shards_with_replicas_of_their_own() {
        assert!(split(group(2, &[4]), group(3, &[5, 6, 7])).is_ok());
        for (lower, upper) in [(group(1, &[4]), group(3, &[5])), (group(2, &[4]), group(2, &[5]))] {
            assert_eq!(split(lower, upper), Err(SplitError::SameShard));
        }
        let later = Group::new(ShardId(3), Epoch(1), &[ReplicaId(5)]).expect("one");
        assert_eq!(split(group(2, &[4]), later), Err(SplitError::LaterEpoch));
        for (lower, upper, shared) in [(group(2, &[4, 5, 6]), group(3, &[6]), 6), (group(2, &[3]), group(3, &[5]), 3)] {
            assert_eq!(split(lower, upper), Err(SplitError::SharedReplica(ReplicaId(shared))));
        }
    }

    #[test]
    fn a_split_where_a_table_begins_reads_back() {
        let split = split(group(2, &[4]), group(3, &[5])).expect("three shards");
        assert_eq!(Split::from_proto(split.to_proto()), Ok(split));
    }
}
