//! A replica's messages to coordinators.

use iolite_store::{Commit, ReadReply, Refusal, TooOld};
use iolite_values::{CoordinatorId, StoreIncarnation, Timestamp};

use std::sync::Arc;

use super::{Boot, Group, MessageId, ProposalId, ReplicaId, ShardId, Split, Term, View, Voted};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FromReplica {
    pub to: CoordinatorId,
    pub from: ReplicaId,
    pub shard: ShardId,
    /// The question.
    pub id: MessageId,
    pub boot: Boot,
    pub store: StoreIncarnation,
    pub view: View,
    /// The highest timestamp of anything here. It may belong to something that is not durable yet: it is for proposing, not for reading.
    pub highest: Timestamp,
    /// How far ahead a clock may propose.
    pub limit: Timestamp,
    pub answer: Answer,
}

/// What was read at a time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    pub reply: ReadReply,
    /// As many rows were looked at as were to be, and what lies behind this place is to be read yet. It is a primary key, or that of the query's index.
    pub looked_through: Option<Arc<[u8]>>,
}

impl From<ReadReply> for Piece {
    fn from(reply: ReadReply) -> Piece {
        Piece { reply, looked_through: None }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    Opened(Opened),
    Begun,
    Voted(Voted),
    /// The replica does not have the proposal that it is to finalise, or the list that it is to record is of another view.
    Unknown,
    /// The proposal is older than what the replica remembers.
    TooOld {
        low_watermark: Timestamp,
    },
    Closed(Result<Closed, TooOld>),
    /// Beside the answer, and once: something has committed above what was closed.
    Stirred {
        at: Timestamp,
    },
    Read(Result<Piece, TooOld>),
    Changes(Result<Changed, TooOld>),
    /// Not everything at or below what was asked for has reached this replica.
    Behind {
        complete: Timestamp,
    },
    /// Whether the reads are true still.
    Valid(Result<(), Invalid>),
    Acknowledged,
    /// The question makes no sense here, whoever asks.
    Refused(Refusal),
    /// The question is about another history.
    WrongStore,
    /// The shard has another configuration, or this replica is not of it.
    WrongEpoch(Option<Group>),
    /// The shard has ended: others have its rows.
    Ended(Split),
    /// A later life of this coordinator, or another process under its id, has registered.
    Superseded {
        term: Term,
    },
    Reported(Report),
}

/// The commits of the beginning of a stretch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Changed {
    /// Below the end of the stretch, when the rest is very much.
    pub through: Timestamp,
    pub commits: Vec<Commit>,
}

/// Why reads may not be true any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Invalid {
    /// The last change of them; or, when that is not known any more, from where on it is.
    Changed(Timestamp),
    /// The last proposal that would change them and has no outcome here.
    UnderWay(Timestamp),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opened {
    /// The last term of this coordinator id.
    pub term: Term,
    /// The feed can begin here.
    pub complete: Timestamp,
    /// The last of what is prepared or has committed.
    pub latest: Timestamp,
}

/// Where a replica stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// The latest that it knows of, whether it is in it or not.
    pub group: Group,
    /// Whether it takes part in a view of that group.
    pub takes_part: bool,
    /// Whether it fetches what others have.
    pub is_fetching: bool,
    /// Everything that committed at or below this is here.
    pub complete: Timestamp,
    /// How the shard ends, once a transaction has chosen it.
    pub split: Option<Split>,
    /// Replicas of the parts that have begun, as far as this one was told.
    pub begun: Vec<ReplicaId>,
}

impl Report {
    /// Who needs this replica although its shard has ended: those of its parts that have not begun, as far as it was told. None: it is not known that the
    /// shard has ended. When one of a group that ended tells that nobody does, or only such as keep no shard any more, all of it can be turned off, as soon
    /// as every gateway knows the parts.
    pub fn needed_by(&self) -> Option<Vec<ReplicaId>> {
        let split = self.split.as_ref().filter(|_| !self.begun.is_empty())?;
        let all = split.lower().members().iter().chain(split.upper().members());
        Some(all.copied().filter(|replica| !self.begun.contains(replica)).collect())
    }
}

/// What a replica has of a stretch of the feed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Closed {
    /// Everything here is about (cursor, through]. It may be below what was asked for, when that is very much or too far ahead, and above, when
    /// another coordinator closed further.
    pub through: Timestamp,
    /// Nothing new is voted OK at or below this any more.
    pub barrier: Timestamp,
    /// The last commit that this replica has.
    pub latest: Timestamp,
    /// This replica has everything through here.
    pub complete: Timestamp,
    /// What this replica voted OK, or the group did, and has no outcome here.
    pub undecided: Vec<Undecided>,
    pub aborted: Vec<ProposalId>,
    pub committed: Vec<ProposalId>,
    /// Those whose app gave up: decided like commits, without writes.
    pub given_up: Vec<ProposalId>,
    /// The commits themselves, if they were asked for.
    pub commits: Vec<Commit>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Undecided {
    pub id: ProposalId,
    pub participants: Arc<[ShardId]>,
}
