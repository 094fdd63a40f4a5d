//! Judgements explained: the rule as a tree, each part with what it comes to and why.
//!
//! It names values, so it is for operators only.

use iolite_values::{Read, Value, Write};

use super::scene::Scene;
use super::{Judge, Needs, RowName, by_row};
use crate::{Right, Rule, TableRights};

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
    fn explained(&self, rule: &Rule) -> Explained {
        let outcome = self.outcome(rule, false);
        let parts: Vec<_> = rule.parts().iter().map(|part| self.explained(part)).collect();
        let mut needs = outcome.needs;
        parts.iter().for_each(|part| needs.add(part.needs.clone()));
        let value = |operand| self.value(operand).ok().and_then(|seen| seen.value);
        let values = rule.operands().into_iter().map(|operand| (operand.to_string(), value(operand))).collect();
        Explained { rule: rule.to_string(), holds: outcome.holds, values, reads: outcome.reads, needs, parts }
    }
}
