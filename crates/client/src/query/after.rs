//! Where an answer begins that comes after another row.
//!
//! Invariant: of that row only its place counts, which is what it has in the columns of the index and in its primary key. It may be gone by now, or stand
//! elsewhere. Whatever the place, an answer with it is the rest of the answer without it.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

use iolite_values::{
    Condition, Direction, IndexKey, KeyRange, OperationError, Query, Read, RowKey, Schema, Table, Test, Value, set_of,
};

use super::{Question, QuestionError};
use crate::transaction::RunError;

impl Question {
    /// The part of a query's range that comes after the row that is asked for, if any is. `indexed` are the columns of the query's index.
    ///
    /// # Errors
    /// [`QuestionError::NoPlace`]; [`RunError::Invalid`] for a value that its column cannot have.
    pub(super) fn rest(
        &self,
        schema: &Schema,
        (name, table): (&str, &Table),
        query: &Query,
        indexed: &[&str],
        direction: Direction,
    ) -> Result<KeyRange, RunError> {
        let Some(after) = &self.after else { return Ok(query.range.clone()) };
        let key = table.key.iter().map(String::as_str);
        let columns: Vec<&str> = indexed.iter().copied().chain(key).collect();
        // What is asked to be equal is so in all answers, whatever the row has there.
        let value =
            |column: &str| self.equal(column).map_or_else(|| after.get(column).cloned(), |(_, value)| Some(value));
        let missing: BTreeSet<&str> = set_of(columns.iter().copied().filter(|column| value(column).is_none()));
        if !missing.is_empty() {
            let columns = missing.into_iter().map(str::to_owned).collect();
            return Err(QuestionError::NoPlace { table: name.into(), columns }.into());
        }
        let values: Vec<Value> = columns.iter().filter_map(|column| value(column)).collect();
        for (column, value) in columns.iter().zip(&values) {
            let conditions = table.field(column).map(|field| Condition { field, test: Test::Equal(value.clone()) });
            let has_such =
                Query { conditions: conditions.into_iter().collect(), ..Query::all(query.table, query.live) };
            schema.check_read(&Read::Query(Arc::new(has_such)))?;
        }
        let (indexed, key) = values.split_at(indexed.len());
        let key = RowKey::new(key).map_err(OperationError::from)?;
        let place = IndexKey::new(indexed.iter().map(Cow::Borrowed), &key);
        Ok(query.range.within(&KeyRange::all().behind(place.as_bytes(), direction)))
    }
}
