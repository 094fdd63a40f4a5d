//! What coordinators and replicas say to each other.
//!
//! Messages may be lost, repeated, reordered and late. Every question may be asked again; an answer names its question, so a late one
//! of an earlier question is known as such.

use std::sync::Arc;

use iolite_store::{Commit, Completion, ReadLimit, ReadReply, Refusal, TooOld};
use iolite_values::{ClientId, CoordinatorId, Counter, Interest, StoreIncarnation, Timestamp, Transaction};

/// One run of a replica, from a start to the next. Differs from every earlier one's; a random number will do.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Boot(pub u64);

/// One run of a coordinator. Differs from every earlier one's of the same coordinator id; a random number will do.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Life(pub u64);

/// Names a question. Not used again.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct MessageId {
    pub life: Life,
    pub number: u64,
}

/// A coordinator's message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToReplica {
    pub from: CoordinatorId,
    pub id: MessageId,
    /// The history that the coordinator knows; none before it has opened one.
    pub store: Option<StoreIncarnation>,
    pub ask: Ask,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ask {
    /// Which history this is, and where it stands.
    Open,
    /// Validates an attempt, and if this replica is the whole group, decides it.
    Prepare { transaction: Arc<Transaction>, at: Timestamp },
    /// Lets nothing commit at or below `through` any more, and asks for the commits since `cursor`.
    Close { through: Timestamp, cursor: Timestamp },
    /// The rows of an interest at a resolved timestamp.
    ReadAt { interest: Interest, at: Timestamp, limit: ReadLimit },
    /// The commits in (after, through] that touch the interests.
    Changes { interests: Vec<Interest>, after: Timestamp, through: Timestamp },
    /// The client needs no outcome up to this counter any more.
    Acknowledge { client: ClientId, through: Counter },
}

/// A replica's message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FromReplica {
    pub to: CoordinatorId,
    /// The question.
    pub id: MessageId,
    pub boot: Boot,
    pub store: StoreIncarnation,
    /// The highest timestamp of anything here. It may belong to something that is not durable yet: it is for proposing, not for reading.
    pub highest: Timestamp,
    /// How far ahead a clock may propose.
    pub limit: Timestamp,
    pub answer: Answer,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    Opened {
        resolved: Timestamp,
    },
    Prepared(Prepared),
    Closed(Result<Closed, TooOld>),
    Read(Result<ReadReply, TooOld>),
    Changes(Result<Vec<Commit>, TooOld>),
    Acknowledged,
    /// The question makes no sense here, whoever asks.
    Refused(Refusal),
    /// The question is about another history.
    WrongStore,
}

/// What became of a proposal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Prepared {
    /// The transaction is decided, by this proposal or an earlier one.
    Completed(Completion),
    /// Propose again, above this timestamp.
    Retry { above: Timestamp },
    /// This attempt never takes effect through this proposal: run the transaction again.
    Conflict { at_least: Timestamp },
    /// The outcome was acknowledged and forgotten.
    Forgotten,
}

/// A stretch of the feed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Closed {
    /// `commits` is everything in (cursor, through]. It may be below what was asked, when that is very much or too far ahead, and above, when
    /// another coordinator closed further.
    pub through: Timestamp,
    /// Nothing commits at or below this any more.
    pub resolved: Timestamp,
    pub commits: Vec<Commit>,
}
