//! A proposal: one attempt of one transaction at one timestamp, as one shard sees it.

use std::sync::Arc;

use iolite_values::{Attempt, Level, Read, Timestamp, TransactionId, Write};

use super::ShardId;

/// Names a proposal, in every shard alike. Sorted by timestamp.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ProposalId {
    pub at: Timestamp,
    pub transaction: TransactionId,
    pub attempt: Attempt,
}

impl ProposalId {
    /// None at `at` or later sorts below it.
    pub fn first_at(at: Timestamp) -> ProposalId {
        ProposalId { at, transaction: TransactionId::default(), attempt: Attempt(0) }
    }

    /// Sorts below every proposal above `through`, and not below those at or below it.
    pub fn first_above(through: Timestamp) -> ProposalId {
        ProposalId::first_at(Timestamp::from_u64(through.as_u64().saturating_add(1)))
    }
}

/// What it makes of this shard, if it commits.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Effect {
    /// The transaction's writes to this shard, in its order; perhaps none.
    Commit(Arc<[Write]>),
    /// The app's own abort: it rests on the reads, and is recorded like a commit.
    Abort,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Proposal {
    pub id: ProposalId,
    /// Every shard that has a say, in order.
    pub participants: Arc<[ShardId]>,
    /// Everything in `reads` was read at this timestamp.
    pub snapshot: Timestamp,
    /// The transaction's reads of this shard.
    pub reads: Vec<Read>,
    pub level: Level,
    pub effect: Effect,
    /// Whether this shard keeps the client's completion records.
    pub is_home: bool,
}

impl Proposal {
    pub fn writes(&self) -> &[Write] {
        match &self.effect {
            Effect::Commit(writes) => writes,
            Effect::Abort => &[],
        }
    }
}
