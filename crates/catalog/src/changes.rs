//! The changes that a deployment makes, for people: what is added to the schema, which rules are new, gone or changed, and what they cost.
//!
//! Invariant: rules are compared by their words, which say all of a rule. So a rule that is left out here stays as it was.

use std::collections::{BTreeMap, BTreeSet};

use iolite_rights::{ClassRights, LogRights, Operand, Reference, Right, Rights, Rule, Set, TableRights};
use iolite_values::{ColumnType, Schema, Table};

use crate::{Catalog, Growth};

/// The changes of one version.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// Tables that are added, by name.
    pub tables: Vec<String>,
    /// Columns that are added to tables that are there, as `table.column`.
    pub columns: Vec<String>,
    pub rules: Vec<RuleChange>,
    /// The costs of rules that are new or changed, each a sentence.
    pub costs: Vec<String>,
}

/// A rule that is new, gone or changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleChange {
    /// The table, log or class, as in `table "messages"`.
    pub of: String,
    /// The rule's name. None: everything is open to everybody.
    pub right: Option<Right>,
    /// The words that it had. None: there was none.
    pub was: Option<String>,
    /// The words that it has. None: there is none any more.
    pub is: Option<String>,
}

/// Rules in words, and where they stand.
type Words = BTreeMap<(String, Option<Right>), String>;

impl Catalog {
    /// The changes that a growth makes to what is in effect.
    pub fn changes(&self, growth: &Growth) -> Changes {
        let (was, is) = (self.schema(), &growth.schema);
        let added = is.tables().filter(|(name, _)| was.table(name).is_none());
        let (nothing, empty) = (Rights::default(), Rights::default());
        let (before, after) = (self.rights().map_or(&nothing, |own| own), growth.rights.as_deref().unwrap_or(&empty));
        let rules = rule_changes(words(before), words(after));
        Changes {
            tables: added.map(|(name, _)| name.to_owned()).collect(),
            columns: added_columns(was, is),
            costs: costs(after, is, &rules),
            rules,
        }
    }
}

fn added_columns(was: &Schema, is: &Schema) -> Vec<String> {
    let tables = is.tables().filter_map(|(name, table)| Some((name, table, was.table(name)?)));
    let of_table = |(name, table, before): (&str, &Table, &Table)| {
        let own = table.columns.keys().filter(|column| !before.columns.contains_key(*column));
        own.map(|column| format!("{name}.{column}")).collect::<Vec<_>>()
    };
    tables.flat_map(of_table).collect()
}

fn words(rights: &Rights) -> Words {
    let (mut words, everybody) = (Words::new(), || "everybody may do everything".to_owned());
    for (of, right, rule) in rules(rights) {
        words.insert((of, Some(right)), rule.to_string());
    }
    let tables = rights.tables.iter().filter(|(_, own)| matches!(own, TableRights::Open));
    let logs = rights.logs.iter().filter(|(_, own)| matches!(own, LogRights::Open));
    let classes = rights.objects.iter().filter(|(_, own)| matches!(own, ClassRights::Open));
    let names = tables.map(|(name, _)| named("table", name)).chain(logs.map(|(name, _)| named("log", name)));
    for of in names.chain(classes.map(|(name, _)| named("class", name))) {
        words.insert((of, None), everybody());
    }
    words
}

fn named(kind: &str, name: &str) -> String {
    format!("{kind} {name:?}")
}

/// All rules, and where they stand.
fn rules(rights: &Rights) -> Vec<(String, Right, &Rule)> {
    let mut all = Vec::new();
    for (name, own) in &rights.tables {
        if let TableRights::Rules(rules) = own {
            let rules = Right::OF_TABLES.into_iter().filter_map(|right| Some((right, rules.rule(right)?)));
            all.extend(rules.map(|(right, rule)| (named("table", name), right, rule)));
        }
    }
    for (name, own) in &rights.logs {
        if let LogRights::Rules(rules) = own {
            let rules = Right::OF_LOGS.into_iter().filter_map(|right| Some((right, rules.rule(right)?)));
            all.extend(rules.map(|(right, rule)| (named("log", name), right, rule)));
        }
    }
    for (name, own) in &rights.objects {
        if let ClassRights::Rules(rules) = own {
            let rules = Right::OF_CLASSES.into_iter().filter_map(|right| Some((right, rules.rule(right)?)));
            all.extend(rules.map(|(right, rule)| (named("class", name), right, rule)));
        }
    }
    all
}

