//! The end of a shard: where it is cut, and who keeps the two shards that have its rows from then on.
//!
//! Invariant: both parts have ids of their own, which no shard had before; their groups are first ones.

use iolite_values::{RowKey, TableId};

use crate::DecodeError;
use crate::encoding::required;
use crate::generated::proto;

use super::configuration::{read_group, write_group};
use super::{Epoch, Group};

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
        let key = RowKey::from_bytes(&split.at_key).map_err(|_| DecodeError::malformed("a split at no key"))?;
        let (parent, lower, upper) = (group(split.parent)?, group(split.lower)?, group(split.upper)?);
        let split = Split::new(parent, (TableId(split.at_table), key), lower, upper);
        split.map_err(|_| DecodeError::malformed("the parts of a split are new shards"))
    }
}
