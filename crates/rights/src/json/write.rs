//! Rights as JSON.

use std::collections::BTreeMap;

use iolite_values::{Scalar, Value, ValueType};
use serde_json::{Value as Json, json};

use crate::{
    Allowed, Asked, ClassRights, Comparison, LogRights, Operand, Reference, Right, Rights, Rule, Set, TableRights,
};

pub(super) fn rights(rights: &Rights) -> Json {
    let tables = all(&rights.tables, |own| match own {
        TableRights::Open => "open".into(),
        TableRights::Rules(rules) => rules_of(&Right::OF_TABLES, |right| rules.rule(right)),
    });
    let logs = all(&rights.logs, |own| match own {
        LogRights::Open => "open".into(),
        LogRights::Rules(rules) => rules_of(&Right::OF_LOGS, |right| rules.rule(right)),
    });
    let objects = all(&rights.objects, |own| match own {
        ClassRights::Open => "open".into(),
        ClassRights::Rules(rules) => rules_of(&Right::OF_CLASSES, |right| rules.rule(right)),
    });
    json!({ "logs": logs, "objects": objects, "tables": tables })
}

fn all<T>(map: &BTreeMap<String, T>, write: impl Fn(&T) -> Json) -> Json {
    Json::Object(map.iter().map(|(name, own)| (name.clone(), write(own))).collect())
}

fn rules_of<'a>(rights: &[Right], rule_of: impl Fn(Right) -> Option<&'a Rule>) -> Json {
    let rules = rights.iter().filter_map(|right| Some((right.name().to_owned(), rule(rule_of(*right)?))));
    Json::Object(rules.collect())
}

fn rule(own: &Rule) -> Json {
    match own {
        Rule::And(parts) => json!({ "and": parts.iter().map(rule).collect::<Vec<_>>() }),
        Rule::Or(parts) => json!({ "or": parts.iter().map(rule).collect::<Vec<_>>() }),
        Rule::Not(part) => json!({ "not": rule(part) }),
        Rule::Test { of, is } => json!({ "test": { "is": comparison(is), "of": operand(of) } }),
        Rule::In { of, set: own } => json!({ "in": { "of": operand(of), "set": set(own) } }),
        Rule::Exists { row, conditions: asked } if asked.is_empty() => {
            json!({ "exists": { row.when.name(): reference(row) } })
        }
        Rule::Exists { row, conditions: asked } => {
            json!({ "exists": { row.when.name(): reference(row), "where": conditions(asked) } })
        }
        Rule::Ops(columns) => json!({ "ops": all(columns, |own| own.iter().map(allowed).collect()) }),
        Rule::Claim { name, is } => json!({ "claim": { "is": comparison(is), "name": name } }),
    }
}

fn reference(row: &Reference) -> Json {
    json!({ "key": row.key.iter().map(operand).collect::<Vec<_>>(), "table": row.table })
}

fn operand(own: &Operand) -> Json {
    match own {
        Operand::Column { of, column } => json!({ of.name(): column }),
        Operand::Followed { row, column } => json!({ row.when.name(): reference(row), "column": column }),
        Operand::Claim(name) => json!({ "claim": name }),
        Operand::Literal(value) => literal(value),
        Operand::Now => "now".into(),
        Operand::Part(part) => part.name().into(),
    }
}

fn literal(value: &Value) -> Json {
    let scalar = match value.kind() {
        ValueType::Null => return Json::Null,
        ValueType::Bool => Scalar::Bool,
        ValueType::Int => Scalar::Int,
        ValueType::Float => Scalar::Float,
        ValueType::String => Scalar::String,
        ValueType::Bytes => Scalar::Bytes,
        ValueType::Id => Scalar::Id,
        ValueType::Blob => Scalar::Blob,
    };
    json!({ scalar.name(): scalar.to_json(value) })
}

fn comparison(own: &Comparison) -> Json {
    json!({ own.relation.name(): operand(&own.with) })
}

fn conditions(asked: &[Asked]) -> Json {
    asked.iter().map(|own| json!({ "column": own.column, "is": comparison(&own.is) })).collect()
}

fn set(own: &Set) -> Json {
    match own {
        Set::Mine { table, column, conditions: asked } => {
            json!({ "mine": { "column": column, "table": table, "where": conditions(asked) } })
        }
        Set::Claim(name) => json!({ "claim": name }),
        Set::Values(values) => json!({ "values": values.iter().map(literal).collect::<Vec<_>>() }),
    }
}

fn allowed(own: &Allowed) -> Json {
    json!({ own.change.name(): own.bounds.iter().map(comparison).collect::<Vec<_>>() })
}
