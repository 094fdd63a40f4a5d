//! Which two proposals cannot both be prepared.
//!
//! Invariant: it is symmetric and looks at nothing but the two, so that replicas that see them in different orders come to the same view of them. A rule
//! that is not symmetric makes merging unsound (docs/decisions/0003).
//! Source: Zhang 2017, Table 3.4, without timestamps; lists after docs/protocols/operations.md. What a level does not guard of a transaction's reads is not in the
//! proposal (`Level::guarded`), so that only writes are compared by level here.

use iolite_values::{ColumnId, Commutativity, Level, Operation, Write, disturbs, writes_commute};

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
    !is_before && reader.reads.iter().any(|read| disturbs(writer.writes(), read))
}

fn write_the_same(a: &Proposal, b: &Proposal) -> bool {
    let clash = |own: &Write, other: &Write| {
        are_in_order((a.level, own), (b.level, other))
            || own.cell == other.cell && (moves(a, own, b, other) || moves(b, other, a, own))
    };
    a.writes().iter().any(|own| b.writes().iter().any(|other| clash(own, other)))
}

/// Whether one of two writes has to be decided before the other is accepted, and to stand above it. Of two read committed transactions the timestamps alone order
/// what they put; but rows come and go in one order for all.
pub fn are_in_order((level, own): (Level, &Write), (other_level, other): (Level, &Write)) -> bool {
    let life = own.cell.column == ColumnId::ROW || other.cell.column == ColumnId::ROW;
    (life || level.orders_writes(other_level)) && writes_commute(own, other) == Commutativity::Conflict
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

    /// What a transaction does with the cell.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    enum Access {
        Read,
        Write,
        Merge,
    }

    /// A transaction at a time, which reads or writes one cell.
    fn proposal(client: u128, at: u64, level: Level, access: Access) -> Arc<Proposal> {
        let cell = Cell { table: TableId(1), row: RowKey::new(&[Value::Int(1)]).unwrap(), column: ColumnId(1) };
        let (reads, operation) = match access {
            Access::Read => (vec![Read::Cell { cell: cell.clone(), element: Element::Whole }], None),
            Access::Write => (Vec::new(), Some(Operation::Put(Value::Int(1)))),
            Access::Merge => (Vec::new(), Some(Operation::Add(1))),
        };
        let writes: Vec<Write> =
            operation.into_iter().map(|operation| Write { cell: cell.clone(), operation }).collect();
        let transaction = Transaction {
            id: TransactionId { client: ClientId(Id::from_u128(client)), counter: Counter(1) },
            attempt: Attempt(1),
            snapshot: Timestamp::ZERO,
            reads: level.guarded(&reads, &writes).into_owned(),
            level,
            decision: Decision::Commit(writes),
        };
        split(&ShardMap::alone(), &transaction, Timestamp::from_u64(at)).pop_first().unwrap().1
    }

    /// Zhang 2017, Table 3.4, row by row: the committing operation against a prepared read, write and commutative operation, at read committed, snapshot
    /// and strict. C: it can commit; A: it cannot.
    const MATRIX: [(Access, [(Access, &str); 3]); 3] = [
        (Access::Read, [(Access::Read, "CCC"), (Access::Write, "CCA"), (Access::Merge, "CCA")]),
        (Access::Write, [(Access::Read, "CCA"), (Access::Write, "CAA"), (Access::Merge, "CAA")]),
        (Access::Merge, [(Access::Read, "CCA"), (Access::Write, "CAA"), (Access::Merge, "CCC")]),
    ];

    #[test]
    fn what_is_prepared_is_in_the_way_as_the_published_matrix_says() {
        for (committing, row) in MATRIX {
            for (prepared, verdicts) in row {
                let levels = [Level::ReadCommitted, Level::Snapshot, Level::Strict];
                for (level, verdict) in levels.into_iter().zip(verdicts.chars()) {
                    for at in [5, 9] {
                        let (own, other) = (proposal(1, at, level, committing), proposal(2, 7, level, prepared));
                        let case = format!("{committing:?} at {at} beside {prepared:?} at 7, {level:?}");
                        assert_eq!(conflict(&own, &other), verdict == 'A', "{case}");
                        assert_eq!(conflict(&other, &own), verdict == 'A', "{case}, the other way round");
                    }
                }
            }
        }
    }

    /// Of transactions at two levels, the reader's decides of a read, and the stricter one of two writes.
    #[test]
    fn each_of_two_levels_gets_what_it_promises() {
        use Access::{Read, Write};
        use Level::{ReadCommitted, Snapshot, Strict};
        for ((level, access), (other_level, other_access), conflicts) in [
            ((Strict, Read), (ReadCommitted, Write), true),
            ((Strict, Write), (ReadCommitted, Read), false),
            ((Strict, Write), (ReadCommitted, Write), true),
            ((Snapshot, Write), (ReadCommitted, Write), true),
            ((Strict, Read), (Snapshot, Write), true),
            ((Snapshot, Read), (Strict, Write), false),
        ] {
            let (own, other) = (proposal(1, 5, level, access), proposal(2, 7, other_level, other_access));
            assert_eq!(conflict(&own, &other), conflicts, "{level:?} {access:?}, {other_level:?} {other_access:?}");
            assert_eq!(conflict(&other, &own), conflicts, "{other_level:?} {other_access:?}, {level:?} {access:?}");
        }
    }

    #[test]
    fn the_life_of_a_row_has_one_order_at_every_level() {
        let life = |client, operation| {
            let put = proposal(client, client as u64, Level::ReadCommitted, Access::Write);
            let cell = Cell { column: ColumnId::ROW, ..put.writes()[0].cell.clone() };
            let effect = crate::node::Effect::Commit([Write { cell, operation }].into());
            Arc::new(Proposal { effect, ..(*put).clone() })
        };
        let put = proposal(3, 3, Level::ReadCommitted, Access::Write);
        assert!(conflict(&life(1, Operation::Create), &life(2, Operation::Create)));
        assert!(conflict(&life(1, Operation::Delete), &put));
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
            let (reader_of, writer_of) =
                (proposal(1, reads_at, reader, Access::Read), proposal(2, 7, writer, Access::Write));
            let stands = reader == Serializable && reads_at < 7;
            let case = format!("{reader:?} at {reads_at} beside {writer:?}");
            assert_eq!(conflict(&reader_of, &writer_of), !stands, "{case}");
            assert_eq!(conflict(&writer_of, &reader_of), !stands, "{case}, the other way round");
        }
    }

    #[test]
    fn writes_of_one_cell_conflict_at_either_serial_level() {
        for level in [Level::Strict, Level::Serializable] {
            let write = |client, at, level| proposal(client, at, level, Access::Write);
            assert!(conflict(&write(1, 5, level), &write(2, 7, Level::Serializable)));
        }
    }
}
