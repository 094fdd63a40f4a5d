//! Who keeps a shard in an epoch, and whose records the epoch begins from.
//!
//! Invariant: an epoch has one configuration: it is chosen by a transaction of the epoch before (docs/decisions/0009-sealed-epochs.md).

use crate::DecodeError;
use crate::encoding::required;
use crate::generated::proto;

use super::{Epoch, Group, GroupError, ReplicaId, ShardId};

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Configuration {
    group: Group,
    previous: Option<Group>,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigurationError {
    #[error(transparent)]
    Group(#[from] GroupError),
    #[error("the epochs of this shard are used up: restore it into a new one")]
    LastEpoch,
}

impl Configuration {
    /// Of the first epoch.
    pub fn first(group: Group) -> Configuration {
        Configuration { group, previous: None }
    }

    /// Of the epoch after that of `group`.
    ///
    /// # Errors
    /// [`ConfigurationError`].
    pub fn after(group: &Group, members: &[ReplicaId]) -> Result<Configuration, ConfigurationError> {
        let epoch = group.epoch.0.checked_add(1).ok_or(ConfigurationError::LastEpoch)?;
        let next = Group::new(group.shard, Epoch(epoch), members)?;
        Ok(Configuration { group: next, previous: Some(group.clone()) })
    }

    /// Who keeps the shard.
    pub fn group(&self) -> &Group {
        &self.group
    }

    /// Whose sealed records the epoch begins from; none: it is the first epoch.
    pub fn previous(&self) -> Option<&Group> {
        self.previous.as_ref()
    }

    /// Whether the replica keeps the shard, or did before.
    pub fn knows(&self, replica: ReplicaId) -> bool {
        self.group.contains(replica) || self.previous.as_ref().is_some_and(|group| group.contains(replica))
    }

    pub(crate) fn to_proto(&self) -> proto::ShardConfiguration {
        proto::ShardConfiguration {
            group: Some(write_group(&self.group)),
            previous: self.previous.as_ref().map(write_group),
        }
    }

    pub(crate) fn from_proto(configuration: proto::ShardConfiguration) -> Result<Configuration, DecodeError> {
        let group = read_group(required(configuration.group, "a configuration without a group")?)?;
        let previous = configuration.previous.map(read_group).transpose()?;
        let follows =
            |previous: &Group| previous.shard == group.shard && previous.epoch.0.checked_add(1) == Some(group.epoch.0);
        if !previous.as_ref().is_none_or(follows) {
            return Err(DecodeError::malformed(
                "a configuration is of the epoch after the previous one, of the same shard",
            ));
        }
        Ok(Configuration { group, previous })
    }
}

pub(super) fn write_group(group: &Group) -> proto::ShardGroup {
    let members = group.members().iter().map(|member| member.0).collect();
    proto::ShardGroup { shard: group.shard.0, epoch: group.epoch.0, members }
}

pub(super) fn read_group(group: proto::ShardGroup) -> Result<Group, DecodeError> {
    if !group.members.is_sorted() {
        return Err(DecodeError::malformed("the members of a group are in order"));
    }
    let members: Vec<ReplicaId> = group.members.into_iter().map(ReplicaId).collect();
    let group = Group::new(ShardId(group.shard), Epoch(group.epoch), &members);
    group.map_err(|_| DecodeError::malformed("a group has an odd number of members, each once, and few"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_configuration_that_leaves_an_epoch_out_or_is_of_another_shard_is_malformed() {
        let group = |shard, epoch| Group::new(ShardId(shard), Epoch(epoch), &[ReplicaId(1)]).expect("one");
        let read = |next: Group| {
            let (group, previous) = (Some(write_group(&next)), Some(write_group(&group(1, 4))));
            Configuration::from_proto(proto::ShardConfiguration { group, previous })
        };
        assert_eq!(read(group(1, 5)).map(|read| read.group().epoch), Ok(Epoch(5)));
        for next in [group(1, 6), group(1, 4), group(1, 3), group(2, 5)] {
            assert!(read(next).is_err());
        }
    }
}
