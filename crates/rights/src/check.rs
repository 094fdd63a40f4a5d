//! Problems of rights, found before they are in effect: every problem at once, each a sentence with table, rule and remedy.
//!
//! Invariant: rights without a problem are judged without surprise. Each name that a rule uses is there, each test can match, and each read rule can
//! be a query.

mod columns;
mod kinds;
mod leaves;
mod reads;
mod sets;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use iolite_values::{Schema, Table};

use crate::{ClaimType, ClassRights, LogRights, Right, Rights, Rule, SUBJECT, TableRights};

/// The context that rights are checked against.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    pub schema: &'a Schema,
    /// The claims that the operator has named, without `sub`. None: a developer may say any claim, of any type.
    pub claims: Option<&'a BTreeMap<String, ClaimType>>,
    /// The classes of objects, if they are known.
    pub classes: Option<&'a BTreeSet<String>>,
    /// Whether the store has secondary indexes. PostgreSQL's has none.
    pub has_indexes: bool,
}

/// Something that is wrong with rights.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Problem {
    /// The table, log or class, as in `table "messages"`.
    pub what: String,
    /// The name of the rule, if it is of one.
    pub rule: Option<&'static str>,
    /// The problem, and what to do.
    pub problem: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.rule {
            Some(rule) => write!(f, "{}, rule {rule:?}: {}", self.what, self.problem),
            None => write!(f, "{}: {}", self.what, self.problem),
        }
    }
}

/// One rule that is checked, and what it may look at.
struct Checker<'a> {
    context: Context<'a>,
    right: Right,
    /// The table that is judged, with its name.
    table: Option<(&'a str, &'a Table)>,
    /// The log that is judged.
    log: Option<&'a str>,
    what: String,
    problems: Vec<Problem>,
}

impl Rights {
    /// All that is wrong with them.
    pub fn problems(&self, context: &Context<'_>) -> Vec<Problem> {
        let mut problems = Vec::new();
        if context.claims.and_then(|claims| claims.get(SUBJECT)).is_some_and(|own| *own != ClaimType::Text) {
            let problem =
                "it is always the text that names the user, and another claim of that name hides it: rename yours";
            problems.push(Problem { what: format!("claim {SUBJECT:?}"), rule: None, problem: problem.into() });
        }
        self.check_tables(context, &mut problems);
        self.check_logs(context, &mut problems);
        self.check_classes(context, &mut problems);
        problems
    }

    fn check_tables(&self, context: &Context<'_>, problems: &mut Vec<Problem>) {
        for (name, table) in context.schema.tables() {
            let mut found =
                |problem: String| problems.push(Problem { what: format!("table {name:?}"), rule: None, problem });
            match (self.tables.get(name), table.log()) {
                (None, Some(_)) => {}
                (Some(_), Some(log)) => {
                    found(format!("it is of log {log:?}: give rights to the log, and none to the table"))
                }
                (None, None) => found("it has no rights: write \"open\" if everybody may do everything".into()),
                (Some(TableRights::Open), None) => {}
                (Some(TableRights::Rules(rules)), None) => {
                    let given = Right::OF_TABLES.into_iter().filter_map(|right| Some((right, rules.rule(right)?)));
                    let given: Vec<_> = given.collect();
                    if given.iter().all(|(right, _)| *right == Right::Check) {
                        found("nobody may do anything with it: add the rules \"read\", \"create\", \"update\" or \"delete\"".into());
                    }
                    for (right, rule) in given {
                        problems.extend(Checker::of_table(*context, name, table, right).checked(rule));
                    }
                }
            }
        }
        let unknown = self.tables.keys().filter(|name| context.schema.table(name).is_none());
        problems.extend(unknown.map(|name| stranger("table", name)));
    }

    fn check_logs(&self, context: &Context<'_>, problems: &mut Vec<Problem>) {
        for name in context.schema.logs().keys() {
            match self.logs.get(name) {
                None => problems.push(lacking("log", name)),
                Some(LogRights::Open) => {}
                Some(LogRights::Rules(own)) => {
                    for (right, rule) in Right::OF_LOGS.into_iter().filter_map(|right| Some((right, own.rule(right)?)))
                    {
                        problems.extend(Checker::of_log(*context, name, right).checked(rule));
                    }
                }
            }
        }
        let unknown = self.logs.keys().filter(|name| !context.schema.logs().contains_key(*name));
        problems.extend(unknown.map(|name| stranger("log", name)));
    }

    fn check_classes(&self, context: &Context<'_>, problems: &mut Vec<Problem>) {
        let rules = self.objects.iter().filter_map(|(name, own)| match own {
            ClassRights::Open => None,
            ClassRights::Rules(rules) => Some((name, rules)),
        });
        for (name, own) in rules {
            for (right, rule) in Right::OF_CLASSES.into_iter().filter_map(|right| Some((right, own.rule(right)?))) {
                problems.extend(Checker::of_class(*context, name, right).checked(rule));
            }
        }
        let Some(classes) = context.classes else { return };
        problems
            .extend(classes.iter().filter(|name| !self.objects.contains_key(*name)).map(|name| lacking("class", name)));
        problems
            .extend(self.objects.keys().filter(|name| !classes.contains(*name)).map(|name| stranger("class", name)));
    }
}

fn lacking(kind: &str, name: &str) -> Problem {
    let problem = "it has no rights: write \"open\" if everybody may do everything";
    Problem { what: format!("{kind} {name:?}"), rule: None, problem: problem.into() }
}

fn stranger(kind: &str, name: &str) -> Problem {
    let problem = format!("there is no such {kind}: correct its name, or remove its rights");
    Problem { what: format!("{kind} {name:?}"), rule: None, problem }
}

impl<'a> Checker<'a> {
    fn of_table(context: Context<'a>, name: &'a str, table: &'a Table, right: Right) -> Checker<'a> {
        let what = format!("table {name:?}");
        Checker { context, right, table: Some((name, table)), log: None, what, problems: Vec::new() }
    }

    fn of_log(context: Context<'a>, name: &'a str, right: Right) -> Checker<'a> {
        let what = format!("log {name:?}");
        Checker { context, right, table: None, log: Some(name), what, problems: Vec::new() }
    }

    fn of_class(context: Context<'a>, name: &str, right: Right) -> Checker<'a> {
        let what = format!("class {name:?}");
        Checker { context, right, table: None, log: None, what, problems: Vec::new() }
    }

    fn checked(mut self, rule: &Rule) -> Vec<Problem> {
        let leaves = rule.leaves();
        if leaves > Rule::LEAVES_MAX {
            self.found(format!(
                "it has {leaves} tests, and at most {} are allowed: split the table, or shorten it",
                Rule::LEAVES_MAX
            ));
            return self.problems;
        }
        self.rule(rule, false);
        if self.right == Right::Read {
            self.alternatives(rule);
        }
        self.problems
    }

    fn found(&mut self, problem: impl Into<String>) {
        let own = Problem { what: self.what.clone(), rule: Some(self.right.name()), problem: problem.into() };
        if !self.problems.contains(&own) {
            self.problems.push(own);
        }
    }

    /// A part that is right, or the problem with it.
    fn good<T>(&mut self, part: Result<T, String>) -> Option<T> {
        part.map_err(|problem| self.found(problem)).ok()
    }
}

#[cfg(test)]
mod tests;
