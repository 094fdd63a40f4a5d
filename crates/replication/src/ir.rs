//! Inconsistent replication: operations that survive f failures without being ordered.
//!
//! What is here knows quorums, votes, ballots, views and records; what an operation means, and which ones conflict, is `tapir`'s.
//! Source: TAPIR (TOCS 2018) section 3, with ballots and the corrections that docs/protocols/ir.md gives.

mod merge;
mod proposing;
mod quorum;
mod record;

pub(crate) use merge::{Record as MemberRecord, merge};
pub(crate) use proposing::{Proposing, Slow};
pub(crate) use quorum::Quorums;
pub(crate) use record::{Entry, Record};
