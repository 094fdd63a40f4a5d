//! The judge: whether somebody may do something, as of one position of the store.
//!
//! Invariants: what has no rule is denied. References and sets read unfiltered data. The answer rests on the reads that come with it: while none of
//! them changes, the answer stays.
//! Source: designed for the gateway's door of writes; the store validates the reads, as it does a transaction's own.

mod deeds;
mod denial;
mod explain;
mod follow;
mod leaf;
mod operations;
mod outcome;
mod scene;
mod sets;
mod told;
mod view;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use iolite_values::{Cell, Element, KeyRange, LogId, ObjectName, Query, Read, Row, RowKey, Schema, TableId, Write};

use crate::{Claims, ClassRights, LogRights, Right, Rights, Rule, TableRights};
use outcome::Outcome;
use scene::{Asking, Scene};
pub(crate) use sets::Mine;

pub use denial::{Denial, Why};
pub use explain::{Explained, Explanation};

/// A row of a table.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RowName {
    pub table: TableId,
    pub key: RowKey,
}

/// The part of the store that is known, as of the position that is judged.
pub trait Rows {
    /// A row; an empty one if it is not there. None: not known yet.
    fn row(&self, row: &RowName) -> Option<Cow<'_, Row>>;

    /// All answers of the query of a set. None: not known yet.
    fn answers(&self, query: &Query) -> Option<Vec<(RowKey, Cow<'_, Row>)>>;
}

/// Rows and sets that have to be known before an answer can be given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    pub rows: BTreeSet<RowName>,
    pub sets: BTreeSet<Arc<Query>>,
}

/// An answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Judgement {
    /// Allowed, as long as none of these reads changes.
    Allowed(BTreeSet<Read>),
    /// Denied, for this reason.
    Denied(Denial),
    /// Read these at the same position, and ask again.
    Needs(Needs),
}

/// Judges for one user, as of one position of the store.
#[derive(Clone, Copy)]
pub struct Judge<'a> {
    pub rights: &'a Rights,
    pub schema: &'a Schema,
    pub claims: &'a Claims,
    /// The gateway's time, in milliseconds since 1970.
    pub now_ms: i64,
    pub rows: &'a dyn Rows,
}

impl<'a> Judge<'a> {
    /// Whether the user may commit these writes. They are one transaction's, in its order.
    pub fn transaction(&self, writes: &[Write]) -> Judgement {
        let writes = by_row(writes);
        let rows = writes.keys().map(|row| self.row_of(row, &writes, &Right::OF_TABLES));
        Judgement::all(rows)
    }

    /// Whether the writes leave rows that satisfy their `check` rules. Nobody is above these.
    pub fn checks(&self, writes: &[Write]) -> Judgement {
        let writes = by_row(writes);
        let checked = writes.keys().filter(|row| self.is_checked(row));
        Judgement::all(checked.map(|row| match self.row_of(row, &writes, &[Right::Check]) {
            // There is no row in the end that could break the rule, as long as this stays so.
            Judgement::Denied(Denial { why: Why::Missing, reads, .. }) => Judgement::Allowed(reads),
            judgement @ (Judgement::Allowed(_) | Judgement::Denied(_) | Judgement::Needs(_)) => judgement,
        }))
    }

    fn is_checked(&self, row: &RowName) -> bool {
        match self.schema.table_name(row.table).and_then(|name| self.rights.tables.get(name)) {
            Some(TableRights::Rules(rules)) => rules.check.is_some(),
            Some(TableRights::Open) | None => false,
        }
    }

    /// Whether the user may see a row, which is there.
    pub fn read(&self, row: &RowName) -> Judgement {
        let Some(name) = self.schema.table_name(row.table) else { return Denial::unknown().into() };
        let rule = match self.rights.tables.get(name) {
            Some(TableRights::Open) => return Judgement::Allowed(BTreeSet::new()),
            Some(TableRights::Rules(rules)) => rules.rule(Right::Read),
            None => None,
        };
        let Some(rule) = rule else { return Denial::table(name, Why::NoRule(Right::Read)).into() };
        let nothing = BTreeMap::new();
        match Scene::reading(self, row, &nothing) {
            Ok(scene) => Judgement::of(scene.outcome(rule, false), || Denial::table(name, Why::Rule(Right::Read))),
            Err(needs) => Judgement::Needs(needs),
        }
    }

    /// Whether the user may join a log, or run this operation on it.
    pub fn log(&self, log: &LogId, operation: Option<&str>) -> Judgement {
        let right = if operation.is_some() { Right::Run } else { Right::Join };
        let rule = match self.rights.logs.get(&*log.name) {
            Some(LogRights::Open) => return Judgement::Allowed(BTreeSet::new()),
            Some(LogRights::Rules(rules)) => rules.rule(right),
            None => None,
        };
        self.asked(Asking::of_log(log, operation), rule, right, &format!("log {:?}", log.name))
    }

