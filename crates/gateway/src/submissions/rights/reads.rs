//! The reads of a submission: nobody learns by a conflict, or by a commit, what happens to rows that he may not see.
//!
//! Invariants: a read of a row that is hidden becomes a query of it with the rule, so "there is no such row" commits while it stays hidden. A range or a query
//! becomes the part of it that may be seen, and the sets that say which part that is. So the mutation is serializable on what its user sees.

use std::collections::BTreeSet;
use std::sync::Arc;

use iolite_rights::{Effective, Judge, Judgement, Needs, RowName};
use iolite_values::{KeyRange, Query, Read, RowKey, TableId};

use super::case::Known;
use crate::following::sight::all_of;

/// Why reads are not narrowed.
pub enum Stop {
    Needs(Needs),
    /// One cannot be narrowed to what may be seen, and why.
    Declined(String),
}

/// The reads that the store validates: of what the user may see.
pub fn narrowed(judge: &Judge<'_>, reads: &[Read], known: &Known) -> Result<Vec<Read>, Stop> {
    let (mut kept, mut needs) = (BTreeSet::new(), Needs::default());
    for read in reads {
        let narrowed = match read {
            Read::Cell { cell, element: _ } => of_row(judge, read, cell.table, &cell.row),
            Read::Range { table, range } => match all_of(judge.schema, *table, range.clone()) {
                Some(query) => of_query(judge, read, &query),
                None => Ok(Vec::new()),
            },
            Read::Query(query) => of_query(judge, read, query),
        };
        match narrowed {
            Ok(own) => kept.extend(own),
            Err(Stop::Needs(own)) => {
                needs.rows.extend(own.rows);
                needs.sets.extend(own.sets);
            }
            Err(stop @ Stop::Declined(_)) => return Err(stop),
        }
    }
    if !needs.is_empty() {
        return Err(Stop::Needs(needs));
    }
    kept.extend(known.sets());
    Ok(kept.into_iter().collect())
}

fn of_row(judge: &Judge<'_>, read: &Read, table: TableId, key: &RowKey) -> Result<Vec<Read>, Stop> {
    let Some(query) = all_of(judge.schema, table, KeyRange::one(key)) else { return Ok(Vec::new()) };
    if !matches!(judge.effective(&query), Effective::Conditions { .. }) {
        return of_query(judge, read, &query);
    }
    match judge.read(&RowName { table, key: key.clone() }) {
        Judgement::Allowed(reads) => Ok(reads.into_iter().chain([read.clone()]).collect()),
        // The query says when it comes in sight.
        Judgement::Denied(_) => of_query(judge, read, &query),
        Judgement::Needs(needs) => Err(Stop::Needs(needs)),
    }
}

fn of_query(judge: &Judge<'_>, read: &Read, query: &Query) -> Result<Vec<Read>, Stop> {
    match judge.effective(query) {
        Effective::True => Ok(vec![read.clone()]),
        effective @ (Effective::False | Effective::Conditions { .. }) => {
            Ok(effective.apply(query).map(|query| Read::Query(Arc::new(query))).into_iter().collect())
        }
        Effective::Declined(why) => Err(Stop::Declined(why)),
        Effective::Needs(needs) => Err(Stop::Needs(needs)),
    }
}
