//! What coordinators and replicas say to each other, and what a replica writes down of it.
//!
//! Messages may be lost, repeated, reordered and late. Every question may be asked again; an answer names its question, so a late one
//! of an earlier question is known as such.

mod answer;
mod ask;
mod identity;
mod peer;
mod proposal;
mod vote;

pub use answer::{Answer, Closed, FromReplica, Opened, Undecided};
pub use ask::{Ask, Detail, ToReplica};
pub use identity::{Ballot, Boot, Epoch, Group, GroupError, Life, MessageId, ReplicaId, ShardId, Term, View};
pub use peer::{BetweenReplicas, ClosedList, Peer, RecordPart, StateChunk};
pub use proposal::{Effect, Proposal, ProposalId};
pub use vote::{Objection, Outcome, RecordedEntry, Vote, Voted};
