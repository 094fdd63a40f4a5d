//! Rights from JSON.

use std::collections::BTreeMap;

use iolite_values::{Scalar, Value};

use super::RightsError;
use super::place::Place;
use crate::{
    Allowed, Asked, Change, ClassRights, ClassRules, Comparison, LogRights, LogRules, Operand, Part, Reference,
    Relation, Right, Rights, Rule, Set, TableRights, TableRules, Version, When,
};

type Read<T> = Result<T, RightsError>;

const RULE: &str = "a rule: and, or, not, test, in, exists, ops or claim";
const OPERAND: &str =
    "an operand, such as {\"row\":\"author\"}, {\"claim\":\"sub\"}, {\"string\":\"x\"}, \"now\" or null";
const RELATIONS: &str = "a comparison, such as {\"equal\":{\"claim\":\"sub\"}}";
const SET: &str = "a set: mine, claim or values";
const CHANGE: &str = "an operation, such as {\"add\":[]} or {\"any\":[]}";

pub(super) fn rights(place: &Place) -> Read<Rights> {
    place.has_only(&["logs", "objects", "tables"])?;
    Ok(Rights {
        tables: all(place.optional("tables")?, table)?,
        logs: all(place.optional("logs")?, log)?,
        objects: all(place.optional("objects")?, class)?,
    })
}

fn all<T>(place: Option<Place>, read: fn(&Place) -> Read<T>) -> Read<BTreeMap<String, T>> {
    let Some(place) = place else { return Ok(BTreeMap::new()) };
    let entries = place.entries("an object with a key for each name")?;
    entries.into_iter().map(|(name, place)| Ok((name.to_owned(), read(&place)?))).collect()
}

/// Whether everybody may do everything. Otherwise these are its only keys.
fn is_open(place: &Place, rights: &[Right]) -> Read<bool> {
    match place.json.as_str() {
        Some("open") => Ok(true),
        Some(_) => place.fails("write \"open\" or an object of rules"),
        None => place.has_only(&rights.iter().map(|right| right.name()).collect::<Vec<_>>()).map(|()| false),
    }
}

fn rule_of(place: &Place, right: Right) -> Read<Option<Rule>> {
    place.optional(right.name())?.map(|own| rule(&own)).transpose()
}

fn table(place: &Place) -> Read<TableRights> {
    if is_open(place, &Right::OF_TABLES)? {
        return Ok(TableRights::Open);
    }
    let mut rules = TableRules::default();
    for right in Right::OF_TABLES {
        if let Some(own) = rules.place(right) {
            *own = rule_of(place, right)?;
        }
    }
    Ok(TableRights::Rules(Box::new(rules)))
}

fn log(place: &Place) -> Read<LogRights> {
    if is_open(place, &Right::OF_LOGS)? {
        return Ok(LogRights::Open);
    }
    let rules = LogRules { join: rule_of(place, Right::Join)?, run: rule_of(place, Right::Run)? };
    Ok(LogRights::Rules(Box::new(rules)))
}

fn class(place: &Place) -> Read<ClassRights> {
    if is_open(place, &Right::OF_CLASSES)? {
        return Ok(ClassRights::Open);
    }
    let (call, read) = (rule_of(place, Right::Call)?, rule_of(place, Right::Copy)?);
    let rules = ClassRules { call, read, hold: rule_of(place, Right::Hold)? };
    Ok(ClassRights::Rules(Box::new(rules)))
}

fn rule(place: &Place) -> Read<Rule> {
    let (name, own) = place.only(RULE)?;
    match name {
        "and" => Ok(Rule::And(own.elements()?.iter().map(rule).collect::<Read<_>>()?)),
        "or" => Ok(Rule::Or(own.elements()?.iter().map(rule).collect::<Read<_>>()?)),
        "not" => Ok(Rule::Not(Box::new(rule(&own)?))),
        "test" => {
            own.has_only(&["is", "of"])?;
            Ok(Rule::Test { of: operand(&own.field("of")?)?, is: comparison(&own.field("is")?)? })
        }
        "in" => {
            own.has_only(&["of", "set"])?;
            Ok(Rule::In { of: operand(&own.field("of")?)?, set: set(&own.field("set")?)? })
        }
        "exists" => {
            own.has_only(&["after", "at", "where"])?;
            let conditions = own.optional("where")?.map_or(Ok(Vec::new()), |place| conditions(&place))?;
            Ok(Rule::Exists { row: reference(&own)?, conditions })
        }
        "ops" => Ok(Rule::Ops(all(Some(own), allowed)?)),
        "claim" => {
            own.has_only(&["is", "name"])?;
            Ok(Rule::Claim { name: own.field("name")?.text()?.to_owned(), is: comparison(&own.field("is")?)? })
        }
        other => place.fails(format!("{other:?} is no rule: write {RULE}")),
    }
}

