//! Trials: rights over a small store in memory, for the tests of an app.
//!
//! Invariants: a trial judges as servers do, by the same judge. It knows all rows that it was given, and a row that it was not given is not there.
//! No judgement changes its rows.

mod caller;
mod given;
mod mistake;
mod wanted;

use std::borrow::Cow;
use std::collections::BTreeMap;

use iolite_values::{LogId, ObjectName, Query, Row, RowKey, Schema, TableId, Write};

use crate::{Context, Explanation, Judge, Judgement, Right, Rights, RowName, Rows};

pub use caller::Caller;
pub use mistake::Mistake;
pub use wanted::Wanted;

/// Rights that are tried, beside the rows that the test gives.
#[derive(Clone, Debug)]
pub struct Trial {
    schema: Schema,
    rights: Rights,
    known: Known,
}

#[derive(Clone, Debug, Default)]
struct Known(BTreeMap<RowName, Row>);

impl Trial {
    /// # Errors
    /// The rights do not fit the schema: each problem on a line, as `iolite schema plan` tells it.
    pub fn new(schema: Schema, rights: Rights) -> Result<Trial, Mistake> {
        let problems = rights.problems(&Context { schema: &schema, claims: None, classes: None, has_indexes: true });
        if !problems.is_empty() {
            let lines: Vec<_> = problems.iter().map(ToString::to_string).collect();
            return Err(Mistake::new(lines.join("\n")));
        }
        Ok(Trial { schema, rights, known: Known::default() })
    }

    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// Puts rows into the store, whoever may: the rows that these writes make. A row that was given before is replaced.
    ///
    /// # Errors
    /// A write that does not fit the schema.
    pub fn give(&mut self, writes: &[Write]) -> Result<(), Mistake> {
        let mut rows: BTreeMap<RowName, Row> = BTreeMap::new();
        for write in self.stored(writes)? {
            let name = RowName { table: write.cell.table, key: write.cell.row.clone() };
            let row = rows.entry(name).or_default();
            row.apply(write.cell.column, &write.operation).map_err(|error| Mistake::new(error.to_string()))?;
        }
        self.known.0.extend(rows);
        Ok(())
    }

    /// Whether somebody may commit these writes, which are one mutation's.
    ///
    /// # Errors
    /// A write that does not fit the schema.
    pub fn may(&self, caller: &Caller, writes: &[Write]) -> Result<Explanation, Mistake> {
        Ok(self.explanation(caller, &Wanted::Commit(self.stored(writes)?)))
    }

    /// Whether somebody may see a row.
    pub fn may_see(&self, caller: &Caller, row: &RowName) -> Explanation {
        self.explanation(caller, &Wanted::See(row.clone()))
    }

    /// Whether somebody may join a log.
    pub fn may_join(&self, caller: &Caller, log: &LogId) -> Explanation {
        self.explanation(caller, &Wanted::Join(log.clone()))
    }

    /// Whether somebody may run an operation on a log.
    pub fn may_run(&self, caller: &Caller, log: &LogId, operation: &str) -> Explanation {
        self.explanation(caller, &Wanted::Run(log.clone(), operation.to_owned()))
    }

    /// Whether somebody may do this with an object.
    pub fn may_use(&self, caller: &Caller, object: &ObjectName, right: Right, method: Option<&str>) -> Explanation {
        self.explanation(caller, &Wanted::Use(object.clone(), right, method.map(str::to_owned)))
    }

    /// The rows of a table that somebody may see, in the order of their keys.
    ///
    /// # Errors
    /// There is no such table, or its rows cannot be given.
    pub fn sees(&self, caller: &Caller, table: &str) -> Result<Vec<(RowKey, Row)>, Mistake> {
        given::table(&self.schema, table)?;
        let judge = self.judge(caller);
        let own = self.known.0.iter().filter(|(name, _)| name.table == TableId::of(table));
        let seen = own.filter(|(name, _)| matches!(judge.read(name), Judgement::Allowed(_)));
        Ok(seen.map(|(name, row)| (name.key.clone(), row.clone())).collect())
    }

    fn explanation(&self, caller: &Caller, wanted: &Wanted) -> Explanation {
        self.judge(caller).explanation(wanted).expect("a trial knows all rows and sets, so it needs no others")
    }

    fn judge<'a>(&'a self, caller: &'a Caller) -> Judge<'a> {
        let Caller { claims, now_ms } = caller;
        Judge { rights: &self.rights, schema: &self.schema, claims, now_ms: *now_ms, rows: &self.known }
    }

    /// The writes as a store gets them.
    fn stored(&self, writes: &[Write]) -> Result<Vec<Write>, Mistake> {
        let stored = writes.iter().map(|write| {
            let (name, _) = self.schema.find(write.cell.table).map_err(|error| Mistake::new(error.to_string()))?;
            let operation = given::as_stored(given::table(&self.schema, name)?, write.operation.clone());
            let write = Write { operation, ..write.clone() };
            self.schema.check_write(&write).map_err(|error| Mistake::new(error.to_string()))?;
            Ok(write)
        });
        stored.collect()
    }
}

impl Rows for Known {
    fn row(&self, row: &RowName) -> Option<Cow<'_, Row>> {
        Some(self.0.get(row).map_or_else(Cow::default, Cow::Borrowed))
    }

    fn answers(&self, query: &Query) -> Option<Vec<(RowKey, Cow<'_, Row>)>> {
        let own = self.0.iter().filter(|(name, row)| name.table == query.table && query.selects(&name.key, row));
        Some(own.map(|(name, row)| (name.key.clone(), Cow::Borrowed(row))).collect())
    }
}

#[cfg(test)]
mod tests;
