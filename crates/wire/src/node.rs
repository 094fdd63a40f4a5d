//! What coordinators and replicas say to each other, and what a replica writes down of it.
//!
//! Messages may be lost, repeated, reordered and late. Every question may be asked again; an answer names its question, so a late one
//! of an earlier question is known as such.
//!
//! Each message is encoded alone, in one frame of a link: cells and clients are numbered, and timestamps chained, within it only.

mod answer;
mod answer_encoding;
mod ask;
mod ask_encoding;
mod closed_encoding;
mod configuration;
mod identity;
mod peer;
mod peer_encoding;
mod proposal;
mod split;
mod version;
mod vote;
mod vote_encoding;

pub use answer::{Answer, Changed, Closed, FromReplica, Invalid, Opened, Piece, Report, Undecided};
pub use ask::{Ask, Detail, ToReplica};
pub use configuration::{Configuration, ConfigurationError};
pub use identity::{
    Ballot, Boot, Epoch, Group, GroupError, Life, MessageId, Registered, ReplicaId, ShardId, Term, View,
};
pub use peer::{BetweenReplicas, Drained, Peer, RecordPart, StateChunk};
pub use proposal::{Effect, Proposal, ProposalId};
pub use split::{Split, SplitError};
pub use version::{NodesHello, NodesVersion};
pub use vote::{Objection, Outcome, RecordedEntry, Vote, Voted};
