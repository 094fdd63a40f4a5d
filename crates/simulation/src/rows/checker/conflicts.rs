//! Conflicts: told of calls that the confirmed rows do not contain, and at rest listed exactly while a kept call's base is another row than the confirmed one.

use std::collections::BTreeSet;

use iolite_client::Base;
use iolite_values::{RowKey, StoreIncarnation, Write};

use super::States;
use crate::checker::{Commits, Invariant, Violation};
use crate::history::{EndedAs, History};
use crate::rows::app::Synced;
use crate::world::ClientNode;

/// # Errors
/// A conflict between a row and itself, or of a call that the row contained.
pub fn check_told(history: &History, store: StoreIncarnation, commits: &Commits) -> Result<(), Violation> {
    for told in history.rows.conflicts.iter().filter(|told| told.store == Some(store)) {
        let server = told.conflict.server.clone().unwrap_or_default();
        if told.conflict.base == Base::Row(server) {
            return Err(Violation::new(Invariant::Conflicts, format!("nobody else has written the row of {told:?}")));
        }
        for call in &told.conflict.calls {
            let end = history.calls.get(&(told.client, *call)).and_then(|called| called.ends.get(&Some(store)));
            // A call of which nothing had to be sent is confirmed by the rows as they were.
            let has_written = |at| {
                let writes = commits.by_time.get(at).and_then(|own| own.writes.as_ref());
                let is_of_row =
                    |own: &Write| own.cell.table == Synced::Notes.table() && own.cell.row == told.conflict.key;
                writes.is_some_and(|writes| writes.iter().any(is_of_row))
            };
            if let Some(EndedAs::Confirmed(at)) = end.map(|end| &end.how)
                && *at <= told.at
                && has_written(at)
            {
                let what = format!("{told:?} is told, and the row contains {call:?} since {at:?}");
                return Err(Violation::new(Invariant::Conflicts, what));
            }
        }
    }
    Ok(())
}

/// When nothing goes on but people who have not decided.
///
/// # Errors
/// A conflict that is listed and is none, or is one and is not listed.
pub fn check_listed(history: &History, node: &ClientNode, states: &States) -> Result<(), Violation> {
    let pending = node.pending_counters();
    let listed = node.client.conflicts(Synced::Notes.name()).expect("notes are causal");
    let listed: BTreeSet<RowKey> = listed.into_iter().map(|conflict| conflict.key).collect();
    let (mut expected, mut may_be) = (BTreeSet::new(), BTreeSet::new());
    for row in history.rows.rows_of(node.index, &pending) {
        let base = history.rows.base(&row, &pending);
        let (_, table, key) = row.clone();
        if table == Synced::Notes && base != Some(&states.last(table.table(), &key)) {
            // Nobody is told of a row that was inserted before it is sent.
            let is_inserted = base.is_some_and(|base| !base.exists());
            if is_inserted {
                may_be.insert(key)
            } else {
                expected.insert(key)
            };
        }
    }
    if expected.is_subset(&listed) && listed.difference(&expected).all(|key| may_be.contains(key)) {
        return Ok(());
    }
    let calls: Vec<_> = pending.iter().map(|call| (call, history.rows.calls.get(&(node.index, *call)))).collect();
    let told: Vec<_> = node.client.pending().map(|pending| (pending.counter, pending.status)).collect();
    let rows: Vec<_> = expected.iter().map(|key| (key, states.of(Synced::Notes.table(), key))).collect();
    let what = format!(
        "{:?} lists conflicts of {listed:?}, and {expected:?} are in conflict: {calls:?} {told:?}, the store has {rows:?}",
        node.index
    );
    Err(Violation::new(Invariant::Conflicts, what))
}
