//! A coordinator's messages.

use std::sync::Arc;

use iolite_store::ReadLimit;
use iolite_values::{ClientId, CoordinatorId, Counter, Interest, Read, StoreIncarnation, Timestamp};

use super::{Ballot, Group, MessageId, Outcome, Proposal, ProposalId, ShardId, Term, View, Vote};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToReplica {
    pub from: CoordinatorId,
    /// Of the coordinator's life. Zero before it has one.
    pub term: Term,
    pub id: MessageId,
    /// The history that the coordinator knows; none before it has opened one.
    pub store: Option<StoreIncarnation>,
    pub shard: ShardId,
    /// The latest that the coordinator has heard of, of the configuration that it knows: who is in an earlier one is told so by this.
    pub view: View,
    pub ask: Ask,
}

/// How much a replica tells of the commits in a stretch of the feed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    /// Everything.
    Whole,
    /// Everything; and once, later, that something has committed above what was closed.
    Followed,
    /// Which they are.
    Names,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ask {
    /// Which history this is, and where it stands.
    Open,
    /// Registers the coordinator's term: what earlier lives sent is refused from now on.
    Begin,
    /// Votes on a proposal. `after` is an earlier proposal of the same transaction, whose abort is final.
    Prepare { proposal: Arc<Proposal>, after: Option<ProposalId> },
    /// Makes the vote of the group this one. Whoever has not seen the proposal gets it with this.
    Finalise { id: ProposalId, view: View, ballot: Ballot, vote: Vote, proposal: Option<Arc<Proposal>> },
    /// Takes a proposal over: promises the ballot, and says where it stands. One that has not been seen is voted No.
    Poll { id: ProposalId, ballot: Ballot },
    /// What became of a proposal. Is not answered: what is lost is found when the feed is closed.
    Outcome { id: ProposalId, outcome: Outcome, proposal: Option<Arc<Proposal>> },
    /// Lets nothing new be voted OK at or below `through` any more, and asks for the commits since `cursor` and what is undecided.
    Close {
        through: Timestamp,
        cursor: Timestamp,
        /// Everything at or below this is settled in every shard.
        settled: Timestamp,
        detail: Detail,
    },
    /// Everything that committed in (from, through]. Is not answered.
    Resolved { from: Timestamp, through: Timestamp, commits: Arc<[ProposalId]> },
    /// The rows of an interest at a resolved timestamp: so far as the limit allows, and as `looks` rows of the table were looked at, answers or not.
    ReadAt { interest: Interest, at: Timestamp, limit: ReadLimit, looks: usize },
    /// The commits in (after, through] that touch the interests.
    Changes { interests: Vec<Interest>, after: Timestamp, through: Timestamp },
    /// Whether what was read at `snapshot` is true still. Nothing is recorded.
    Validate { snapshot: Timestamp, reads: Arc<[Read]> },
    /// The client needs no outcome up to this counter any more.
    Acknowledge { client: ClientId, through: Counter },
    /// Where the replica stands, for operators. It is answered in every epoch, whatever the question says of the shard.
    Report,
    /// A later group of the shard, which was chosen: to a replica that said an earlier one. Is not answered.
    Configured { group: Group },
}
