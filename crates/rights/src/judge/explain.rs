//! Judgements explained: the rule as a tree, each part with what it comes to and why.
//!
//! It names values, so it is for operators only.

use std::collections::{BTreeMap, BTreeSet};

use iolite_values::{LogId, ObjectName, Read, Value, Write};

use super::outcome::Outcome;
use super::scene::{Asking, Scene};
use super::{Denial, Judge, Judgement, Needs, RowName, Why, by_row};
use crate::{Allowed, ClassRights, LogRights, Right, Rule, TableRights, Wanted};

/// An answer, and the rules that it comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explanation {
    /// None: it is allowed.
    pub denial: Option<Denial>,
    /// Each rule with its table, log or class. None: what is open, and what no rule is asked about.
    pub rules: Vec<(String, Right, Explained)>,
}

/// A rule or a part of one, and what it comes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explained {
    /// The rule in words.
    pub rule: String,
    /// None: it is not known yet.
    pub holds: Option<bool>,
    /// The operands of a test, in words, with their values. None: missing, or not known yet.
    pub values: Vec<(String, Option<Value>)>,
    /// The reads that the answer rests on.
    pub reads: Vec<Read>,
    /// Rows and sets that have to be known for an answer, its parts' needs included.
    pub needs: Needs,
    pub parts: Vec<Explained>,
}

impl Judge<'_> {
    /// Whether somebody may do what they want, and why.
    ///
    /// # Errors
    /// Some rows and sets have to be known first, those that the answer itself could do without included.
    pub fn explanation(&self, wanted: &Wanted) -> Result<Explanation, Needs> {
        let (judgement, rules) = match wanted {
            Wanted::See(row) => match self.sees(row) {
                // Of a row that is not there no rule is asked.
                missing @ Judgement::Denied(Denial { why: Why::Missing, .. }) => (missing, Vec::new()),
                judgement => (judgement, self.read_rule(row).into_iter().collect()),
            },
            Wanted::Use(object, right, method) => {
                let rule = self.class_rule(object, *right, method.as_deref());
                (self.object(object, *right, method.as_deref()), rule.into_iter().collect())
            }
            Wanted::Commit(writes) => (self.transaction(writes), self.explain(writes)),
            Wanted::Join(log) => (self.log(log, None), self.log_rule(log, None).into_iter().collect()),
            Wanted::Run(log, operation) => {
                let rule = self.log_rule(log, Some(operation));
                (self.log(log, Some(operation)), rule.into_iter().collect())
            }
        };
        let mut needs = Needs::default();
        rules.iter().for_each(|(_, _, rule): &(_, _, Explained)| needs.add(rule.needs.clone()));
        let denial = match judgement {
            Judgement::Allowed(_) => None,
            Judgement::Denied(denial) => Some(denial),
            Judgement::Needs(own) => {
                needs.add(own);
                None
            }
        };
        if needs.is_empty() { Ok(Explanation { denial, rules }) } else { Err(needs) }
    }

    /// Whether there is such a row, and the user may see it.
    fn sees(&self, row: &RowName) -> Judgement {
        let is_live = self.schema.table_by_id(row.table).is_some_and(|table| table.live);
        match (self.rows.row(row), self.schema.table_name(row.table)) {
            (None, _) => Judgement::Needs(Needs { rows: BTreeSet::from([row.clone()]), ..Needs::default() }),
            (Some(own), Some(name)) if !own.exists() && !is_live => Denial::table(name, Why::Missing).into(),
            (Some(_), _) => self.read(row),
        }
    }

    fn log_rule(&self, log: &LogId, operation: Option<&str>) -> Option<(String, Right, Explained)> {
        let Some(LogRights::Rules(rules)) = self.rights.logs.get(&*log.name) else { return None };
        let right = if operation.is_some() { Right::Run } else { Right::Join };
        let nothing = by_row(&[]);
        let scene = Scene { judge: self, writes: &nothing, asking: Asking::of_log(log, operation) };
        Some((log.name.to_string(), right, scene.explained(rules.rule(right)?)))
    }

    fn class_rule(
        &self,
        object: &ObjectName,
        right: Right,
        method: Option<&str>,
    ) -> Option<(String, Right, Explained)> {
        let Some(ClassRights::Rules(rules)) = self.rights.objects.get(object.class()) else { return None };
        let nothing = by_row(&[]);
        let scene = Scene { judge: self, writes: &nothing, asking: Asking::Object { object, method } };
        Some((object.class().to_owned(), right, scene.explained(rules.rule(right)?)))
    }

    fn read_rule(&self, row: &RowName) -> Option<(String, Right, Explained)> {
        let name = self.schema.table_name(row.table)?;
        Some((name.to_owned(), Right::Read, self.explain_read(row)?))
    }

    /// The rules that judge these writes, each with the table that it is of.
    pub fn explain(&self, writes: &[Write]) -> Vec<(String, Right, Explained)> {
        let writes = by_row(writes);
        let mut explained = Vec::new();
        for row in writes.keys() {
            let Some(name) = self.schema.table_name(row.table) else { continue };
            let Some(TableRights::Rules(rules)) = self.rights.tables.get(name) else { continue };
            let Ok(Ok(deeds)) = Scene::writing(self, row, &writes) else { continue };
            for right in &deeds.rights {
                let Some(rule) = rules.rule(*right) else { continue };
                explained.push((name.to_owned(), *right, deeds.scene(self, &writes, *right).explained(rule)));
            }
        }
        explained
    }

    /// The read rule of a row. None: it has none, or the row is not known yet.
    pub fn explain_read(&self, row: &RowName) -> Option<Explained> {
        let Some(TableRights::Rules(rules)) = self.rights.tables.get(self.schema.table_name(row.table)?) else {
            return None;
        };
        let nothing = by_row(&[]);
        let scene = Scene::reading(self, row, &nothing).ok()?;
        rules.rule(Right::Read).map(|rule| scene.explained(rule))
    }
}

impl Scene<'_> {
    /// The operations of an update, each with whether it may be done.
    fn explained_operations(&self, columns: &BTreeMap<String, Vec<Allowed>>) -> Vec<Explained> {
        let Asking::Row { updates: Some(writes), new: Some(view), old: _, row: _ } = &self.asking else {
            return Vec::new();
        };
        let each = self.each(columns, writes).map(|(column, change, value, outcome)| {
            let name = view.table.column(column).map_or("?", |(name, _)| name);
            let value = value.map(|value| format!(" {value:?}")).unwrap_or_default();
            let rule = format!("it does {name}: {}{value}", change.name());
            let Outcome { holds, reads, needs } = outcome;
            Explained { rule, holds, values: Vec::new(), reads, needs, parts: Vec::new() }
        });
        each.collect()
    }

    fn explained(&self, rule: &Rule) -> Explained {
        let outcome = self.outcome(rule, false);
        let parts: Vec<_> = match rule {
            Rule::Ops(columns) => self.explained_operations(columns),
            _ => rule.parts().iter().map(|part| self.explained(part)).collect(),
        };
        let mut needs = outcome.needs;
        parts.iter().for_each(|part| needs.add(part.needs.clone()));
        let value = |operand| self.value(operand).ok().and_then(|seen| seen.value);
        let values = rule.operands().into_iter().map(|operand| (operand.to_string(), value(operand))).collect();
        Explained { rule: rule.to_string(), holds: outcome.holds, values, reads: outcome.reads, needs, parts }
    }
}
