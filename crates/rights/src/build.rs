//! Rules as Rust writes them: `row("author").is(user("sub")).and(at("members", [row("room"), user("sub")]).exists())`.

use std::collections::BTreeMap;

use iolite_values::Value;

use crate::{Allowed, Asked, Change, Comparison, Operand, Part, Reference, Relation, Rule, Set, Version, When};

/// A column of the row as it will be; for reading and deleting, as it is.
pub fn row(column: &str) -> Operand {
    Operand::Column { of: Version::Row, column: column.to_owned() }
}

/// A column of the row before the transaction.
pub fn old(column: &str) -> Operand {
    Operand::Column { of: Version::Old, column: column.to_owned() }
}

/// A column of the row with the transaction's writes.
pub fn new(column: &str) -> Operand {
    Operand::Column { of: Version::New, column: column.to_owned() }
}

/// A claim of the user who asks.
pub fn user(claim: &str) -> Operand {
    Operand::Claim(claim.to_owned())
}

/// A constant.
pub fn value(value: impl Into<Value>) -> Operand {
    Operand::Literal(value.into())
}

/// The gateway's time, in milliseconds since 1970.
pub fn now() -> Operand {
    Operand::Now
}

/// The instance of a log.
pub fn key() -> Operand {
    Operand::Part(Part::Key)
}

/// The name of a log's operation.
pub fn operation() -> Operand {
    Operand::Part(Part::Operation)
}

/// The class of an object.
pub fn class_name() -> Operand {
    Operand::Part(Part::Class)
}

/// The id of an object.
pub fn object_id() -> Operand {
    Operand::Part(Part::Id)
}

/// The name of an object's method.
pub fn method() -> Operand {
    Operand::Part(Part::Method)
}

/// A row before the transaction, by its whole primary key.
pub fn at(table: &str, key: impl IntoIterator<Item = Operand>) -> Reference {
    Reference { when: When::At, table: table.to_owned(), key: key.into_iter().collect() }
}

/// A row with the transaction's writes, by its whole primary key.
pub fn after(table: &str, key: impl IntoIterator<Item = Operand>) -> Reference {
    Reference { when: When::After, table: table.to_owned(), key: key.into_iter().collect() }
}

/// A column of those rows of a table where these columns are equal to claims or constants.
pub fn mine<'a>(table: &str, column: &str, equal: impl IntoIterator<Item = (&'a str, Operand)>) -> Set {
    let asked = |(column, with): (&str, Operand)| Asked {
        column: column.to_owned(),
        is: Comparison { relation: Relation::Equal, with },
    };
    let conditions = equal.into_iter().map(asked).collect();
    Set::Mine { table: table.to_owned(), column: column.to_owned(), conditions }
}

/// Whether a claim that is a list has this text.
pub fn list_has(claim: &str, text: &str) -> Rule {
    let is = Comparison { relation: Relation::Contains, with: value(text) };
    Rule::Claim { name: claim.to_owned(), is }
}

/// Whether a claim is true.
pub fn flag(claim: &str) -> Rule {
    Rule::Claim { name: claim.to_owned(), is: Comparison { relation: Relation::Equal, with: value(true) } }
}

/// An update changes these columns only, each by one of its operations.
pub fn ops<'a>(columns: impl IntoIterator<Item = (&'a str, Vec<Allowed>)>) -> Rule {
    Rule::Ops(columns.into_iter().map(|(column, allowed)| (column.to_owned(), allowed)).collect::<BTreeMap<_, _>>())
}

pub fn everybody() -> Rule {
    Rule::And(Vec::new())
}

pub fn nobody() -> Rule {
    Rule::Or(Vec::new())
}

impl Operand {
    fn test(self, relation: Relation, with: Operand) -> Rule {
        Rule::Test { of: self, is: Comparison { relation, with } }
    }

    pub fn is(self, other: Operand) -> Rule {
        self.test(Relation::Equal, other)
    }

    pub fn is_not(self, other: Operand) -> Rule {
        self.test(Relation::NotEqual, other)
    }

    pub fn less(self, other: Operand) -> Rule {
        self.test(Relation::Less, other)
    }

    pub fn at_most(self, other: Operand) -> Rule {
        self.test(Relation::AtMost, other)
    }

    pub fn greater(self, other: Operand) -> Rule {
        self.test(Relation::Greater, other)
    }

    pub fn at_least(self, other: Operand) -> Rule {
        self.test(Relation::AtLeast, other)
    }

    pub fn begins_with(self, other: Operand) -> Rule {
        self.test(Relation::BeginsWith, other)
    }

    /// Whether a column that is a set, or a claim that is a list, has this member.
    pub fn contains(self, other: Operand) -> Rule {
        self.test(Relation::Contains, other)
    }

    pub fn within(self, set: Set) -> Rule {
        Rule::In { of: self, set }
    }

    /// Whether it is one of these constants.
    pub fn one_of<V: Into<Value>>(self, values: impl IntoIterator<Item = V>) -> Rule {
        self.within(Set::Values(values.into_iter().map(Into::into).collect()))
    }
}

impl Reference {
    pub fn exists(self) -> Rule {
        Rule::Exists { row: self, conditions: Vec::new() }
    }

    /// Whether it is there, and its columns compare so.
    pub fn exists_with<'a>(self, conditions: impl IntoIterator<Item = (&'a str, Relation, Operand)>) -> Rule {
        let asked = |(column, relation, with): (&str, Relation, Operand)| Asked {
            column: column.to_owned(),
            is: Comparison { relation, with },
        };
        Rule::Exists { row: self, conditions: conditions.into_iter().map(asked).collect() }
    }

    /// One of its columns.
    pub fn column(self, column: &str) -> Operand {
        Operand::Followed { row: Box::new(self), column: column.to_owned() }
    }
}

impl Rule {
    #[must_use]
    pub fn and(self, other: Rule) -> Rule {
        match self {
            Rule::And(mut parts) => {
                parts.push(other);
                Rule::And(parts)
            }
            first => Rule::And(vec![first, other]),
        }
    }

    #[must_use]
    pub fn or(self, other: Rule) -> Rule {
        match self {
            Rule::Or(mut parts) => {
                parts.push(other);
                Rule::Or(parts)
            }
            first => Rule::Or(vec![first, other]),
        }
    }

    /// The negation of the rule. What is missing satisfies neither.
    #[must_use]
    pub fn negated(self) -> Rule {
        Rule::Not(Box::new(self))
    }
}

impl Allowed {
    /// Every operation of this kind.
    pub fn all(change: Change) -> Allowed {
        Allowed { change, bounds: Vec::new() }
    }

    /// Additions to a counter whose sum lies between these.
    pub fn add(least: i64, most: i64) -> Allowed {
        let bound = |relation, number: i64| Comparison { relation, with: value(number) };
        Allowed { change: Change::Add, bounds: vec![bound(Relation::AtLeast, least), bound(Relation::AtMost, most)] }
    }

    /// Operations of this kind with this value.
    pub fn with(change: Change, with: Operand) -> Allowed {
        Allowed { change, bounds: vec![Comparison { relation: Relation::Equal, with }] }
    }
}
