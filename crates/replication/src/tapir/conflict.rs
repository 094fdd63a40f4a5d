//! Which two proposals cannot both be prepared.
//!
//! Invariant: it is symmetric and looks at nothing but the two, so that replicas that see them in different orders come to the same view of them. A rule
//! that is not symmetric makes merging unsound (docs/decisions/0003).
//! Source: Zhang 2017, Table 3.4, without timestamps; lists after docs/protocols/operations.md.

use iolite_values::{Commutativity, Level, Operation, Write, observes, writes_commute};

use crate::node::Proposal;

pub fn conflict(a: &Proposal, b: &Proposal) -> bool {
    a.id.transaction == b.id.transaction
        || a.id.at == b.id.at
        || reads_what_is_written(a, b)
        || reads_what_is_written(b, a)
        || write_the_same(a, b)
}

/// Whether a prepared transaction is in the way of a proposal by the published rule, for simulations: one may read what another one writes if its timestamp
/// is the lower one, and any two may write the same.
/// Source: TAPIR (TOCS 2018), Figure 9, lines 4 and 7.
pub fn conflict_as_figure_9(proposal: &Proposal, prepared: &Proposal) -> bool {
    proposal.id.transaction == prepared.id.transaction
        || proposal.id.at == prepared.id.at
        || proposal.id.at > prepared.id.at && reads_what_is_written(proposal, prepared)
        || proposal.id.at < prepared.id.at && reads_what_is_written(prepared, proposal)
}

fn reads_what_is_written(reader: &Proposal, writer: &Proposal) -> bool {
    // It stands below the write, whichever is decided first.
    let is_before = reader.level == Level::Serializable && reader.id.at < writer.id.at;
    !is_before && reader.reads.iter().any(|read| writer.writes().iter().any(|write| observes(read, write)))
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use iolite_values::{
        Attempt, Cell, ClientId, ColumnId, Counter, Decision, Element, Id, Read, RowKey, TableId, Timestamp,
        Transaction, TransactionId, Value,
    };

    use super::*;
    use crate::shards::ShardMap;
    use crate::tapir::split;

    /// A transaction at a time, which reads or writes one cell.
    fn proposal(client: u128, at: u64, level: Level, writes: bool) -> Arc<Proposal> {
        let cell = Cell { table: TableId(1), row: RowKey::new(&[Value::Int(1)]).unwrap(), column: ColumnId(1) };
        let reads = vec![Read::Cell { cell: cell.clone(), element: Element::Whole }];
        let writes_of = vec![Write { cell, operation: Operation::Put(Value::Int(1)) }];
        let transaction = Transaction {
            id: TransactionId { client: ClientId(Id::from_u128(client)), counter: Counter(1) },
            attempt: Attempt(1),
            snapshot: Timestamp::ZERO,
            reads: if writes { Vec::new() } else { reads },
            level,
            decision: Decision::Commit(if writes { writes_of } else { Vec::new() }),
        };
        split(&ShardMap::alone(), &transaction, Timestamp::from_u64(at)).pop_first().unwrap().1
    }

    #[test]
    fn only_a_serializable_reader_below_the_writer_stands_beside_it() {
        use Level::{Serializable, Strict};
        for (reads_at, reader, writer) in [
            (5, Strict, Strict),
            (5, Strict, Serializable),
            (5, Serializable, Strict),
            (5, Serializable, Serializable),
            (9, Strict, Serializable),
            (9, Serializable, Strict),
        ] {
            let (reader_of, writer_of) = (proposal(1, reads_at, reader, false), proposal(2, 7, writer, true));
            let stands = reader == Serializable && reads_at < 7;
            let case = format!("{reader:?} at {reads_at} beside {writer:?}");
            assert_eq!(conflict(&reader_of, &writer_of), !stands, "{case}");
            assert_eq!(conflict(&writer_of, &reader_of), !stands, "{case}, the other way round");
        }
    }

    #[test]
    fn writes_of_one_cell_conflict_at_either_level() {
        for level in [Level::Strict, Level::Serializable] {
            assert!(conflict(&proposal(1, 5, level, true), &proposal(2, 7, Level::Serializable, true)));
        }
    }
}