fn rule_changes(mut was: Words, is: Words) -> Vec<RuleChange> {
    let mut changes = Vec::new();
    for ((of, right), is) in is {
        let was = was.remove(&(of.clone(), right));
        if was.as_ref() != Some(&is) {
            changes.push(RuleChange { of, right, was, is: Some(is) });
        }
    }
    let gone = was.into_iter().map(|((of, right), was)| RuleChange { of, right, was: Some(was), is: None });
    changes.extend(gone);
    changes.sort_by(|a, b| (&a.of, a.right).cmp(&(&b.of, b.right)));
    changes
}

/// The costs of rules that are new or changed.
fn costs(rights: &Rights, schema: &Schema, changes: &[RuleChange]) -> Vec<String> {
    let is_changed =
        |of: &str, right| changes.iter().any(|own| own.of == of && own.right == Some(right) && own.is.is_some());
    let mut costs = Vec::new();
    for (of, right, rule) in rules(rights).into_iter().filter(|(of, right, _)| is_changed(of, *right)) {
        let (mut rows, mut sets) = (BTreeSet::new(), BTreeSet::new());
        followed(rule, &mut rows, &mut sets);
        let what = format!("{of}, rule {:?}", right.name());
        let each = if Right::OF_TABLES.contains(&right) { "row that is written" } else { "time that it is asked" };
        if !rows.is_empty() {
            costs.push(format!("{what}: reads {} for each {each}", counted(rows.len(), "row")));
        }
        if !sets.is_empty() && right != Right::Read {
            costs.push(format!("{what}: reads {} of the user's rows for each {each}", counted(sets.len(), "set")));
        }
        let name = rights.tables.keys().find(|name| named("table", name) == of);
        if let Some(table) = name.and_then(|name| schema.table(name)).filter(|_| reads_writes(right)) {
            let looks = |column| format!("{what}: it looks at {column:?}, so changes of it at the same time conflict");
            costs.extend(merged(rule, table).into_iter().map(looks));
        }
    }
    costs
}

/// Whether the rule judges rows that others change at the same time.
fn reads_writes(right: Right) -> bool {
    matches!(right, Right::Update | Right::Check)
}

fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// The rows and sets that a rule reads, each once.
fn followed(rule: &Rule, rows: &mut BTreeSet<String>, sets: &mut BTreeSet<String>) {
    match rule {
        Rule::Exists { row, conditions: _ } => in_reference(row, rows),
        Rule::In { of: _, set: set @ Set::Mine { .. } } => {
            sets.insert(set.to_string());
        }
        Rule::In { of: _, set: Set::Claim(_) | Set::Values(_) }
        | Rule::And(_)
        | Rule::Or(_)
        | Rule::Not(_)
        | Rule::Test { .. }
        | Rule::Ops(_)
        | Rule::Claim { .. } => {}
    }
    rule.operands().into_iter().for_each(|operand| in_operand(operand, rows));
    rule.parts().iter().for_each(|part| followed(part, rows, sets));
}

fn in_operand(operand: &Operand, rows: &mut BTreeSet<String>) {
    if let Operand::Followed { row, column: _ } = operand {
        in_reference(row, rows);
    }
}

fn in_reference(row: &Reference, rows: &mut BTreeSet<String>) {
    rows.insert(row.to_string());
    row.key.iter().for_each(|part| in_operand(part, rows));
}

/// Columns that a rule looks at, whose changes by several clients would go together else.
fn merged(rule: &Rule, table: &Table) -> BTreeSet<String> {
    let of = rule.operands().into_iter().filter_map(|operand| match operand {
        Operand::Column { of: _, column } => Some(column),
        Operand::Followed { .. } | Operand::Claim(_) | Operand::Literal(_) | Operand::Now | Operand::Part(_) => None,
    });
    let goes_together = |column: &&String| match table.columns.get(*column).map(|own| own.kind) {
        Some(ColumnType::Counter | ColumnType::Set(_) | ColumnType::List { .. } | ColumnType::Map(_)) => true,
        Some(ColumnType::Scalar(_) | ColumnType::Register(_) | ColumnType::Text) | None => false,
    };
    let own: BTreeSet<String> = of.filter(goes_together).cloned().collect();
    rule.parts().iter().fold(own, |all, part| all.into_iter().chain(merged(part, table)).collect())
}
