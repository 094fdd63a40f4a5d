//! Rules in words, for people who ask why something was allowed or denied.

use std::fmt;

use crate::{Allowed, Asked, Change, Comparison, Operand, Part, Reference, Relation, Rule, Set, Version, When};

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Rule::And(parts) if parts.is_empty() => f.write_str("everybody"),
            Rule::Or(parts) if parts.is_empty() => f.write_str("nobody"),
            Rule::And(parts) => list(f, "(", parts, " and ", ")"),
            Rule::Or(parts) => list(f, "(", parts, " or ", ")"),
            Rule::Not(part) => write!(f, "not {part}"),
            Rule::Test { of, is } => write!(f, "{of} {is}"),
            Rule::In { of, set } => write!(f, "{of} in {set}"),
            Rule::Exists { row, conditions } if conditions.is_empty() => write!(f, "{row} exists"),
            Rule::Exists { row, conditions } => {
                write!(f, "{row} exists")?;
                list(f, " with ", conditions, " and ", "")
            }
            Rule::Ops(columns) => {
                f.write_str("changes only {")?;
                for (place, (column, allowed)) in columns.iter().enumerate() {
                    write!(f, "{}{column}: ", if place == 0 { "" } else { ", " })?;
                    list(f, "", allowed, " or ", "")?;
                }
                f.write_str("}")
            }
            Rule::Claim { name, is } => write!(f, "user.{name} {is}"),
        }
    }
}

fn list<T: fmt::Display>(
    f: &mut fmt::Formatter<'_>,
    open: &str,
    parts: &[T],
    between: &str,
    close: &str,
) -> fmt::Result {
    f.write_str(open)?;
    for (place, part) in parts.iter().enumerate() {
        write!(f, "{}{part}", if place == 0 { "" } else { between })?;
    }
    f.write_str(close)
}

impl fmt::Display for Operand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Operand::Column { of, column } => write!(f, "{}.{column}", of.name()),
            Operand::Followed { row, column } => write!(f, "{row}.{column}"),
            Operand::Claim(name) => write!(f, "user.{name}"),
            Operand::Literal(value) => write!(f, "{value:?}"),
            Operand::Now => f.write_str("now"),
            Operand::Part(part) => f.write_str(part.name()),
        }
    }
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let relation = match self.relation {
            Relation::Equal => "=",
            Relation::NotEqual => "≠",
            Relation::Less => "<",
            Relation::AtMost => "≤",
            Relation::Greater => ">",
            Relation::AtLeast => "≥",
            Relation::BeginsWith => "begins with",
            Relation::Contains => "contains",
        };
        write!(f, "{relation} {}", self.with)
    }
}

impl fmt::Display for Asked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.column, self.is)
    }
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.when.name(), self.table)?;
        list(f, "(", &self.key, ", ", ")")
    }
}

impl fmt::Display for Set {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Set::Mine { table, column, conditions } => {
                write!(f, "mine({table}.{column}")?;
                list(f, " where ", conditions, " and ", ")")
            }
            Set::Claim(name) => write!(f, "user.{name}"),
            Set::Values(values) => write!(f, "{values:?}"),
        }
    }
}

impl fmt::Display for Allowed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.change.name())?;
        if self.bounds.is_empty() { Ok(()) } else { list(f, " ", &self.bounds, " and ", "") }
    }
}

impl Version {
    pub const ALL: [Version; 3] = [Version::Row, Version::Old, Version::New];

    /// As rules in JSON spell it.
    pub fn name(self) -> &'static str {
        match self {
            Version::Row => "row",
            Version::Old => "old",
            Version::New => "new",
        }
    }
}

impl When {
    pub const ALL: [When; 2] = [When::At, When::After];

    /// As rules in JSON spell it.
    pub fn name(self) -> &'static str {
        match self {
            When::At => "at",
            When::After => "after",
        }
    }
}

impl Part {
    /// As rules in JSON spell it.
    pub fn name(self) -> &'static str {
        match self {
            Part::Key => "key",
            Part::Operation => "operation",
            Part::Class => "class",
            Part::Id => "objectId",
            Part::Method => "method",
        }
    }
}

impl Relation {
    /// As rules in JSON spell it.
    pub fn name(self) -> &'static str {
        match self {
            Relation::Equal => "equal",
            Relation::NotEqual => "notEqual",
            Relation::Less => "less",
            Relation::AtMost => "atMost",
            Relation::Greater => "greater",
            Relation::AtLeast => "atLeast",
            Relation::BeginsWith => "beginsWith",
            Relation::Contains => "contains",
        }
    }
}

impl Change {
    /// As rules in JSON spell it.
    pub fn name(self) -> &'static str {
        match self {
            Change::Any => "any",
            Change::Put => "put",
            Change::Add => "add",
            Change::Insert => "insert",
            Change::Remove => "remove",
            Change::Append => "append",
            Change::SetAt => "setAt",
            Change::PutEntry => "putEntry",
            Change::RemoveEntry => "removeEntry",
            Change::Edit => "edit",
        }
    }
}
