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
        if previous.as_ref().is_some_and(|previous| previous.epoch >= group.epoch) {
            return Err(DecodeError::malformed("a configuration comes after the previous one"));
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
