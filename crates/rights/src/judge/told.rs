//! Explanations as text: the rule as a tree, each part with what it comes to, its values, and the cells that it looked at.
//!
//! Invariant: all of it is plain text, a part a line. A part stands below the one that it belongs to, two spaces further in.

use std::fmt::Write as _;

use iolite_values::{Cell, ColumnId, Condition, Element, Field, Query, Read, RowKey, Schema, Test};

use super::{Explained, Explanation};
use crate::Right;

impl Explanation {
    pub fn is_allowed(&self) -> bool {
        self.denial.is_none()
    }

    /// The answer and its rules in words. It names values, so it is for operators and tests only.
    pub fn text(&self, schema: &Schema) -> String {
        let mut text = match &self.denial {
            None => "allowed\n".to_owned(),
            Some(denial) => format!("denied: {denial}\n"),
        };
        for (table, right, rule) in &self.rules {
            let kind = match right {
                Right::Join | Right::Run => "log",
                Right::Call | Right::Copy | Right::Hold => "class",
                Right::Read | Right::Create | Right::Update | Right::Delete | Right::Check => "table",
            };
            text += &format!("rule {:?} of {kind} {table:?}: {}\n", right.name(), in_words(rule.holds));
            branch(&mut text, schema, rule, 1);
        }
        if self.is_allowed() && self.rules.is_empty() {
            text += "no rule was asked: it is open\n";
        }
        text
    }
}

fn in_words(holds: Option<bool>) -> &'static str {
    match holds {
        Some(true) => "it holds",
        Some(false) => "it does not hold",
        None => "it is not known",
    }
}

fn branch(text: &mut String, schema: &Schema, rule: &Explained, depth: usize) {
    let mark = match rule.holds {
        Some(true) => "yes",
        Some(false) => "no ",
        None => "?  ",
    };
    let indent = "  ".repeat(depth);
    line(text, &format!("{indent}{mark} {}", rule.rule));
    let below = format!("{indent}      ");
    // A constant says its value itself.
    for (operand, value) in rule.values.iter().filter(|(operand, value)| is_told(operand, value.as_ref())) {
        match value {
            Some(value) => line(text, &format!("{below}{operand} is {value:?}")),
            None => line(text, &format!("{below}{operand} is missing, so no test of it holds")),
        }
    }
    if rule.parts.is_empty() {
        let mut told: Vec<String> = rule.reads.iter().map(|read| in_schema(schema, read)).collect();
        told.dedup();
        told.iter().for_each(|read| line(text, &format!("{below}looked at {read}")));
    }
    rule.parts.iter().for_each(|part| branch(text, schema, part, depth + 1));
}

fn is_told(operand: &str, value: Option<&iolite_values::Value>) -> bool {
    value.is_none_or(|value| format!("{value:?}") != operand)
}

fn line(text: &mut String, line: &str) {
    // Writing to a text never fails.
    let _ = writeln!(text, "{line}");
}

/// A read by the names of the schema.
fn in_schema(schema: &Schema, read: &Read) -> String {
    match read {
        Read::Cell { cell, element } => {
            let row = row(schema, cell);
            let Some(column) = column(schema, cell) else { return format!("{row}: whether it is there") };
            match element {
                Element::Member(member) => format!("{row}.{column}: whether it has {member:?}"),
                Element::Whole
                | Element::UpTo(_)
                | Element::Entry(_)
                | Element::Index(_)
                | Element::Slice { .. }
                | Element::Author(_) => format!("{row}.{column}"),
            }
        }
        Read::Range { table, range } => {
            let name = schema.table_name(*table).unwrap_or("?");
            match RowKey::from_bytes(&range.lower) {
                Ok(key) if range.is_of_one_row() => format!("{name}{key:?}"),
                Ok(_) | Err(_) => format!("rows of {name}"),
            }
        }
        Read::Query(query) => in_query(schema, query),
    }
}

fn row(schema: &Schema, cell: &Cell) -> String {
    format!("{}{:?}", schema.table_name(cell.table).unwrap_or("?"), cell.row)
}

fn column<'a>(schema: &'a Schema, cell: &Cell) -> Option<&'a str> {
    if cell.column == ColumnId::ROW {
        return None;
    }
    schema.table_by_id(cell.table)?.column(cell.column).map(|(name, _)| name)
}

fn in_query(schema: &Schema, query: &Query) -> String {
    let name = schema.table_name(query.table).unwrap_or("?");
    let table = schema.table_by_id(query.table);
    let field = |field: &Field| match field {
        Field::Key(place) => table.and_then(|table| table.key.get(usize::from(*place))).cloned(),
        Field::Cell { column, absent: _ } => table.and_then(|table| table.column(*column)).map(|(name, _)| name.into()),
    };
    let condition = |own: &Condition| {
        let name = field(&own.field).unwrap_or_else(|| "?".into());
        match &own.test {
            Test::Equal(value) => format!("{name} = {value:?}"),
            Test::NotEqual(value) => format!("{name} ≠ {value:?}"),
            Test::Less(value) => format!("{name} < {value:?}"),
            Test::AtMost(value) => format!("{name} ≤ {value:?}"),
            Test::Greater(value) => format!("{name} > {value:?}"),
            Test::AtLeast(value) => format!("{name} ≥ {value:?}"),
            Test::OneOf(values) => format!("{name} is one of {values:?}"),
            Test::BeginsWith(text) => format!("{name} begins with {text:?}"),
            Test::Contains(value) => format!("{name} contains {value:?}"),
        }
    };
    let conditions: Vec<String> = query.conditions.iter().map(condition).collect();
    format!("{name}: whether there is a row with {}", conditions.join(" and "))
}
