//! Votes of replicas on proposals.

use std::sync::Arc;

use iolite_store::{Completion, Refusal};
use iolite_values::Timestamp;

use super::{Ballot, Proposal, ProposalId, View};

/// The result of one proposal at one shard, as one replica or the whole group has it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Vote {
    No,
    Ok,
}

/// What became of a proposal at every shard.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Outcome {
    Aborted,
    Committed,
}

/// Where a replica stands with a proposal: the answer to everything that is asked about it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Voted {
    pub view: View,
    pub vote: Vote,
    /// The ballot that finalised the vote; none while it is only this replica's own.
    pub finalised: Option<Ballot>,
    /// Nobody below this ballot can finalise it here any more.
    pub promised: Ballot,
    pub outcome: Option<Outcome>,
    /// Why it is a No, as far as this replica remembers.
    pub objection: Option<Objection>,
    /// For who takes it over and does not have it.
    pub proposal: Option<Arc<Proposal>>,
}

/// Why a replica votes No. A hint for what to do next: what counts is the vote.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Objection {
    /// Propose again, above this timestamp.
    Retry { above: Timestamp },
    /// It conflicts with a proposal that is not decided yet.
    Busy { with: ProposalId },
    /// Something that it read has changed: run the transaction again.
    Conflict { at_least: Timestamp },
    /// The transaction has its outcome, by another proposal.
    Completed(Completion),
    /// The outcome was acknowledged and forgotten.
    Forgotten,
    /// It makes no sense here, whoever asks.
    Refused(Refusal),
}

/// One proposal in a replica's record.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RecordedEntry {
    pub id: ProposalId,
    pub proposal: Option<Arc<Proposal>>,
    pub vote: Vote,
    pub finalised: Option<Ballot>,
    pub promised: Ballot,
    pub outcome: Option<Outcome>,
}
