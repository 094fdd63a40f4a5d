//! Change sets: a causal one writes over what its calls had read, an eventual one brings nothing back.
//!
//! The calls of a set are those that were told to be confirmed at its timestamp. "Had read" is judged by rows: one that came back to what it was may be
//! written over either way.

use std::collections::{BTreeMap, BTreeSet};

use iolite_values::{Cell, ColumnId, Operation, Row, RowKey, StoreIncarnation, Timestamp, Write};

use super::States;
use crate::checker::{Commits, Completed, Invariant, Violation};
use crate::history::{ClientIndex, EndedAs, History, Issued};
use crate::rows::app::{Did, Synced};
use crate::rows::told::Keeps;

/// The kept calls by the commit that they were told of.
type Confirmed<'a> = BTreeMap<(ClientIndex, Timestamp), Vec<(Issued, &'a Keeps)>>;

/// # Errors
/// A set of no call, of two tables, over a row that was not read, or of a row that is brought back.
pub fn check(history: &History, store: StoreIncarnation, commits: &Commits, states: &States) -> Result<(), Violation> {
    let confirmed = confirmed(history, store);
    let goes_on = history.store_going_on() == store;
    for (at, completed) in &commits.by_time {
        let Some((client, counter)) = completed.mutation else { continue };
        let Some(writes) = &completed.writes else { continue };
        if history.calls.contains_key(&(client, counter)) {
            continue;
        }
        let calls = confirmed.get(&(client, *at)).map(Vec::as_slice).unwrap_or_default();
        // Of a history that was lost nobody may have been told.
        if calls.is_empty() && !goes_on {
            continue;
        }
        check_set(completed, *at, writes, calls, states)?;
    }
    Ok(())
}

fn confirmed(history: &History, store: StoreIncarnation) -> Confirmed<'_> {
    let mut confirmed = Confirmed::new();
    for (call, keeps) in &history.rows.calls {
        let Some(called) = history.calls.get(call).filter(|called| called.is_kept()) else { continue };
        if let Some(EndedAs::Confirmed(at)) = called.ends.get(&Some(store)).map(|end| &end.how) {
            confirmed.entry((call.0, *at)).or_default().push((*call, keeps));
        }
    }
    confirmed
}

fn check_set(
    completed: &Completed,
    at: Timestamp,
    writes: &[Write],
    calls: &[(Issued, &Keeps)],
    states: &States,
) -> Result<(), Violation> {
    let wrong = |invariant, what: String| {
        let what = format!("{:?} at {at:?} with {writes:?}, of the calls {calls:?}: {what}", completed.mutation);
        Err(Violation::new(invariant, what))
    };
    let tables: BTreeSet<_> = writes.iter().map(|write| write.cell.table).collect();
    let table = tables.iter().next().copied().and_then(Synced::of);
    let (Some(table), 1, false) = (table, tables.len(), calls.is_empty()) else {
        return wrong(Invariant::Conflicts, "it is no set of one table and of calls that were told of it".into());
    };
    let rows: BTreeSet<&RowKey> = writes.iter().map(|write| &write.cell.row).collect();
    for key in rows {
        let before = states.before(table.table(), key, at);
        match table {
            Synced::Notes if !had_read(calls, key, &before) => {
                return wrong(Invariant::Overwritten, format!("row {key:?} was {before:?}, which they had not read"));
            }
            Synced::Stars if !before.exists() && !inserts(calls, key, writes) => {
                return wrong(Invariant::BroughtBack, format!("row {key:?} was gone, and nobody inserted it"));
            }
            Synced::Notes | Synced::Stars => {}
        }
    }
    Ok(())
}

fn had_read(calls: &[(Issued, &Keeps)], key: &RowKey, row: &Row) -> bool {
    let of_row = calls.iter().filter_map(|(_, keeps)| keeps.rests.get(&(Synced::Notes, key.clone())));
    of_row.flat_map(|rests| &rests.bases).any(|(_, base)| base == row)
}

fn inserts(calls: &[(Issued, &Keeps)], key: &RowKey, writes: &[Write]) -> bool {
    let life = Cell { table: Synced::Stars.table(), row: key.clone(), column: ColumnId::ROW };
    let creates = writes.iter().any(|write| write.cell == life && write.operation == Operation::Create);
    let deletes = writes.iter().any(|write| write.cell == life && write.operation == Operation::Delete);
    let effects = calls.iter().flat_map(|(_, keeps)| &keeps.effects);
    let mut effects = effects.filter(|effect| effect.table == Synced::Stars && effect.key == *key);
    deletes || creates && effects.any(|effect| matches!(effect.did, Did::Insert(..)))
}