/// The reference of an object that has one under `at` or `after`, beside other keys.
fn reference(place: &Place) -> Read<Reference> {
    let found: Vec<(When, Place)> = When::ALL
        .into_iter()
        .filter_map(|when| place.optional(when.name()).transpose().map(|own| own.map(|own| (when, own))))
        .collect::<Read<_>>()?;
    let [(when, own)] = &found[..] else { return place.fails("write one row to follow: \"at\" or \"after\"") };
    own.has_only(&["key", "table"])?;
    let key = own.field("key")?.elements()?.iter().map(operand).collect::<Read<_>>()?;
    Ok(Reference { when: *when, table: own.field("table")?.text()?.to_owned(), key })
}

fn operand(place: &Place) -> Read<Operand> {
    if let Some(text) = place.json.as_str() {
        let part = Part::ALL.into_iter().find(|part| part.name() == text).map(Operand::Part);
        let found = if text == "now" { Some(Operand::Now) } else { part };
        return found.map_or_else(|| place.fails(format!("{text:?} is no operand: write {OPERAND}")), Ok);
    }
    if place.json.is_null() {
        return Ok(Operand::Literal(Value::Null));
    }
    if place.optional("column")?.is_some() {
        place.has_only(&["after", "at", "column"])?;
        let column = place.field("column")?.text()?.to_owned();
        return Ok(Operand::Followed { row: Box::new(reference(place)?), column });
    }
    let (name, own) = place.only(OPERAND)?;
    if let Some(of) = Version::ALL.into_iter().find(|version| version.name() == name) {
        return Ok(Operand::Column { of, column: own.text()?.to_owned() });
    }
    match name {
        "claim" => Ok(Operand::Claim(own.text()?.to_owned())),
        _ => Ok(Operand::Literal(literal(place)?)),
    }
}

fn literal(place: &Place) -> Read<Value> {
    if place.json.is_null() {
        return Ok(Value::Null);
    }
    let (name, own) = place.only(OPERAND)?;
    let scalar = Scalar::ALL.into_iter().find(|scalar| scalar.name() == name && *scalar != Scalar::Blob);
    let Some(scalar) = scalar else { return place.fails(format!("{name:?} is no operand: write {OPERAND}")) };
    let value = scalar.from_json(own.json);
    value.map_or_else(|| own.fails(format!("this is no value of type {name}: write one")), Ok)
}

fn comparison(place: &Place) -> Read<Comparison> {
    let (name, own) = place.only(RELATIONS)?;
    let Some(relation) = Relation::ALL.into_iter().find(|relation| relation.name() == name) else {
        return place.fails(format!(
            "{name:?} is no comparison: it is one of {}",
            Relation::ALL.map(Relation::name).join(", ")
        ));
    };
    Ok(Comparison { relation, with: operand(&own)? })
}

fn conditions(place: &Place) -> Read<Vec<Asked>> {
    let asked = |own: &Place| {
        own.has_only(&["column", "is"])?;
        Ok(Asked { column: own.field("column")?.text()?.to_owned(), is: comparison(&own.field("is")?)? })
    };
    place.elements()?.iter().map(asked).collect()
}

fn set(place: &Place) -> Read<Set> {
    let (name, own) = place.only(SET)?;
    match name {
        "mine" => {
            own.has_only(&["column", "table", "where"])?;
            let (table, column) = (own.field("table")?.text()?.to_owned(), own.field("column")?.text()?.to_owned());
            Ok(Set::Mine { table, column, conditions: conditions(&own.field("where")?)? })
        }
        "claim" => Ok(Set::Claim(own.text()?.to_owned())),
        "values" => Ok(Set::Values(own.elements()?.iter().map(literal).collect::<Read<_>>()?)),
        other => place.fails(format!("{other:?} is no set: write {SET}")),
    }
}

fn allowed(place: &Place) -> Read<Vec<Allowed>> {
    place.elements()?.iter().map(one_allowed).collect()
}

fn one_allowed(place: &Place) -> Read<Allowed> {
    let (name, own) = place.only(CHANGE)?;
    let Some(change) = Change::ALL.into_iter().find(|change| change.name() == name) else {
        return place
            .fails(format!("{name:?} is no operation: it is one of {}", Change::ALL.map(Change::name).join(", ")));
    };
    Ok(Allowed { change, bounds: own.elements()?.iter().map(comparison).collect::<Read<_>>()? })
}
