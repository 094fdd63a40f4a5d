//! Which two proposals cannot both be prepared.
//!
//! Invariant: it is symmetric and looks at nothing but the two, so that replicas that see them in different orders come to the same view of them. A rule
//! that is not symmetric makes merging unsound (docs/decisions/0003).
//! Source: Zhang 2017, Table 3.4, without timestamps; lists after docs/protocols/operations.md.

use iolite_values::{Commutativity, Operation, Write, observes, writes_commute};

use crate::node::Proposal;

pub fn conflict(a: &Proposal, b: &Proposal) -> bool {
    a.id.transaction == b.id.transaction
        || a.id.at == b.id.at
        || reads_what_is_written(a, b)
        || reads_what_is_written(b, a)
        || write_the_same(a, b)
}

fn reads_what_is_written(reader: &Proposal, writer: &Proposal) -> bool {
    reader.reads.iter().any(|read| writer.writes().iter().any(|write| observes(read, write)))
}

fn write_the_same(a: &Proposal, b: &Proposal) -> bool {
    let clash = |own: &Write, other: &Write| {
        writes_commute(own, other) == Commutativity::Conflict
            || own.cell == other.cell && (moves(a, own, b, other) || moves(b, other, a, own))
    };
    a.writes().iter().any(|own| b.writes().iter().any(|other| clash(own, other)))
}

/// Whether an append comes to stand before an operation on an index, which may then mean another element.
fn moves(appender: &Proposal, append: &Write, other: &Proposal, set: &Write) -> bool {
    matches!((&append.operation, &set.operation), (Operation::Append { .. }, Operation::SetAt { .. }))
        && appender.id.at < other.id.at
}
