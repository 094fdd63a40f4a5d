//! The answers of the parts of a reading, put together.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

use iolite_store::{Commit, Completion, ReadLimit, ReadReply, RowAt, TooOld};
use iolite_values::{Counter, Direction, Query, Timestamp, TransactionId};

use super::part::Found;
use crate::completions::CompletionRow;

/// The rows of the parts in the order that was asked for, through the one that passes the limit. A part that is cut has more than the limit allows, as they
/// are counted here (`Part::take_rows`), so nothing behind its end is among them, and the whole is cut as well.
pub(super) fn rows(
    at: Timestamp,
    limit: ReadLimit,
    query: Option<&Query>,
    found: impl Iterator<Item = Found>,
) -> Result<ReadReply, TooOld> {
    let mut all = Vec::new();
    for part in found {
        let Found::Rows(part) = part else { continue };
        all.extend(part?.rows);
    }
    put_in_order(&mut all, query, limit.direction);
    Ok(ReadReply::through_limit(at, all, limit))
}

/// The parts of a range come in the order of keys; those of a query are of one range of its index each.
fn put_in_order(rows: &mut [RowAt], query: Option<&Query>, direction: Direction) {
    match (query, direction) {
        (None, Direction::Ascending) => {}
        (None, Direction::Descending) => rows.sort_by(|a, b| b.key.cmp(&a.key)),
        (Some(query), Direction::Ascending) => rows.sort_by_cached_key(|row| query.index_key(&row.key, &row.row)),
        (Some(query), Direction::Descending) => {
            rows.sort_by_cached_key(|row| Reverse(query.index_key(&row.key, &row.row)));
        }
    }
}

pub(super) fn completions(reply: ReadReply) -> Vec<(Counter, Completion)> {
    let outcome = |row: &RowAt| match CompletionRow::of(row) {
        Some(CompletionRow::Outcome { client: _, counter, completion }) => Some((counter, completion)),
        Some(CompletionRow::Client { .. }) | None => None,
    };
    reply.rows.iter().filter_map(outcome).collect()
}

/// The counter of the last row of a client.
pub(super) fn last_outcome(reply: &ReadReply) -> Counter {
    match reply.rows.first().and_then(CompletionRow::of) {
        Some(CompletionRow::Outcome { client: _, counter, completion: _ }) => counter,
        Some(CompletionRow::Client { client: _, acknowledged }) => acknowledged,
        None => Counter::default(),
    }
}

/// The commits of all shards, the parts of each put together.
pub(super) fn changes(found: impl Iterator<Item = Found>) -> Result<Vec<Commit>, TooOld> {
    let mut commits: BTreeMap<(Timestamp, TransactionId), Commit> = BTreeMap::new();
    for part in found {
        let Found::Changes(part) = part else { continue };
        for commit in part? {
            match commits.get_mut(&(commit.at, commit.transaction)) {
                Some(known) => {
                    known.writes = known.writes.iter().chain(commit.writes.iter()).cloned().collect::<Arc<[_]>>();
                }
                None => drop(commits.insert((commit.at, commit.transaction), commit)),
            }
        }
    }
    Ok(commits.into_values().collect())
}
