//! Transactions on inconsistent replication: what proposals are, which of them conflict, and what is known of those that are under way.
//!
//! Source: TAPIR (TOCS 2018) section 5, with data-type OCC (Zhang 2017, 3.4) and the strict rule of docs/protocols/replica.md.

mod conflict;
mod index;
mod split;

pub(crate) use conflict::{are_in_order, conflict, conflict_as_figure_9};
pub(crate) use index::ProposalIndex;
pub(crate) use split::{split, split_reads};
