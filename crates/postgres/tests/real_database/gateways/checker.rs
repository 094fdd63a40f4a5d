//! Whether what the feeds told and what clients saw is one history, whole and without doubles, in which every transaction has what its level promises.

use std::collections::{BTreeMap, BTreeSet};

use iolite_store::conformance::first_committer_wins;
use iolite_store::{Commit, CompletionDecision, RowAt};
use iolite_values::{
    CellState, Decision, Interest, Operation, Row, RowKey, TableId, Timestamp, Transaction, TransactionId, disturbs,
};

use super::history::{Inner, Outcome, Seen};
use crate::gateway::Told;

/// How many transactions committed although something that they had read was not so any more: strict ones could not have.
pub fn check(history: &Inner, told: &[Told]) -> Result<usize, String> {
    if let Some(violation) = history.violations.first() {
        return Err(violation.clone());
    }
    let commits = one_feed(told)?;
    every_commit_once(history, commits)?;
    for outcome in &history.outcomes {
        real_time(outcome)?;
        promise_holds(outcome, commits)?;
    }
    replay(history, commits)?;
    Ok(history.outcomes.iter().filter(|outcome| is_of_the_past(outcome, commits)).count())
}

/// All stores tell the same, from the beginning to where all of them are.
fn one_feed(told: &[Told]) -> Result<&[Commit], String> {
    let begins = &told[0].ready;
    for told in told {
        if let Some(violation) = &told.violation {
            return Err(violation.clone());
        }
        if told.ready.len() != 1 || told.ready != *begins {
            return Err(format!("a feed began at {:?}, and another at {begins:?}", told.ready));
        }
    }
    let end = told.iter().map(|told| told.cursor).min().unwrap_or_default();
    let through = |told: &Told| told.commits.iter().take_while(|commit| commit.at <= end).count();
    let first = &told[0].commits[..through(&told[0])];
    for other in &told[1..] {
        let same = first.iter().zip(&other.commits[..through(other)]).find(|(a, b)| a != b);
        if let Some((a, b)) = same {
            return Err(format!("one feed tells {a:?} where another tells {b:?}"));
        }
        if through(other) != first.len() {
            return Err(format!("one feed tells {} commits and another {}", first.len(), through(other)));
        }
    }
    Ok(first)
}

fn every_commit_once(history: &Inner, commits: &[Commit]) -> Result<(), String> {
    let mut expected: BTreeMap<TransactionId, (Timestamp, &Decision)> = BTreeMap::new();
    for outcome in &history.outcomes {
        if outcome.completion.decision == CompletionDecision::Committed {
            expected.insert(outcome.transaction.id, (outcome.completion.at, &outcome.transaction.decision));
        }
    }
    let mut seen = BTreeSet::new();
    for commit in commits {
        if !seen.insert(commit.transaction) {
            return Err(format!("{:?} took effect twice", commit.transaction));
        }
        let Some((at, decision)) = expected.get(&commit.transaction) else {
            return Err(format!("{:?} took effect and was told to nobody", commit.transaction));
        };
        if *at != commit.at || **decision != Decision::Commit(commit.writes.to_vec()) {
            return Err(format!("{commit:?} was told to be at {at:?}, {decision:?}"));
        }
    }
    match expected.keys().find(|id| !seen.contains(id)) {
        Some(lost) => Err(format!("{lost:?} was told to be committed and is in no feed")),
        None => Ok(()),
    }
}

/// What was told before a transaction was submitted comes before it, at whatever level: this store's timestamps are above all that is visible.
fn real_time(outcome: &Outcome) -> Result<(), String> {
    if outcome.completion.at > outcome.told_before {
        return Ok(());
    }
    Err(format!("{outcome:?} comes before what was told before it began"))
}

/// Nothing was committed between a transaction's snapshot and its timestamp that its level guards it from.
fn promise_holds(outcome: &Outcome, commits: &[Commit]) -> Result<(), String> {
    let Transaction { reads, level, .. } = &outcome.transaction;
    for commit in between(outcome, commits) {
        if let Some(read) = reads.iter().find(|read| disturbs(&commit.writes, read)) {
            return Err(format!("{outcome:?} read {read:?}, which {commit:?} changed"));
        }
        if first_committer_wins(*level, outcome.transaction.writes(), &commit.writes) {
            return Err(format!("{outcome:?} overwrote {commit:?}, which its snapshot did not have"));
        }
    }
    Ok(())
}

fn is_of_the_past(outcome: &Outcome, commits: &[Commit]) -> bool {
    let changed = |commit: &Commit| outcome.read.iter().any(|read| disturbs(&commit.writes, read));
    outcome.completion.decision == CompletionDecision::Committed && between(outcome, commits).any(changed)
}

fn between<'a>(outcome: &Outcome, commits: &'a [Commit]) -> impl Iterator<Item = &'a Commit> {
    let (snapshot, at) = (outcome.transaction.snapshot, outcome.completion.at);
    let begin = commits.partition_point(|commit| commit.at <= snapshot);
    commits[begin..].iter().take_while(move |commit| commit.at < at)
}

/// The feed, applied commit by commit, gives what was read at each timestamp.
fn replay(history: &Inner, commits: &[Commit]) -> Result<(), String> {
    let mut seen: Vec<&Seen> = history.seen.iter().collect();
    seen.sort_by_key(|seen| seen.at);
    let mut rows: BTreeMap<(TableId, RowKey), Row> = BTreeMap::new();
    let mut next = commits.iter().peekable();
    for seen in seen {
        while let Some(commit) = next.next_if(|commit| commit.at <= seen.at) {
            apply(&mut rows, commit)?;
        }
        let expected = rows_of(&rows, &seen.interest);
        if expected != seen.rows {
            return Err(format!("{seen:?} was read, and the feed gives {expected:?}"));
        }
    }
    Ok(())
}

fn apply(rows: &mut BTreeMap<(TableId, RowKey), Row>, commit: &Commit) -> Result<(), String> {
    for write in commit.writes.iter() {
        let row = rows.entry((write.cell.table, write.cell.row.clone())).or_default();
        if let Operation::SetAt { index, .. } = write.operation {
            let there =
                matches!(row.cell(write.cell.column), Some(CellState::List(list)) if list.len() > index as usize);
            if !there {
                return Err(format!("{commit:?} replaces an element that is not there"));
            }
        }
        if write.operation == Operation::Create && row.exists() {
            return Err(format!("{commit:?} creates a row that is there"));
        }
        row.apply(write.cell.column, &write.operation).map_err(|error| format!("{commit:?}: {error}"))?;
    }
    Ok(())
}

fn rows_of(rows: &BTreeMap<(TableId, RowKey), Row>, interest: &Interest) -> Vec<RowAt> {
    let within = |table: TableId, key: &RowKey, row: &Row| match interest {
        Interest::Cell(cell) => cell.table == table && cell.row == *key,
        Interest::Range { table: own, range } => *own == table && range.contains(key),
        Interest::Query(query) => query.table == table && query.selects(key, row),
    };
    let part = |row: &Row| match interest {
        Interest::Cell(cell) => {
            let state = row.cell(cell.column).map(|state| (cell.column, state.clone()));
            Row::from_parts(row.exists(), state)
        }
        Interest::Range { .. } | Interest::Query(_) => row.clone(),
    };
    let there = rows.iter().filter(|((table, key), row)| within(*table, key, row));
    let found = there.map(|((table, key), row)| RowAt { table: *table, key: key.clone(), row: part(row) });
    found.filter(|row| !row.row.is_empty()).collect()
}