    /// Whether the user may call a method of an object, have a copy, or hold it.
    pub fn object(&self, object: &ObjectName, right: Right, method: Option<&str>) -> Judgement {
        let rule = match self.rights.objects.get(object.class()) {
            Some(ClassRights::Open) => return Judgement::Allowed(BTreeSet::new()),
            Some(ClassRights::Rules(rules)) => rules.rule(right),
            None => None,
        };
        self.asked(Asking::Object { object, method }, rule, right, &format!("class {:?}", object.class()))
    }

    fn asked(&self, asking: Asking<'_>, rule: Option<&Rule>, right: Right, what: &str) -> Judgement {
        let Some(rule) = rule else { return Denial::of(what, Why::NoRule(right)).into() };
        let nothing = BTreeMap::new();
        let scene = Scene { judge: self, writes: &nothing, asking };
        Judgement::of(scene.outcome(rule, false), || Denial::of(what, Why::Rule(right)))
    }

    /// Whether what the transaction does to one row is allowed, by these of its table's rules.
    fn row_of(&self, row: &RowName, writes: &BTreeMap<RowName, Vec<Write>>, rights: &[Right]) -> Judgement {
        let Some(name) = self.schema.table_name(row.table) else { return Denial::unknown().into() };
        let rules = match self.rights.tables.get(name) {
            Some(TableRights::Open) => return Judgement::Allowed(BTreeSet::new()),
            Some(TableRights::Rules(rules)) => rules,
            None => return Denial::table(name, Why::NoTable).into(),
        };
        let judged = match Scene::writing(self, row, writes) {
            Ok(judged) => judged,
            Err(needs) => return Judgement::Needs(needs),
        };
        let deeds = match judged {
            Ok(deeds) => deeds,
            Err(why) => {
                let life = Cell::row(row.table, row.key.clone());
                let reads = BTreeSet::from([Read::Cell { cell: life, element: Element::Whole }]);
                return Denial { reads, ..Denial::table(name, why) }.into();
            }
        };
        let mut answers = vec![Judgement::Allowed(deeds.reads.iter().cloned().collect())];
        for right in deeds.rights.iter().filter(|right| rights.contains(right)) {
            answers.push(match rules.rule(*right) {
                // A table without a check lets every row be.
                None if *right == Right::Check => continue,
                None => Denial::table(name, Why::NoRule(*right)).into(),
                Some(rule) => {
                    let scene = deeds.scene(self, writes, *right);
                    Judgement::of(scene.outcome(rule, false), || Denial::table(name, Why::Rule(*right)))
                }
            });
        }
        Judgement::all(answers)
    }
}

impl RowName {
    /// The query of this row alone. None: the schema lacks its table.
    pub fn query(&self, schema: &Schema) -> Option<Query> {
        let live = schema.table_by_id(self.table)?.live;
        Some(Query { keys: KeyRange::one(&self.key), ..Query::all(self.table, live) })
    }
}

impl Needs {
    /// The same needs as sets alone: each row as the set of it.
    #[must_use]
    pub fn into_sets(self, schema: &Schema) -> Needs {
        let rows = self.rows.iter().filter_map(|row| row.query(schema)).map(Arc::new);
        Needs { sets: self.sets.into_iter().chain(rows).collect(), rows: BTreeSet::new() }
    }

    pub fn is_empty(&self) -> bool {
        self.rows.is_empty() && self.sets.is_empty()
    }

    /// Both needs.
    pub fn add(&mut self, other: Needs) {
        self.rows.extend(other.rows);
        self.sets.extend(other.sets);
    }
}

impl Judgement {
    fn of(outcome: Outcome, denial: impl FnOnce() -> Denial) -> Judgement {
        match outcome.holds {
            Some(true) => Judgement::Allowed(outcome.reads.into_iter().collect()),
            Some(false) => Judgement::Denied(Denial { reads: outcome.reads.into_iter().collect(), ..denial() }),
            None => Judgement::Needs(outcome.needs),
        }
    }

    /// Allowed if all are. A denial that may end when the client runs again comes before one that is final.
    fn all(answers: impl IntoIterator<Item = Judgement>) -> Judgement {
        let (mut reads, mut needs, mut denied) = (BTreeSet::new(), Needs::default(), None::<Denial>);
        for answer in answers {
            match answer {
                Judgement::Allowed(own) => reads.extend(own),
                Judgement::Needs(own) => needs.add(own),
                Judgement::Denied(own) if denied.as_ref().is_none_or(|first| own.why < first.why) => denied = Some(own),
                Judgement::Denied(_) => {}
            }
        }
        match denied {
            Some(denial) => Judgement::Denied(denial),
            None if needs.is_empty() => Judgement::Allowed(reads),
            None => Judgement::Needs(needs),
        }
    }
}

fn by_row(writes: &[Write]) -> BTreeMap<RowName, Vec<Write>> {
    let mut rows: BTreeMap<RowName, Vec<Write>> = BTreeMap::new();
    for write in writes {
        let row = RowName { table: write.cell.table, key: write.cell.row.clone() };
        rows.entry(row).or_default().push(write.clone());
    }
    rows
}

#[cfg(test)]
mod tests;
