//! Validation: what becomes of a transaction, given what it found while it holds its locks.
//!
//! Invariant: the rule is the replica's (docs/protocols/replica.md): reads are compared with every commit since the snapshot, by the table of
//! commutativity. A timestamp is chosen above everything, so none has to be refused.

use std::collections::{BTreeMap, BTreeSet};

use iolite_store::size::{ROW_BYTES_MAX, row_bytes};
use iolite_store::{CommitReply, Refusal, Validity};
use iolite_values::{
    CellState, Commutativity, Operation, Read, Row, Timestamp, Transaction, Write, disturbs, observes, writes_commute,
};

use crate::facts::{Facts, RowId};
use crate::locks::Plan;
use crate::settings::Broken;

/// What comes of an attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It may be decided, at a timestamp above everything.
    Accept,
    Reply(CommitReply),
    Refuse(Refusal),
    /// Nothing can be said before these rows are locked exclusively, too.
    Lock(BTreeSet<RowId>),
}

pub fn validate(transaction: &Transaction, facts: &Facts, plan: &Plan, broken: Broken) -> Verdict {
    if let Some(completion) = &facts.client.completion {
        return Verdict::Reply(CommitReply::Completed(completion.clone()));
    }
    if transaction.id.counter <= facts.client.acknowledged {
        return Verdict::Reply(CommitReply::Forgotten);
    }
    let resolved = facts.standing.highest;
    if rests_on_its_snapshot(transaction) && transaction.snapshot > resolved {
        return Verdict::Refuse(Refusal::NotResolved { asked: transaction.snapshot, resolved });
    }
    if let Some(at_least) = conflict(transaction, facts, broken) {
        return Verdict::Reply(CommitReply::Conflict { at_least });
    }
    let lacking = plan.lacking(transaction, |id| facts.rows.get(id).map(|row| &row.latest));
    if !lacking.is_empty() && broken != Broken::SkipLocks {
        return Verdict::Lock(lacking);
    }
    match check_effects(transaction.writes(), facts) {
        Ok(()) => Verdict::Accept,
        Err(Unfit::NoSuchElement | Unfit::RowIsThere) => {
            Verdict::Reply(CommitReply::Conflict { at_least: facts.standing.highest })
        }
        Err(Unfit::Refused(refusal)) => Verdict::Refuse(refusal),
    }
}

/// Whether what a transaction that only reads has read is true still.
pub fn validity(reader: &Transaction, facts: &Facts, broken: Broken) -> Validity {
    conflict(reader, facts, broken).map_or(Validity::Valid, |at_least| Validity::Changed { at_least })
}

/// Whether anything that was before its snapshot has to be so still.
pub fn rests_on_its_snapshot(transaction: &Transaction) -> bool {
    !transaction.reads.is_empty() || (transaction.level.guards_writes() && !transaction.writes().is_empty())
}

/// The last commit that changed something that was read, after it was read; at the level of a snapshot, also the last one since that does not commute
/// with what is written.
fn conflict(transaction: &Transaction, facts: &Facts, broken: Broken) -> Option<Timestamp> {
    if !rests_on_its_snapshot(transaction) || broken == Broken::SkipReadValidation {
        return None;
    }
    if transaction.snapshot < facts.standing.low_watermark {
        // Nobody can tell any more: run again on a snapshot of which it can be told.
        return Some(facts.standing.highest);
    }
    let cells = transaction.reads.iter().filter_map(|read| change_of(read, transaction.snapshot, facts));
    let guards_writes = transaction.level.guards_writes() && broken != Broken::LastCommitterWins;
    let guarded = if guards_writes { transaction.writes() } else { &[] };
    let writes = guarded.iter().filter_map(|write| change_beside(write, transaction.snapshot, facts));
    cells.chain(facts.range_change).chain(writes).chain(change_of_queries(&transaction.reads, facts)).max()
}

/// The last commit that may have brought a row into a query.
fn change_of_queries(reads: &[Read], facts: &Facts) -> Option<Timestamp> {
    let queries: Vec<&Read> = reads.iter().filter(|read| matches!(read, Read::Query(_))).collect();
    let mut newest_first = facts.beside_queries.iter().rev();
    let change = newest_first.find(|commit| queries.iter().any(|query| disturbs(&commit.writes, query)));
    change.map(|commit| commit.at)
}

fn change_beside(write: &Write, snapshot: Timestamp, facts: &Facts) -> Option<Timestamp> {
    let row = facts.rows.get(&(write.cell.table, write.cell.row.clone()))?;
    let mut newest_first = row.commits.iter().rev().take_while(|commit| commit.at > snapshot);
    let clashes = |other: &Write| writes_commute(write, other) == Commutativity::Conflict;
    newest_first.find(|commit| commit.writes.iter().any(clashes)).map(|commit| commit.at)
}

fn change_of(read: &Read, snapshot: Timestamp, facts: &Facts) -> Option<Timestamp> {
    let Read::Cell { cell, element: _ } = read else { return None };
    let row = facts.rows.get(&(cell.table, cell.row.clone()))?;
    let mut newest_first = row.commits.iter().rev().take_while(|commit| commit.at > snapshot);
    let change = newest_first.find(|commit| commit.writes.iter().any(|write| observes(read, write)));
    change.map(|commit| commit.at)
}

enum Unfit {
    Refused(Refusal),
    /// A list is not as long as the transaction takes it to be.
    NoSuchElement,
    /// It creates a row, and there is one.
    RowIsThere,
}

/// Applies the writes to what the rows hold now, and sees whether they can be.
fn check_effects(writes: &[Write], facts: &Facts) -> Result<(), Unfit> {
    let mut rows: BTreeMap<RowId, Row> = BTreeMap::new();
    for write in writes {
        let id = (write.cell.table, write.cell.row.clone());
        let latest = || facts.rows.get(&id).map(|row| row.latest.clone()).unwrap_or_default();
        let row = rows.entry(id.clone()).or_insert_with(latest);
        if let Operation::SetAt { index, .. } = write.operation {
            check_index(row.cell(write.cell.column), index)?;
        }
        if write.operation == Operation::Create && row.exists() {
            return Err(Unfit::RowIsThere);
        }
        row.apply(write.cell.column, &write.operation)
            .map_err(|mismatch| Unfit::Refused(Refusal::Type { cell: write.cell.clone(), mismatch }))?;
    }
    for ((table, key), row) in rows {
        if row_bytes(&row) > ROW_BYTES_MAX {
            return Err(Unfit::Refused(Refusal::RowTooLarge { table, key, bytes_max: ROW_BYTES_MAX }));
        }
    }
    Ok(())
}

/// A cell of another type is for the check of types to report.
fn check_index(state: Option<&CellState>, index: u32) -> Result<(), Unfit> {
    let length = match state {
        Some(CellState::List(list)) => list.len(),
        None => 0,
        Some(
            CellState::Row(_)
            | CellState::Scalar(_)
            | CellState::Register(_)
            | CellState::Counter(_)
            | CellState::Set(_)
            | CellState::Map(_)
            | CellState::Text(_)
            | CellState::Merged(_),
        ) => return Ok(()),
    };
    if (index as usize) < length { Ok(()) } else { Err(Unfit::NoSuchElement) }
}

#[cfg(test)]
mod tests;
