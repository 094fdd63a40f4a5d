//! Queries inside a transaction.
//!
//! Invariants: an answer is complete: of a query with a limit, the rows are the first ones that there are, and what is noted as read ends with the last of
//! them. A mutation notes each row that it was given by a read of its own, as what a query reads says only which rows come in; and each row that its own
//! writes may bring in, as whether they do rests on what else is in the row.

use std::sync::Arc;

use iolite_values::{Direction, Interest, KeyRange, Query, Read, Row, RowKey, TableId, may_bring};
use iolite_wire::message::First;

use super::{Missed, RunError, RunOf, Transaction};
use crate::cache::Answer;
use crate::query::Question;

impl Transaction<'_> {
    /// Beside the rows that a query with a limit needs, half as many and these are asked for: so a row that leaves does not cost a round trip.
    pub const SPARE_ROWS: usize = 8;

    /// The rows that a question asks for, in its order.
    ///
    /// # Errors
    /// [`RunError::Question`]; otherwise as [`Transaction::row`].
    pub fn ask(&mut self, table: TableId, question: &Question) -> Result<Vec<(RowKey, Row)>, RunError> {
        let plan = question.plan(self.schema, table)?;
        let mut rows = self.query(&plan.query, plan.direction, plan.limit)?;
        plan.sort(&mut rows);
        Ok(rows)
    }

    /// The answers of a query in the order of its index or against it: all, or the first ones.
    ///
    /// # Errors
    /// As [`Transaction::row`].
    pub fn query(
        &mut self,
        query: &Query,
        direction: Direction,
        limit: Option<usize>,
    ) -> Result<Vec<(RowKey, Row)>, RunError> {
        let read = Read::Query(Arc::new(query.clone()));
        self.schema.check_read(&read)?;
        self.check_view(&read.interest())?;
        let limit = limit.unwrap_or(usize::MAX);
        if limit == 0 {
            return Ok(Vec::new());
        }
        let answered = self.answered(query, direction, limit);
        let seen = answered.as_ref().map_or(&query.range, |(seen, _)| seen);
        let seen = query.with_range(seen.clone());
        let brought = self.note_brought_in(&seen);
        let Some((_, rows)) = answered else {
            let missed = self.missed(query, direction, limit);
            self.run.note_missed(missed)?;
            return Err(RunError::Stopped);
        };
        brought?;
        if let RunOf::Mutation(_) = self.run.of {
            for (key, _) in &rows {
                self.note(Read::Range { table: query.table, range: KeyRange::one(key) })?;
            }
        }
        self.note(Read::Query(Arc::new(seen)))?;
        Ok(rows)
    }

    /// Notes the rows that the transaction's own writes may bring into a query, all of them also where one is not known yet: so they are fetched at once.
    fn note_brought_in(&mut self, query: &Query) -> Result<(), RunError> {
        let rows: Vec<RowKey> = may_bring(query, &self.run.writes).cloned().collect();
        let noted = rows.iter().map(|key| self.note(Read::Range { table: query.table, range: KeyRange::one(key) }));
        noted.fold(Ok(()), Result::and)
    }

    /// The rows, and the range that they are all answers of; none if there may be others.
    fn answered(&self, query: &Query, direction: Direction, limit: usize) -> Option<(KeyRange, Vec<(RowKey, Row)>)> {
        let part = self.reader.part_of(query, direction)?;
        let answers = self.layered().answers(&part, direction, limit);
        if answers.len() < limit && part.range != query.range {
            return None;
        }
        let last = answers.last().filter(|_| answers.len() == limit);
        let seen = last.map_or(query.range.clone(), |(place, ..)| query.range.ending_with(place.as_bytes(), direction));
        let owned = |(_, key, row): Answer<'_>| (key.clone(), row.clone());
        Some((seen, answers.into_iter().map(owned).collect()))
    }

    /// The first rows of a query, which are to be asked for.
    pub(super) fn missed(&self, query: &Query, direction: Direction, limit: usize) -> Missed {
        let interest = Interest::Query(Arc::new(query.clone()));
        if limit == usize::MAX {
            return Missed { interest, first: None };
        }
        // What pending writes take out of the answer is in it for the gateway still.
        let hidden = self.layered().hidden_answers(query);
        let rows = u32::try_from(limit.saturating_add(hidden)).unwrap_or(u32::MAX);
        let first = First { rows, direction };
        Missed { interest, first: Some(first) }
    }
}
